"""`--on ssh:FILE`: workers that are started for one command, and end with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import kills
import pytest
from beds import fleets, slurm
from beds.fleets import OFFICE
from furnished import furnish
from waiting import until

from rushhour.errors import FleetError
from rushhour.fleet import deploy, queue
from rushhour.fleet.address import resolve
from rushhour.lab import agent
from rushhour.record.result_set import ResultSet

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.virtual

HERE = '[host.here]\nat = "local"\ncpus = 1\nmemory = "2GB"\n'


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    furnish(tmp_path)
    (tmp_path / "hosts.toml").write_text(HERE)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for pid in fleets.marked(tmp_path):
        kills.send(pid)


@contextmanager
def begin(folder: Path, scenario: str, on: str = "ssh:hosts.toml") -> Iterator[subprocess.Popen[str]]:
    own = {
        "XDG_CONFIG_HOME": str(folder / "config"), "XDG_CACHE_HOME": str(folder / "cache"),
        "RUSHHOUR_AGENT": str(agent.find().binary), "PYTHONPATH": os.pathsep.join(sys.path),
    }  # fmt: skip
    words = [sys.executable, "-m", "rushhour", "run", scenario, "--no-report", "--on", on]
    with kills.at_the_end(subprocess.Popen(
        [*words, "--out", scenario.partition(".")[0]], env=os.environ | own, cwd=folder, text=True,
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
    )) as command:  # fmt: skip
        yield command


def known(folder: Path) -> list[str]:
    return [path.name for path in (folder / "config/rushhour/fleet").glob("*")]


def test_the_workers_of_a_command_end_with_it(place: Path) -> None:
    with begin(place, "short.toml") as command:
        _, said = command.communicate(timeout=300)
    assert command.returncode == 0, said
    assert "here: 1 worker" in said
    assert len(ResultSet.open(place / "short")) == 2
    assert not fleets.marked(place)
    assert not known(place)


def test_an_interrupt_ends_them(place: Path) -> None:
    with begin(place, "long.toml") as command:
        assert until(lambda: [*place.glob("long/set.json")], 120)
        command.send_signal(signal.SIGINT)
        _, said = command.communicate(timeout=120)
    assert command.returncode == 130, said
    assert not fleets.marked(place)
    assert not known(place)


def test_those_of_a_command_that_was_killed_end_by_the_next(place: Path) -> None:
    with begin(place, "long.toml") as killed:
        assert until(lambda: [*place.glob("long/set.json")], 120)
        killed.kill()
    before = set(fleets.marked(place))
    (name,) = known(place)
    assert before
    assert name.startswith("ssh-")
    with begin(place, "short.toml") as command:
        _, said = command.communicate(timeout=300)
    assert command.returncode == 0, said
    assert not before & set(fleets.marked(place))
    assert not known(place)


def test_an_inventory_whose_hosts_cannot_is_told(place: Path) -> None:
    (place / "hosts.toml").write_text('[host.here]\nat = "local"\npython = "/nowhere/python"\n')
    with begin(place, "short.toml") as command:
        _, said = command.communicate(timeout=120)
    assert command.returncode == 2, said
    assert "Traceback" not in said
    assert "here: set aside: no Python from 3.11 on was found there" in said
    assert not known(place)


@pytest.mark.host
def test_on_two_hosts_by_real_ssh(tmp_path: Path) -> None:
    """Each with its inventory's Python, reached by the user's own OpenSSH client."""
    with fleets.office(tmp_path, "alice", "bob") as office:
        furnish(office.folder)
        file = Path(office.inventory(alice=None, bob=None))
        file.write_text(f'{file.read_text()}[fleet]\nlisten = "{OFFICE}"\n')
        words = ["run", "short.toml", "--repeat", "4", "--out", "away", "--no-report", "--on", f"ssh:{file}"]
        environment = office.environment() | {"RUSHHOUR_AGENT": str(agent.find().binary)}
        done = subprocess.run(
            office.words("-m", "rushhour", *words), env=environment, cwd=office.folder, capture_output=True,
            text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "set aside" not in done.stderr
        assert "alice: 1 worker" in done.stderr
        assert "bob: 1 worker" in done.stderr
        results = ResultSet.open(office.folder / "away")
        assert len(results) == 8
        assert office.leftovers() == []


@contextmanager
def in_queue(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """A Slurm that commands find; the environment that says so."""
    with slurm.slurm(place / "slurm") as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield environment


def end_of_refused(place: Path, count: int) -> str:
    """What a command says whose jobs are of no use; nothing of it is left."""
    with begin(place, "short.toml", on=f"slurm:{count}") as command:
        _, said = command.communicate(timeout=120)
    assert command.returncode == 2, said
    assert "Traceback" not in said
    assert not known(place)
    return said


@pytest.mark.host
def test_in_the_queue_of_slurm(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs of a real Slurm: each is a worker, by TLS, and none is left in the queue."""
    with in_queue(place, monkeypatch) as environment:
        with begin(place, "short.toml", on="slurm:2") as command:
            assert until(lambda: slurm.jobs(environment) or command.poll() is not None, 120)
            _, said = command.communicate(timeout=300)
        assert command.returncode == 0, said
        assert "set aside" not in said
        assert len(ResultSet.open(place / "short")) == 2
        assert until(lambda: not slurm.jobs(environment), 60)
    assert not known(place)


@pytest.mark.host
def test_a_queue_that_refuses_the_jobs_is_told(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not waited for, as one would that is full."""
    monkeypatch.setenv("DASK_JOBQUEUE__SLURM__MEMORY", "100TB")
    with in_queue(place, monkeypatch):
        said = end_of_refused(place, 1)
    assert "the workers of slurm:1 cannot be started" in said
    assert "Requested node configuration is not available" in said


@pytest.mark.host
def test_jobs_that_end_before_they_are_workers_are_told(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for what cannot come; what a job says last is told."""
    monkeypatch.setenv("DASK_JOBQUEUE__SLURM__JOB_SCRIPT_PROLOGUE", '["echo no such module >&2", "exit 1"]')
    with in_queue(place, monkeypatch):
        said = end_of_refused(place, 2)
    assert "none was a worker: no such module" in said


@pytest.mark.host
def test_jobs_that_wait_are_waited_for_until_an_interrupt(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said that they wait, and they are taken out of the queue."""
    monkeypatch.setenv("DASK_JOBQUEUE__SLURM__JOB_EXTRA_DIRECTIVES", '["--hold"]')
    with in_queue(place, monkeypatch) as environment:
        with begin(place, "short.toml", on="slurm:2") as command:
            assert command.stderr is not None
            line = next(line for line in command.stderr if "waiting" in line)
            assert line == "slurm:2 has no workers yet; waiting for one\n"
            assert len(slurm.jobs(environment)) == 2
            command.send_signal(signal.SIGINT)
            _, said = command.communicate(timeout=120)
        assert command.returncode == 130, said
        assert "interrupted; what finished is kept" in said
        assert until(lambda: not slurm.jobs(environment), 60)
    assert not known(place)


@pytest.fixture
def mute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A queue that gives no answer."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/sbatch").write_text(f"#!/bin/sh\necho $$ >> {tmp_path}/asking\nexec sleep 600\n")
    (tmp_path / "bin/sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)


def asking(place: Path) -> list[str]:
    """Processes that still ask that queue."""
    pids = (place / "asking").read_text().split()
    assert len(pids) == 2
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


@pytest.mark.usefixtures("mute")
def test_an_interrupt_ends_the_wait_for_a_queue_that_gives_no_answer(place: Path) -> None:
    with begin(place, "short.toml", on="slurm:2") as command:
        assert command.stderr is not None
        line = next(line for line in command.stderr if "waiting" in line)
        assert line == "slurm:2: Slurm has not taken all jobs yet; waiting for it\n"
        command.send_signal(signal.SIGINT)
        _, said = command.communicate(timeout=120)
    assert command.returncode == 130, said
    assert not known(place)
    assert not asking(place)


@pytest.mark.usefixtures("mute")
def test_a_queue_that_gives_no_answer_is_given_up(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(place / "config"))
    monkeypatch.setattr(queue, "_ANSWER_S", 0.5)
    with (
        pytest.raises(FleetError, match="workers of slurm:2 cannot be started: sbatch has not answered"),
        deploy.started(resolve("slurm:2"), print),
    ):
        pass
    assert not known(place)
    assert not asking(place)

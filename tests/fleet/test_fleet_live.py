"""The fleet with virtual kernels, by Dask's own commands: the bytes are those of this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import commandline
import pytest
from beds.net import Namespace
from fleets import bed
from furnished import furnish

from rushhour.lab import agent
from rushhour.record.result_set import ResultSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

pytestmark = pytest.mark.virtual


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, with the kernels that are built here; workers have none."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(furnish(tmp_path)))
    monkeypatch.setenv("RUSHHOUR_AGENT", str(agent.find().binary))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@contextmanager
def machines(
    folder: Path, count: int, host: str = "127.0.0.1", within: Sequence[str] = (), away: Sequence[str] = ()
) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and workers by Dask's commands, scheduler and workers `within` these words."""
    file = folder / "scheduler.json"
    dask = [sys.executable, "-m", "distributed.cli"]
    words = [f"{dask[2]}.dask_scheduler", "--host", host, "--port", "0", "--no-dashboard"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("RUSHHOUR_AGENT", None)
    log = (folder / "dask.log").open("wb")
    started = [
        subprocess.Popen(
            [*within, *dask[:2], *words, "--scheduler-file", str(file)],
            env=environment,
            stdout=log,
            stderr=log,
        )
    ]
    try:
        while not file.is_file() or not file.read_text().endswith("}"):
            assert started[0].poll() is None, (folder / "dask.log").read_text()
            time.sleep(0.05)
        address = str(json.loads(file.read_text())["address"])
        for number in range(count):
            cache = folder / f"worker-{number}"
            cache.mkdir()
            words = [f"{dask[2]}.dask_worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny"]
            words += ["--local-directory", str(cache)]
            own = environment | {"XDG_CACHE_HOME": str(cache)}
            started.append(subprocess.Popen([*away, *dask[:2], *words], env=own, stdout=log, stderr=log))
        yield address, started[1:]
    finally:
        for process in started:
            process.kill()
            process.wait()
        log.close()


def files(folder: Path) -> dict[str, bytes]:
    """The files of a result set, but for what names the machine and says how long it took."""
    found = {}
    for path in sorted((folder / "runs").rglob("*")):
        if path.is_file():
            content = path.read_bytes()
            if path.name == "manifest.json":
                about = json.loads(content)
                content = json.dumps({k: v for k, v in about.items() if k not in _OWN}).encode()
            found[str(path.relative_to(folder))] = content
    return found


_OWN = ("host", "elapsed_s", "sealed")


def test_the_command_gives_the_same_bytes_on_two_workers_as_here(place: Path) -> None:
    with machines(place, 2) as (address, _):
        done = commandline.rush(
            "run",
            "short.toml",
            "--repeat",
            "2",
            "--out",
            "away",
            "--no-report",
            "--on",
            address,
            "--audit",
            "1",
        )
    assert done.returncode == 0, done.stderr
    assert "set aside" not in done.stderr
    here = commandline.rush("run", "short.toml", "--repeat", "2", "--out", "here", "--no-report", "--fresh")
    assert here.returncode == 0, here.stderr
    assert files(place / "away") == files(place / "here")
    for name in ("away", "here"):
        assert len(ResultSet.open(place / name)) == 4
    about = [json.loads((place / name / "set.json").read_text()) for name in ("away", "here")]
    assert {key: value for key, value in about[0].items() if key not in ("sealed", "asked")} == {
        key: value for key, value in about[1].items() if key not in ("sealed", "asked")
    }


ROOTS = """
duration = "1s"
topology = { preset = "dumbbell", rate = "2mbit", rtt = "10ms" }
[[program]]
name = "says"
node = "s1"
command = "/bin/says"
root = "one"
[sweep]
"program.says.root" = ["one", "deep/one"]
"""


def test_roots_of_programs_travel_by_their_hash(place: Path) -> None:
    for root, word in (("one", "first"), ("deep/one", "second")):
        (place / root / "bin").mkdir(parents=True)
        text = f'#include <stdio.h>\nint main(void) {{ puts("{word}"); return 0; }}\n'
        compiler: list[str | Path] = ["musl-gcc", "-static", "-x", "c", "-o", place / root / "bin/says", "-"]
        subprocess.run(compiler, input=text, text=True, check=True)
    (place / "roots.toml").write_text(ROOTS)
    with machines(place, 1) as (address, _):
        done = commandline.rush("run", "roots.toml", "--out", "away", "--no-report", "--on", address)
    assert done.returncode == 0, done.stderr
    here = commandline.rush("run", "roots.toml", "--out", "here", "--no-report", "--fresh")
    assert here.returncode == 0, here.stderr
    assert files(place / "away") == files(place / "here")
    said = [[line.text for line in record.output()] for record in ResultSet.open(place / "away")]
    assert said == [["first"], ["second"]]


LACKING = """
title = "Lacking"
duration = "300ms"
topology = { preset = "dumbbell", rate = "10mbit", rtt = "10ms" }
flow = [{ name = "long" }]
sweep = { cc = ["reno", "mine"] }
"""


def test_what_the_kernel_lacks_is_told_as_on_one_machine(place: Path) -> None:
    (place / "lacking.toml").write_text(LACKING)
    words = ["run", "lacking.toml", "--jobs", "1", "--no-report", "--out"]
    with machines(place, 1) as (address, _):
        away = commandline.rush(*words, "away", "--on", address)
    here = commandline.rush(*words, "here", "--fresh")
    assert away.returncode == here.returncode == 0, away.stderr
    assert away.stdout.replace("away", "here") == here.stdout
    # Which ended first does not count.
    told, same = (
        sorted(line.partition("]")[2] for line in done.stderr.splitlines()) for done in (away, here)
    )
    assert told == same
    assert 'no congestion control "mine"' in away.stderr


def test_an_interrupt_ends_the_guests_of_workers(place: Path) -> None:
    with machines(place, 1) as (address, workers):
        words = [sys.executable, "-m", "rushhour", "run", "long.toml", "--out", "away", "--on", address]
        command = subprocess.Popen(
            words,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            stderr=subprocess.PIPE,
            text=True,
        )
        _until(lambda: (place / "away/set.json").exists() and _children(workers[0].pid))
        command.send_signal(signal.SIGINT)
        _, said = command.communicate(timeout=120)
        assert command.returncode == 130, said
        assert "interrupted" in said
        _until(lambda: not _children(workers[0].pid))
        assert workers[0].poll() is None


def test_the_kill_of_the_command_ends_the_guests_of_workers(place: Path) -> None:
    with machines(place, 1) as (address, workers):
        words = [sys.executable, "-m", "rushhour", "run", "long.toml", "--out", "away", "--on", address]
        command = subprocess.Popen(words, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
        _until(lambda: (place / "away/set.json").exists() and _children(workers[0].pid))
        command.kill()
        command.wait()
        _until(lambda: not _children(workers[0].pid))


def test_the_loss_of_the_scheduler_is_told_in_our_words_alone(place: Path) -> None:
    with bed(place / "bed", None) as one:
        words = [sys.executable, "-m", "rushhour", "run", "long.toml", "--out", "away", "--on", one.address]
        command = subprocess.Popen(
            words,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "NO_COLOR": "1"},
            stderr=subprocess.PIPE,
            text=True,
        )
        _until(lambda: _children(one.processes["w0"].pid))
        one.kill("scheduler")
        _, said = command.communicate(timeout=120)
    assert command.returncode == 2, said
    lines = [line for line in said.splitlines() if line.strip()]
    assert lines[-2] == f"error: the scheduler of {one.address} is gone; what has finished is kept"
    assert lines[-1] == "  when it is there again, the same command goes on where this one stopped"
    for word in ("Traceback", "distributed", "tornado", "Exception", "Error"):
        assert word not in said


@pytest.mark.host
def test_scheduler_and_worker_in_namespaces_of_their_own(place: Path) -> None:
    """The command and the scheduler on one side of a cable, the worker on the other."""
    near, far = Namespace("near"), Namespace("far")
    try:
        near.ip("link add near0 type veth peer name far0", f"link set far0 netns {far.path}")
        for where, device, address in ((near, "near0", "10.9.0.1/24"), (far, "far0", "10.9.0.2/24")):
            where.ip(f"addr add {address} dev {device}", f"link set {device} up")
        with machines(place, 1, "10.9.0.1", near.words(), far.words()) as (address, _):
            assert address.startswith("tcp://10.9.0.1:")
            words = ["run", "short.toml", "--out", "away", "--no-report", "--on", address]
            environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
            command = near.words(sys.executable, "-m", "rushhour", *words)
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=300, check=False
            )
        assert done.returncode == 0, done.stderr
    finally:
        near.close()
        far.close()
    assert len(ResultSet.open(place / "away")) == 2


@pytest.mark.host
def test_a_worker_whose_cache_is_full_is_named(place: Path) -> None:
    small = place / "small"
    small.mkdir()
    assert os.system(f"mount -t tmpfs -o size=1m rushhour-test {small}") == 0
    try:
        with bed(place / "bed") as one:
            one.worker("full", None, cache=small)
            one.worker("sound", None)
            words = ["run", "short.toml", "--out", "away", "--no-report", "--on", one.address]
            done = commandline.rush(*words)
    finally:
        assert os.system(f"umount {small}") == 0
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("is set aside") == 1
    assert "No space left on device" in done.stderr


def test_a_comparison_is_made_by_workers(place: Path) -> None:
    with bed(place / "bed", None, None) as one:
        words = [
            "debian-6.12",
            "debian-6.12",
            "--scenario",
            "short.toml",
            "--out",
            "away",
            "--on",
            one.address,
        ]
        done = commandline.rush("compare", *words, "--fresh")
    assert done.returncode == 0, done.stderr + done.stdout


def _children(pid: int) -> list[str]:
    """The processes that a worker has started, and that are there: guests, or what its own start needs."""
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split() or [
        child
        for task in Path(f"/proc/{pid}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]


def _until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)

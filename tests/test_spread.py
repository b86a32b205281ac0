"""Runs spread over processes: the records of one process, and nothing is lost or left with any of them."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import fakes
import kills
import pytest
from waiting import until

from rushhour.errors import LabError, RushHourError, UnsupportedError
from rushhour.files.rooms import SANDBOX
from rushhour.lab import kernel
from rushhour.lab.base import CancelledError, Job
from rushhour.lab.beside import Beside, portable
from rushhour.lab.loading import AbsentError
from rushhour.lab.uml import UmlLab
from rushhour.plan import lower
from rushhour.record.record import Record
from rushhour.running.conductor import Conductor
from rushhour.running.spread import EACH, FIRST, Spread
from rushhour.spec import load_scenario
from rushhour.summary import measured

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.virtual

SHORT = """
title = "Short"
duration = "300ms"
topology = { preset = "dumbbell", rate = "10mbit", rtt = "10ms" }
flow = [{ name = "long" }]
"""
LONG = SHORT.replace("300ms", "1000s").replace("10mbit", "1gbit")
RUNS = EACH + 1


def job(folder: Path, text: str = SHORT, seed: int = 1) -> Job:
    file = folder / "scenario.toml"
    file.write_text(text)
    lowered = lower(load_scenario(str(file)), seed)
    return Job(lowered.plan, lowered.context, kernel.default(), {})


def elsewhere(lab: UmlLab) -> None:
    """From now on nothing is made in this process."""

    def run(*_: object) -> Path:
        raise AssertionError("made here")

    vars(lab)["run"] = run


def processes(one: Spread) -> list[Beside]:
    return [crew.process for crew in vars(one)["_crews"]]


def pids(one: Spread) -> list[int]:
    return [vars(process)["_process"].pid for process in processes(one)]


@pytest.fixture
def lab() -> UmlLab:
    return UmlLab()


@pytest.fixture
def ready(lab: UmlLab, tmp_path: Path) -> Iterator[Spread]:
    """One whose processes are there, and that makes nothing here any more."""
    with closing(Spread(lab, RUNS)) as one:
        for number in range(FIRST * RUNS + 2):
            one.run(job(tmp_path), tmp_path / f"first-{number}")
        assert len(processes(one)) == 2
        assert until(lambda: all(process.is_ready for process in processes(one)))
        elsewhere(lab)
        yield one
    assert not [pid for pid in pids(one) if Path(f"/proc/{pid}").exists()]
    assert not [*tmp_path.rglob(f"{SANDBOX}*")]


def test_the_records_are_those_of_one_process(ready: Spread, tmp_path: Path) -> None:
    """Several at once, too; and they are measured when they are there."""
    other = UmlLab()
    jobs = {seed: job(tmp_path, seed=seed) for seed in range(1, 7)}
    with ThreadPoolExecutor(RUNS) as pool:
        going = [pool.submit(ready.run, one, tmp_path / f"there-{seed}") for seed, one in jobs.items()]
        there = [Record.verified(run.result()) for run in going]
    for one, record in zip(jobs.values(), there, strict=True):
        here = Record.verified(other.run(one, tmp_path / f"here-{record.manifest.seed}"))
        assert dict(here.manifest.files) == dict(record.manifest.files)
        assert here.key == record.key
        known = measured.known_of(record)
        assert known is not None
        assert measured.written(known) == measured.written(here.metrics())


def error_of(one: Spread | UmlLab, asked: Job, place: Path) -> RushHourError:
    with pytest.raises(RushHourError) as raised:
        one.run(asked, place)
    return raised.value


def test_what_goes_wrong_there_is_told_as_here(ready: Spread, tmp_path: Path) -> None:
    """Its kind, what it says, and the cause by which a full disk is known."""
    lacking = job(tmp_path, SHORT + "sysctl = { 'net.ipv4.no_such_thing' = 1 }\n")
    there, here = error_of(ready, lacking, tmp_path / "x"), error_of(UmlLab(), lacking, tmp_path / "x")
    assert type(there) is type(here) is UnsupportedError
    assert str(there) == str(here)
    (tmp_path / "file").touch()
    there = error_of(ready, job(tmp_path), tmp_path / "file" / "record")
    here = error_of(UmlLab(), job(tmp_path), tmp_path / "file" / "record")
    assert str(there) == str(here)
    assert isinstance(there.__cause__, OSError)
    assert isinstance(here.__cause__, OSError)
    assert there.__cause__.errno == here.__cause__.errno


def test_the_run_of_a_process_that_is_killed_is_made_here(ready: Spread, lab: UmlLab, tmp_path: Path) -> None:
    place = tmp_path / "made"
    with ThreadPoolExecutor(1) as pool:
        going = pool.submit(ready.run, job(tmp_path, LONG), place)
        assert until(lambda: [*tmp_path.glob(f"{SANDBOX}*/out/progress")])
        vars(lab)["run"] = lambda *words: words[1]
        for pid in pids(ready):
            kills.send(pid)
        assert going.result(60) == place
    # Whoever begins next at that place removes what the killed one wrote.
    del vars(lab)["run"]
    assert until(lambda: not is_busy(tmp_path))
    ready.run(job(tmp_path), place)
    assert not [*tmp_path.glob(f"{SANDBOX}*")]


def is_busy(folder: Path) -> bool:
    """Whether any process works in a sandbox."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if str((entry / "cwd").readlink()).startswith(f"{folder}/{SANDBOX}"):
                    return True
            except OSError:
                continue
    return False


def test_what_goes_on_there_is_ended_with_the_lab(ready: Spread, lab: UmlLab, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        going = pool.submit(ready.run, job(tmp_path, LONG), tmp_path / "made")
        assert until(lambda: [*tmp_path.glob(f"{SANDBOX}*/out/progress")])
        ready.cancel()
        with pytest.raises(CancelledError):
            going.result(60)
    del vars(lab)["run"]
    with pytest.raises(CancelledError):
        ready.run(job(tmp_path), tmp_path / "later")


@pytest.mark.parametrize("python", ["/bin/false", "/nowhere/python"])
def test_without_processes_all_is_made_here(
    python: str, lab: UmlLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", python)
    with closing(Spread(lab, RUNS)) as one:
        made = [one.run(job(tmp_path), tmp_path / f"record-{number}") for number in range(FIRST * RUNS + 3)]
    assert all(Record.verified(path).valid for path in made)


def test_it_serves_where_one_process_is_not_enough(tmp_path: Path) -> None:
    """Of other labs another process knows nothing."""
    assert Spread.serves(UmlLab(), RUNS)
    assert not Spread.serves(UmlLab(), EACH)
    assert not Spread.serves(UmlLab(find=lambda _: None), RUNS)  # type: ignore[arg-type, return-value]
    assert not Spread.serves(fakes.FakeLab(lambda *_: 1.0), RUNS)
    for runs in (EACH, RUNS):
        with Conductor(UmlLab(), runs) as conductor:
            executor = vars(conductor)["_executor"]
            assert executor.measures == (runs > EACH)
            assert executor.capacity == runs


def test_an_error_that_cannot_be_sent_says_the_same() -> None:
    class OddError(LabError):
        def __reduce__(self) -> str:
            return "nothing"

    found = portable(OddError("it went wrong", hint="mend it"))
    assert type(found) is LabError
    assert "it went wrong" in str(found)
    absent = AbsentError("no-such-program")
    assert portable(absent) is absent

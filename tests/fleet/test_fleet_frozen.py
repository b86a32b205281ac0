"""Workers and schedulers that are there and do not answer: frozen, or behind a cable that is cut.

What each test would wait for otherwise is an hour away: that it ends is what it shows.
"""

from __future__ import annotations

import gc
import signal
import threading
from typing import TYPE_CHECKING

import fleets
import kills
import pytest
from fleets import Odd, bed
from test_fleet_faults import sweep, truthful
from waiting import until

from rushhour.errors import FleetError, GuestError
from rushhour.fleet import connect, giving, meeting, post
from rushhour.fleet.use import fleet
from rushhour.lab.base import CancelledError
from rushhour.running import runner

if TYPE_CHECKING:
    from pathlib import Path

    from fleets import Bed

_HOUR = 3600.0


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    fleets.settle(tmp_path, monkeypatch)
    for where in (meeting, post):
        monkeypatch.setattr(where, "_ASK_S", _HOUR)
    return tmp_path


def freeze(one: Bed, name: str) -> None:
    kills.send(one.processes[name].pid, signal.SIGSTOP)


def test_a_frozen_worker_holds_up_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meeting, "_COMES_S", 0.5)
    with bed(tmp_path / "bed", Odd(), Odd()) as one:
        freeze(one, "w1")
        outcomes, told = sweep(one, audit=1.0)
    assert truthful(outcomes, 20)
    assert not told


def test_one_that_freezes_later_holds_up_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(giving, "_SLOW_S", 0.5)
    monkeypatch.setattr(giving, "_SILENT_S", 1.0)
    with bed(tmp_path / "bed", Odd("slow", 0.02), Odd("slow", 0.02)) as one:

        def then(done: int) -> None:
            if done == 5:
                freeze(one, "w1")

        outcomes, told = sweep(one, then=then, audit=1.0)
    assert truthful(outcomes, 20)
    assert not told


def test_more_frozen_workers_than_threads_hold_up_nobody(tmp_path: Path) -> None:
    with bed(tmp_path / "bed", *[Odd()] * 10) as one:
        for name in [name for name in one.processes if name.startswith("w")]:
            freeze(one, name)
        one.worker("sound", Odd())
        outcomes, told = sweep(one, audit=0)
    assert truthful(outcomes, 20)
    assert not told


def test_a_run_in_doubt_is_decided_when_nobody_else_is_left(tmp_path: Path) -> None:
    with bed(tmp_path / "bed", Odd("unable"), Odd("slow", _HOUR)) as one:
        threading.Timer(3, one.kill, ["w1"]).start()
        outcomes, told = sweep(one)
    assert {type(outcome.error) for outcome in outcomes} == {GuestError}
    assert len(outcomes) == 20
    assert not told


@pytest.mark.parametrize("frozen", ["w0", "scheduler"])
def test_what_is_frozen_does_not_hold_up_an_interrupt(tmp_path: Path, frozen: str) -> None:
    with bed(tmp_path / "bed", Odd("slow", _HOUR)) as one:
        (batch,) = runner.prepare(["fake.toml"], out=tmp_path / "out")
        if frozen != "scheduler":
            freeze(one, frozen)
        with fleet(one.address, fleets.lab()) as executor:
            futures = [executor.submit(batch.job(run), batch.place(run, "k")) for run in batch.runs()]
            if frozen == "scheduler":
                freeze(one, frozen)
            executor.cancel()
            for future in futures:
                with pytest.raises(CancelledError):
                    future.result(timeout=60)


def test_a_frozen_scheduler_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(post, "_ROLL_S", 1.0)
    with bed(tmp_path / "bed", Odd("slow", 0.05)) as one:

        def then(done: int) -> None:
            if done == 5:
                freeze(one, "scheduler")

        with pytest.raises(FleetError, match=r"the scheduler of tcp://.* is gone"):
            sweep(one, then=then)


def test_a_scheduler_that_is_frozen_from_the_beginning_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "CONNECT_S", 1)
    with bed(tmp_path / "bed", Odd()) as one:
        freeze(one, "scheduler")
        with pytest.raises(FleetError, match="no scheduler answers at tcp:"):
            sweep(one)
        gc.collect()  # nothing that has failed waits for an answer when it is forgotten


def test_the_loss_of_the_scheduler_is_no_fault_of_workers(tmp_path: Path) -> None:
    told: list[str] = []
    with bed(tmp_path / "bed", Odd()) as one:
        freeze(one, "w0")
        threading.Timer(2, one.kill, ["scheduler"]).start()
        with pytest.raises(FleetError, match=r"the scheduler of tcp://.* is gone"):
            sweep(one, tell=told.append)
    assert not told


def test_a_worker_that_another_command_keeps_busy_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meeting, "_ASK_S", 0.1)
    (tmp_path / "busy").touch()
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)
        (tmp_path / "busy").unlink(missing_ok=True)

    with bed(tmp_path / "bed", Odd("waits", str(tmp_path / "busy"))) as one:
        (batch,) = runner.prepare(["fake.toml"], out=tmp_path / "other")
        with fleet(one.address, fleets.lab()) as executor:
            other = executor.submit(batch.job(next(batch.runs())), tmp_path / "other/runs/one")
            assert until(lambda: any(member.going for member in executor.members.values()))
            outcomes, _ = sweep(one, repeat=1, tell=tell)
            other.result(timeout=60)
    assert truthful(outcomes, 4)
    assert "makes runs of another command" in told[0]

"""The fleet with real schedulers and workers, as processes: what goes wrong with them costs no result."""

from __future__ import annotations

import random
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fakes
import fleets
import pytest
from fleets import Bed, Odd, bed

from rushhour.errors import FleetError, GuestError, LabError
from rushhour.fleet.use import fleet
from rushhour.lab.base import CancelledError
from rushhour.record.record import Record
from rushhour.running import runner

if TYPE_CHECKING:
    from collections.abc import Callable

SWEEP = fakes.SCENARIO


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    fleets.settle(tmp_path, monkeypatch)
    return tmp_path


def sweep(
    one: Bed,
    repeat: int = 5,
    out: str = "out",
    *,
    then: Callable[[int], None] = lambda _: None,
    tell: Callable[[str], None] | None = None,
    **options: Any,
) -> tuple[list[Any], list[str]]:
    """Four times `repeat` runs; the outcomes, and what was told."""
    told: list[str] = []
    lab = fleets.lab()
    batches = runner.prepare(["fake.toml"], repeat=repeat, out=Path(out))
    outcomes = []
    with (
        fleet(one.address, lab, tell=tell or told.append, **options) as executor,
        closing(runner.carry_out(batches, lab, executor=executor)) as going,
    ):
        for outcome in going:
            outcomes.append(outcome)
            then(len(outcomes))
    return outcomes, told


def truthful(outcomes: list[Any], count: int) -> bool:
    """Whether all runs are there, each with the bytes that it has wherever it is made."""
    lab = fleets.lab()
    for outcome in outcomes:
        record = Record.verified(outcome.record)
        job = outcome.batch.job(outcome.run)
        here = lab.run(job, record.path.parents[2] / "truth" / record.path.name)
        names = [str(path.relative_to(here)) for path in here.rglob("*") if path.is_file()]
        for name in set(names) - {"manifest.json"}:
            assert (here / name).read_bytes() == (record.path / name).read_bytes(), name
    return len(outcomes) == count


def test_runs_come_back_as_they_are_made_here(tmp_path: Path) -> None:
    with bed(tmp_path / "bed", Odd(), Odd()) as one:
        outcomes, told = sweep(one)
    assert truthful(outcomes, 20)
    assert not told
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"runs", "set.json", "index.parquet"}
    assert not [path for path in (tmp_path / "out/runs").iterdir() if path.name.startswith(".")]
    # The files of the sweep lie in each worker's own cache, once; nothing else is left there.
    for name in ("w0", "w1"):
        blobs = [*(tmp_path / f"bed/cache-{name}/rushhour/fleet/blobs").glob("*/*")]
        assert len(blobs) == 2
        assert not [*(tmp_path / f"bed/cache-{name}/rushhour/fleet/work").glob("*")]


def test_what_is_known_is_not_run_again(tmp_path: Path) -> None:
    with bed(tmp_path / "bed", Odd()) as one:
        sweep(one, repeat=1)
        outcomes, _ = sweep(one, repeat=2, out="more")
    assert sorted(outcome.cached for outcome in outcomes) == [False] * 4 + [True] * 4


def test_workers_that_are_killed_at_random_cost_their_runs_only(tmp_path: Path) -> None:
    dice = random.Random(14)
    with bed(tmp_path / "bed", *[Odd("slow", 0.03)] * 3) as one:
        names = iter(range(3, 99))

        def kill(done: int) -> None:
            if done % 8 == 4:
                one.kill(dice.choice([name for name in one.processes if name != "scheduler"]))
                one.worker(f"w{next(names)}", Odd("slow", 0.03))

        outcomes, told = sweep(one, repeat=10, then=kill)
    assert truthful(outcomes, 40)
    assert not told


def test_the_loss_of_the_scheduler_keeps_what_has_finished(tmp_path: Path) -> None:
    with bed(tmp_path / "bed", Odd("slow", 0.05)) as one:

        def kill(done: int) -> None:
            if done == 5:
                one.kill("scheduler")

        with pytest.raises(FleetError, match="what has finished is kept") as error:
            sweep(one, then=kill)
        assert "same command goes on" in str(error.value)
        done = len([*(tmp_path / "out/runs").glob("*-*/manifest.json")])
        assert 5 <= done < 20
        one.kill("w0")
        one.scheduler()
        one.worker("again", Odd())
        outcomes, _ = sweep(one)
    assert truthful(outcomes, 20)
    assert sum(outcome.cached for outcome in outcomes) >= 5


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        (Odd("alien", "aarch64"), "it is aarch64"),
        (Odd("old", "0.1.9"), "it has rushhour 0.1.9"),
        (Odd("late", 3600), "its clock is wrong by 36"),
        (Odd("poor"), "it has too little memory"),
        (Odd("full"), "No space left on device"),
        (Odd("unable"), "the virtual kernel did not start"),
    ],
    ids=lambda one: one.what if isinstance(one, Odd) else "",
)
def test_a_worker_that_cannot_is_named_once_and_set_aside(tmp_path: Path, odd: Odd, said: str) -> None:
    with bed(tmp_path / "bed", odd, Odd("slow", 0.01)) as one:
        outcomes, told = sweep(one)
    assert truthful(outcomes, 20)
    assert len(told) == 1
    assert "is set aside: " in told[0]
    assert said in told[0]


@pytest.mark.parametrize("odd", [Odd("old", "0.1.9"), Odd("full")])
def test_where_no_worker_can_the_sweep_ends(tmp_path: Path, odd: Odd) -> None:
    told: list[str] = []
    with (
        bed(tmp_path / "bed", odd, odd) as one,
        pytest.raises(FleetError, match=r"no worker of tcp://.* is left"),
    ):
        sweep(one, tell=told.append)
    assert len(told) == 2


def test_a_kernel_that_starts_nowhere_is_the_kernels_fault(tmp_path: Path) -> None:
    with bed(tmp_path / "bed", Odd("unable"), Odd("unable")) as one:
        outcomes, told = sweep(one, repeat=1)
    assert not told
    assert [type(outcome.error) for outcome in outcomes] == [GuestError] * 4


@pytest.mark.parametrize("honest", [1, 2])
@pytest.mark.parametrize("after", [0, 5])
def test_a_worker_that_lies_is_named_and_its_runs_are_made_again(
    tmp_path: Path, honest: int, after: int
) -> None:
    with bed(tmp_path / "bed", Odd("lies", after), *[Odd("slow", 0.01)] * honest) as one:
        outcomes, told = sweep(one, repeat=10, audit=1.0)
    assert truthful(outcomes, 40)
    aside = [text for text in told if "is set aside" in text]
    assert len(aside) == 1
    assert "it gave other bytes than" in aside[0]
    assert "this machine" in aside[0] if honest == 1 else "tcp://" in aside[0]


def test_a_slow_worker_does_not_hold_up_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rushhour.fleet import giving  # noqa: PLC0415

    monkeypatch.setattr(giving, "_SLOW_S", 0.5)
    with bed(tmp_path / "bed", Odd("slow", 3600), Odd()) as one:
        outcomes, told = sweep(one, audit=0)
    assert truthful(outcomes, 20)
    assert not told


def test_stopping_ends_the_sweep_at_once(tmp_path: Path) -> None:
    with bed(tmp_path / "bed", Odd("slow", 3600)) as one:
        lab = fleets.lab()
        (batch,) = runner.prepare(["fake.toml"], out=tmp_path / "out")
        with fleet(one.address, lab) as executor:
            futures = [executor.submit(batch.job(run), batch.place(run, "k")) for run in batch.runs()]
            threading.Timer(0.5, executor.cancel).start()
            for future in futures:
                with pytest.raises(CancelledError):
                    future.result(timeout=60)
            with pytest.raises(CancelledError):
                executor.submit(batch.job(next(batch.runs())), tmp_path / "x")
    assert not [path for path in (tmp_path / "out").rglob("*") if path.is_file()]


def test_workers_that_come_later_take_part(tmp_path: Path) -> None:
    with bed(tmp_path / "bed", Odd("slow", 0.05)) as one:

        def join(done: int) -> None:
            if done == 3:
                one.worker("second", Odd())

        outcomes, told = sweep(one, repeat=10, then=join)
        blobs = [*(tmp_path / "bed/cache-second/rushhour/fleet/blobs").glob("*/*")]
    assert truthful(outcomes, 40)
    assert not told
    assert len(blobs) == 2


def test_a_scheduler_without_workers_is_waited_for_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rushhour.fleet import address, roll  # noqa: PLC0415

    monkeypatch.setattr(address, "_HERE_S", 0.5)
    monkeypatch.setattr(roll, "_SAY_S", 0.1)
    told: list[str] = []
    with bed(tmp_path / "bed") as one, pytest.raises(FleetError, match="has no workers"):
        sweep(one, tell=told.append)
    assert len(told) == 1
    assert "waiting" in told[0]


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    from rushhour.fleet import connect  # noqa: PLC0415

    monkeypatch.setattr(connect, "CONNECT_S", 1)
    with pytest.raises(FleetError, match="no scheduler answers at tcp:"):
        sweep(Bed(Path(), port=1))


def test_a_damaged_file_in_a_workers_cache_is_sent_again(tmp_path: Path) -> None:
    with bed(tmp_path / "bed", Odd()) as one:
        sweep(one, repeat=1)
        for path in (tmp_path / "bed/cache-w0/rushhour/fleet/blobs").glob("*/*"):
            path.chmod(0o755)
            time.sleep(0.2)  # what changes at once is read again anyway
            path.write_bytes(b"damaged")
        outcomes, told = sweep(one, repeat=2, out="more")
    assert truthful(outcomes, 8)
    assert not told


def test_a_full_disk_here_ends_the_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rushhour.fleet import packing  # noqa: PLC0415

    def fail(*_: Any) -> None:
        raise LabError("the run cannot be written") from OSError(28, "No space left on device")

    monkeypatch.setattr(packing, "put", fail)
    with bed(tmp_path / "bed", Odd()) as one, pytest.raises(LabError, match="the disk is full"):
        sweep(one)

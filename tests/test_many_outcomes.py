"""What became of very many runs takes a few bytes of each, and is what it was."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rushhour.errors import LabError, UnsupportedError
from rushhour.fleet.places import Places
from rushhour.plan.cells import Cell
from rushhour.running.batch import Batch, Outcome
from rushhour.running.outcomes import Outcomes

if TYPE_CHECKING:
    from pathlib import Path

KEY = "0123456789abcdef" * 4


@pytest.fixture
def batch(tmp_path: Path) -> Batch:
    """Three cells on two kernels, each five times."""
    return made(tmp_path, 5)


def made(folder: Path, repeat: int) -> Batch:
    cells = [Cell(number, {}, None, "") for number in range(3)]  # type: ignore[arg-type]
    kernels: Any = ["one", "other"]
    return Batch("x", None, cells, kernels, repeat, 7, quick=False, folder=folder)  # type: ignore[arg-type]


def outcomes_of(batch: Batch) -> list[Outcome]:
    """Every run, done in another order than that of their numbers."""
    found = [
        Outcome(batch, run, batch.place(run, KEY), None, cached=run.number % 3 == 0) for run in batch.runs()
    ]
    return found[::2] + found[1::2]


def test_the_runs_of_a_batch_go_by_cell_kernel_and_repetition(batch: Batch) -> None:
    runs = [*batch.runs()]
    assert [(run.cell.index, str(run.kernel), run.repetition) for run in runs] == [
        (cell, kernel, turn) for cell in range(3) for kernel in ("one", "other") for turn in range(5)
    ]
    assert [batch.run(run.number) for run in runs] == runs
    assert runs[0].seed == 7
    assert len({run.seed for run in runs}) == 5


def test_they_are_what_was_kept_in_the_order_of_the_runs(batch: Batch, tmp_path: Path) -> None:
    every, kept = outcomes_of(batch), Outcomes()
    other = made(tmp_path / "other", 1)
    kept.extend(every)
    kept.extend(outcomes_of(other))
    assert [*kept.of(batch)] == sorted(every, key=lambda one: one.run.number)
    assert len(kept) == len([*kept]) == 36
    assert kept.without_record() == []


def test_those_that_failed_or_lie_elsewhere_are_kept_whole(batch: Batch, tmp_path: Path) -> None:
    every = outcomes_of(batch)
    every[3] = replace(every[3], folder=tmp_path / "elsewhere")
    every[4] = replace(every[4], folder=None, error=LabError("it broke"))
    every[1] = replace(every[1], folder=None, error=UnsupportedError("it lacks that"))
    kept = Outcomes()
    kept.extend(every)
    assert [*kept.of(batch)] == sorted(every, key=lambda one: one.run.number)
    assert kept.without_record() == [every[1], every[4]]
    assert len(kept) == 30


def test_of_a_run_that_is_done_no_object_is_left(tmp_path: Path) -> None:
    batch, kept = made(tmp_path, 10), Outcomes()
    kept.extend(outcomes_of(batch))
    gc.collect()
    left = [one for one in gc.get_objects() if isinstance(one, Outcome) and one.batch is batch]
    assert len(kept) == 60
    assert left == []


def test_places_are_what_was_kept() -> None:
    places, every = Places(), ["/a/runs/1-x", "/a/runs/2-\udcff", "/b/runs/1-x", "alone"]
    for place in every:
        places.append(place)
    assert [*places] == every
    assert len(places) == 4
    assert not Places()

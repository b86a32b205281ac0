"""A batch: the runs of one scenario and where they go.

Takes a scenario counted out to cells, gives runs, jobs for a lab, and the `set.json` of the result set.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rushhour.errors import RecordError, UnsupportedError
from rushhour.lab import realtime
from rushhour.lab.base import Job
from rushhour.plan import Cell, derive_seed
from rushhour.plan.lower import Lowering
from rushhour.plan.programs import root_places
from rushhour.record.manifest import REAL_TIME
from rushhour.record.seal import SET_FILE, sealed, write_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from rushhour.errors import RushHourError
    from rushhour.lab.base import Lab, Tested
    from rushhour.record.result_set import ResultSet
    from rushhour.spec import Published, Scenario

FORMAT = "rushhour-set/1"
KEY_IN_NAME = 12
"""Digits of a run's key in the name of its folder."""


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of a cell, by its place in the batch."""

    number: int
    cell: Cell
    kernel: Tested
    repetition: int
    seed: int

    def __str__(self) -> str:
        """Cell, kernel and repetition in a line."""
        return f"{self.cell.label or 'run'} · {self.kernel.name} · #{self.repetition + 1}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a run: the folder of its record, or the error."""

    batch: Batch
    run: Run
    folder: Path | None
    error: RushHourError | None
    cached: bool

    @property
    def record(self) -> Path:
        """The folder of its record.

        Raises:
            RushHourError: what the run failed with.
        """
        if self.folder is None:
            assert self.error is not None
            raise self.error
        return self.folder

    @property
    def skipped(self) -> bool:
        """Whether the kernel lacks what the cell asks for: no failure of the run."""
        return isinstance(self.error, UnsupportedError)


@dataclass(frozen=True)
class Batch:
    """One scenario to be run, and where its result set goes.

    In a virtual lab the runs go cell by cell. In real time they go in blocks, each of which has every cell
    once, in an order that the seed decides: what changes on the machine meanwhile meets all cells alike.
    """

    name: str
    scenario: Scenario
    cells: Sequence[Cell] = field(repr=False)
    kernels: Sequence[Tested]
    repeat: int
    seed: int
    quick: bool
    folder: Path
    asked: Mapping[str, Any] = field(default_factory=dict, compare=False)
    published: Sequence[Published] = ()
    study: Mapping[str, object] | None = field(default=None, compare=False)
    lab: str = "uml"
    failures: list[dict[str, Any]] = field(default_factory=list, compare=False)
    skipped: list[dict[str, Any]] = field(default_factory=list, compare=False)
    # Repetitions of a cell come one after the other, and for each kernel once more; a batch that is made of
    # another by `replace` is of the same cells.
    _lowering: list[Lowering] = field(default_factory=list, repr=False, compare=False)
    _before: list[dict[str, list[Path]]] = field(default_factory=list, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        """The number of runs."""
        return len(self.cells) * len(self.kernels) * self.repeat

    @property
    def real_time(self) -> bool:
        """Whether its lab is a machine as it is."""
        return self.lab in REAL_TIME

    def runs(self) -> Iterator[Run]:
        """Every run, numbered by cell, then kernel, then repetition; in real time in shuffled blocks."""
        if self.real_time:
            for block in self.blocks():
                yield from block
        else:
            yield from self._numbered()

    def blocks(self) -> list[list[Run]]:
        """One block for each repetition: every cell once, shuffled by the seed."""
        every = list(self._numbered())
        blocks = [[run.number for run in every if run.repetition == turn] for turn in range(self.repeat)]
        return [
            [every[number] for number in realtime.shuffled(block, self.seed, turn)]
            for turn, block in enumerate(blocks)
        ]

    def _numbered(self) -> Iterator[Run]:
        return map(self.run, range(len(self)))

    def run(self, number: int) -> Run:
        """The run of this number."""
        turn, repetition = divmod(number, self.repeat)
        place, kernel = divmod(turn, len(self.kernels))
        cell = self.cells[place]
        seed = cell.scenario.seed if "seed" in cell.factors else self.seed
        return Run(number, cell, self.kernels[kernel], repetition, derive_seed(seed, repetition))

    @cached_property
    def _named(self) -> dict[str, object]:
        """What every run says of the scenario: its hash is that of all values of all factors."""
        return {"name": self.name, "title": self.scenario.title, "sha256": self.scenario.sha256()}

    def job(self, run: Run) -> Job:
        """The job that the lab gets."""
        cell = run.cell.scenario
        last = self._lowering[-1] if self._lowering else None
        if last is None or last.scenario is not cell:
            last = Lowering(cell)
            self._lowering[:] = [last]
        lowered = last.of(run.seed)
        labels = {
            "scenario": {**self._named, "resolved": last.canonical},
            "cell": {"index": run.cell.index, "factors": run.cell.factors},
            "repetition": run.repetition,
        }
        moment = realtime.moment() if self.real_time else ""
        places = root_places(run.cell.scenario)
        return Job(lowered.plan, lowered.context, run.kernel, labels, moment, places)

    def place(self, run: Run, key: str) -> Path:
        """The folder of a run's record: sorted by number, told apart by key."""
        return self.folder / "runs" / f"{run.number:05d}-{key[:KEY_IN_NAME]}"

    def finished(self, run: Run, but: str = "") -> Path | None:
        """The record that this run left before, by its number: runs in real time have no other name.

        The folder named `but` is ignored. Looked up in what was there when this was first asked.
        """
        if not self._before:
            self._before.append(_by_number(self.folder / "runs"))
        found = self._before[0].get(f"{run.number:05d}", ())
        return next((place for place in found if place.name != but and place.exists()), None)

    def begin(self) -> None:
        """Look anew which runs are there, when they are next asked for."""
        self._before.clear()

    def results(self) -> ResultSet:
        """The result set, once there are runs in it."""
        from rushhour.record.result_set import ResultSet  # noqa: PLC0415 - numpy

        return ResultSet.open(self.folder)

    def enter(self, outcome: Outcome) -> None:
        """Take a run that failed, or was skipped, into what `set.json` says."""
        one, error = outcome.run, outcome.error
        assert error is not None
        (self.skipped if outcome.skipped else self.failures).append(
            {
                "cell": {"index": one.cell.index, "factors": one.cell.factors},
                "kernel": one.kernel.name,
                "repetition": one.repetition,
                "seed": one.seed,
                "kind": type(error).__name__,
                "message": error.message,
                "where": error.where,
                "hint": error.hint,
            }
        )

    def write_about(self, *, complete: bool) -> None:
        """Write `set.json`: what the set is, what failed, and what was skipped."""
        about = {
            "format": FORMAT,
            "scenario": {**self._named, "resolved": self.scenario.canonical()},
            "kernels": [one.identity for one in self.kernels],
            "cells": [{"index": cell.index, "factors": cell.factors} for cell in self.cells],
            "repeat": self.repeat,
            "seed": self.seed,
            "quick": self.quick,
            "asked": self.asked,
            "runs": len(self),
            "failures": sorted(self.failures, key=_place),
            "skipped": sorted(self.skipped, key=_place),
            "published": [
                table.model_dump(mode="json", by_alias=True, exclude_none=True) for table in self.published
            ],
            "study": self.study,
            **self._order(),
            "complete": complete,
        }
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_json(self.folder / SET_FILE, sealed(about))
        except OSError as error:
            raise RecordError(
                f"the result set cannot be written: {error.strerror}",
                where=str(self.folder),
                hint="choose another place with --out, or make room",
            ) from error

    def _order(self) -> dict[str, object]:
        """In real time: the lab, and the numbers of the runs in the order in which they were made."""
        if not self.real_time:
            return {}
        return {"lab": self.lab, "blocks": [[run.number for run in block] for block in self.blocks()]}


def _place(entry: Mapping[str, Any]) -> tuple[int, str, int]:
    """Where a run stands among all, whichever ended first."""
    return entry["cell"]["index"], entry["kernel"], entry["repetition"]


def _by_number(runs: Path) -> dict[str, list[Path]]:
    """The runs of a folder by the number in their names, in one pass: it may hold very many."""
    found: dict[str, list[Path]] = {}
    names = sorted(os.listdir(runs)) if runs.is_dir() else []  # noqa: PTH208 - a path for each takes seconds
    for name in names:
        number, dash, _ = name.partition("-")
        if dash and number.isdecimal():
            found.setdefault(number, []).append(runs / name)
    return found


def of_one(name: str, scenario: Scenario, kernel: Tested, folder: Path) -> tuple[Batch, Run]:
    """One run of a scenario as it is, and the batch that it is alone in."""
    cell = Cell(0, {}, scenario, "")
    batch = Batch(name, scenario, [cell], [kernel], 1, scenario.seed, quick=False, folder=folder)
    return batch, Run(0, cell, kernel, 0, scenario.seed)


def meant_for(run: Run, lab: Lab) -> None:
    """Refuse what the scenario itself says means nothing in this lab.

    Raises:
        UnsupportedError: it is for other labs.
    """
    labs = run.cell.scenario.labs
    if labs and lab.name not in labs:
        raise UnsupportedError(
            f"this scenario is for the lab {' or '.join(labs)}; {lab.name} cannot show what it measures",
            hint=f"rushhour run … --lab {labs[0]}",
        )

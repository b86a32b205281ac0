"""The suite's cells, what the base writes in each, and which of them differ on a mutant.

A cell runs once on a mutant. If its bytes are those that the base is known to write, that is all; only a cell
that differs is run on both sides, with more seeds, until the rule of verdicts can tell.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from rushhour.lab.kernel import store
from rushhour.running.batch import Run
from rushhour.running.conductor import Conductor
from rushhour.running.prepare import prepare
from rushhour.verdict import lane
from rushhour.verdict.cell import examine
from rushhour.verdict.rule import Rule
from rushhour.verdict.running import Bench, Task, change_of, cheap_first
from rushhour.verdict.side import key_of, of_outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from rushhour.lab.base import Lab
    from rushhour.lab.kernel import Kernel
    from rushhour.record.slim import Wanted
    from rushhour.running.batch import Batch, Outcome
    from rushhour.running.executor import Executor
    from rushhour.verdict.cell import CellVerdict
    from rushhour.verdict.lane import Lane
    from rushhour.verdict.side import Key

SUITE = "suite"
# Cells that are begun together, for each run that goes on at once: first one, then twice as many each time.
_PORTIONS = (1, 8)
_SAVED = 64


@dataclass(frozen=True)
class Place:
    """Where runs go on, in which folder, and what is kept of them."""

    lab: Lab
    executor: Executor | None
    wanted: Wanted
    room: Path

    def conductor(self, *, keep: bool) -> Conductor:
        """What carries runs out; of a mutant's nothing is kept, for nobody asks for them again."""
        return Conductor(self.lab, keep=keep, executor=self.executor, wanted=self.wanted)


class Sums:
    """What a base writes in cells, by the key of the run; kept in the cache."""

    def __init__(self) -> None:
        self._place = store.cache("mutants", "sums.json")
        self.known: dict[str, str] = json.loads(self._place.read_text()) if self._place.is_file() else {}

    def save(self) -> None:
        """Write them, whole or not at all."""
        new = self._place.with_suffix(".new")
        new.write_text(json.dumps(self.known, indent=0, sort_keys=True) + "\n")
        new.replace(self._place)


@dataclass
class Suite:
    """The suite, whole or as a quick look, on a base."""

    base: Kernel
    place: Place
    quick: bool
    _sums: Sums = field(default_factory=Sums)
    _keys: dict[Key, str] = field(default_factory=dict)
    _lanes: dict[str, Lane] = field(default_factory=dict)

    @cached_property
    def batches(self) -> dict[str, Batch]:
        """Every scenario, by its name."""
        made = prepare([SUITE], kernels=[self.base.name], quick=self.quick)
        return {batch.name: batch for batch in made}

    @cached_property
    def tasks(self) -> list[Task]:
        """Every cell, the cheapest of each scenario first."""
        return cheap_first(
            [
                Task(key_of(batch.name, cell.factors), cell, batch.repeat)
                for batch in self.batches.values()
                for cell in batch.cells
            ]
        )

    def of(self, scenarios: Iterable[str]) -> list[Task]:
        """The cells of these scenarios, named by the last part, scenario by scenario."""
        return [task for name in scenarios for task in self.tasks if task.key[0].rpartition("/")[2] == name]

    def lane(self, scenario: str) -> Lane:
        """The base's runs of a scenario, which all mutants share."""
        if scenario not in self._lanes:
            self._lanes[scenario] = self.lane_of(self.base, scenario, self.place.room / f"base-{self.quick}")
        return self._lanes[scenario]

    def lane_of(self, kernel: Kernel, scenario: str, room: Path) -> Lane:
        """A kernel's runs of a scenario, in a folder; there are none yet."""
        return lane.of_kernel(kernel, [self.batches[scenario]], room, lane.facts(self.place.lab))

    def sums(self, tasks: Sequence[Task]) -> dict[Key, str]:
        """What the base writes in these cells with their first seed, as one checksum of each."""
        keys = {task.key: self._key(task) for task in tasks}
        missing = [task for task in tasks if keys[task.key] not in self._sums.known]
        for start in range(0, len(missing), _SAVED):
            part = missing[start : start + _SAVED]
            with self.place.conductor(keep=False) as going:
                lanes = {
                    name: self.lane_of(self.base, name, self.place.room / f"sums-{self.quick}")
                    for name in {task.key[0] for task in part}
                }
                for task, outcome in first_runs(lanes, part, going):
                    self._sums.known[keys[task.key]] = checksum(outcome)
                    forget(outcome)
            self._sums.save()
        return {key: self._sums.known[name] for key, name in keys.items()}

    def _key(self, task: Task) -> str:
        if task.key not in self._keys:
            run = Run(0, task.cell, self.base, 0, lane.seed_of(task.cell, 0))
            self._keys[task.key] = self.place.lab.key(self.batches[task.key[0]].job(run))
        return self._keys[task.key]


def checksum(outcome: Outcome) -> str:
    """One checksum of all that a run wrote and a metric can read; of a failed run, how it failed."""
    if outcome.error is not None:
        return f"{'skipped' if outcome.skipped else 'failed'}: {type(outcome.error).__name__}"
    trial = of_outcome(outcome)
    return hashlib.sha256(json.dumps([dict(trial.digests), trial.told], sort_keys=True).encode()).hexdigest()


def forget(outcome: Outcome) -> None:
    """Remove the record of a run that nobody asks for any more."""
    if outcome.folder is not None:
        shutil.rmtree(outcome.folder)


def first_runs(
    lanes: dict[str, Lane], tasks: Sequence[Task], going: Conductor
) -> Iterator[tuple[Task, Outcome]]:
    """Run cells with their first seed, each in its scenario's lane, unless the lane has that run."""
    wanted = [(task, *run) for task in tasks for run in lanes[task.key[0]].wanted(task.key, task.cell, 0)]
    owner = {(id(batch), run.number): task for task, batch, run in wanted}
    for outcome in going.outcomes((batch, run) for _, batch, run in wanted):
        yield owner[id(outcome.batch), outcome.run.number], outcome


@dataclass
class Trial:
    """A mutant before the cells of a suite: what ran, what differs, the verdicts of what could matter."""

    suite: Suite
    kernel: Kernel
    room: Path
    ran: set[Key] = field(default_factory=set)
    differ: set[Key] = field(default_factory=set)
    verdicts: list[CellVerdict] = field(default_factory=list)
    lacking: list[tuple[Task, str]] = field(default_factory=list)
    _lanes: dict[str, Lane] = field(default_factory=dict)
    _later: list[Task] = field(default_factory=list)

    @property
    def worse(self) -> bool:
        """Whether any cell is, or cannot run: a kernel of the base's configuration has what the base has."""
        return bool(self.lacking) or any(one.verdict == "worse" for one in self.verdicts)

    def judge(self, tasks: Sequence[Task], *, stop: bool) -> bool:
        """Run these cells, in this order, those left out that ran already; whether any is worse.

        What changed by more than matters is judged at once, the rest when `rest` is called.
        """
        order = [task for task in {task.key: task for task in tasks}.values() if task.key not in self.ran]
        with self.suite.place.conductor(keep=False) as going:
            size, most = (count * going.capacity for count in _PORTIONS)
            while order and not (stop and self.worse):
                self._portion(order[:size], going, stop=stop)
                order, size = order[size:], min(2 * size, most)
        return self.worse

    def rest(self, *, stop: bool) -> bool:
        """Judge what was put off: cells that differ by less than matters; whether any is worse."""
        for task in self._later:
            self._decide(task)
            if stop and self.worse:
                break
        self._later.clear()
        return self.worse

    def _portion(self, portion: Sequence[Task], going: Conductor, *, stop: bool) -> None:
        known = self.suite.sums(portion)
        for scenario in {task.key[0] for task in portion} - self._lanes.keys():
            self._lanes[scenario] = self.suite.lane_of(self.kernel, scenario, self.room)
        found = []
        for task, outcome in first_runs(self._lanes, portion, going):
            self.ran.add(task.key)
            if checksum(outcome) == known[task.key] or known[task.key].startswith(("failed", "skipped")):
                forget(outcome)
            elif outcome.skipped and outcome.error is not None:
                self.lacking.append((task, str(outcome.error)))
            else:
                self._lanes[task.key[0]].add(task.key, outcome)
                found.append(task)
        self.differ |= {task.key for task in (*found, *(task for task, _ in self.lacking))}
        sized = sorted(((self._size(task), task) for task in found), key=lambda one: -one[0])
        self._later += [task for size, task in sized if size <= 1]
        for size, task in sized:
            if size > 1 and not (stop and self.worse):
                self._decide(task)

    def _size(self, task: Task) -> float:
        """By how many times the least that matters the cell changed."""
        base, mine = self.suite.lane(task.key[0]), self._lanes[task.key[0]]
        with self.suite.place.conductor(keep=True) as going:
            for one, outcome in first_runs({task.key[0]: base}, [task], going):
                base.add(one.key, outcome)
        found = examine(base.side.cells[task.key], mine.side.cells[task.key], Rule(), virtual=True)
        return float("inf") if found.settled is not None or found.faults else change_of(found)

    def _decide(self, task: Task) -> None:
        base, mine = self.suite.lane(task.key[0]), self._lanes[task.key[0]]
        with self.suite.place.conductor(keep=True) as going:
            self.verdicts += Bench(base, mine, Rule(), going).judge([task])

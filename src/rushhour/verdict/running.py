"""Running both sides: every cell once, those that differ with more seeds, until the rule can tell.

    Bench.judge   lanes → verdicts of cells

A cell whose tables are equal to the byte, or that hardly moved, needs one look. One that changed is judged
after 5, 10, 20 seeds (`Rule.looks`), together with all others that are still open. With `stop` cells come in
small portions, the cheap ones of every scenario first, and of a portion those that changed most; the first
that is worse ends it, and so does the first in which the candidate hangs where the base does not. Where only
failures are looked for, every cell has its first repetitions and no more, in portions that are smaller yet.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rushhour.errors import GuestError
from rushhour.verdict.cell import CellVerdict, Examined, examine
from rushhour.verdict.compared import questions
from rushhour.verdict.judging import Missing, as_failed, conclude_all

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from rushhour.errors import RushHourError
    from rushhour.plan import Cell
    from rushhour.running.batch import Batch, Run
    from rushhour.running.conductor import Conductor
    from rushhour.verdict.lane import Lane
    from rushhour.verdict.rule import Rule
    from rushhour.verdict.side import Key, SideCell

# A kernel that hangs costs minutes each time; after so many nothing new is learned.
_HANGS = 5
# With `stop`: cells that are begun together, for each run that goes on at once.
_PORTION = 4
_PACKET = 12_000  # bit
_SLOWEST = 10_000_000  # bit/s, where a link has no rate


@dataclass(frozen=True)
class Task:
    """One cell to be compared: `repeat` runs of each side first."""

    key: Key
    cell: Cell
    repeat: int


@dataclass
class Bench:
    """Two lanes, and the conductor that carries out what they want.

    Attributes:
        stop: End at the first cell that is worse.
        first: Cells that are judged before all others.
        failures: Look for cells in which the candidate fails and the base does not, and end at the first.
        asked_alike: What the candidate refuses and the base runs, the candidate has lost.
        hangs: How often the candidate hung.
    """

    base: Lane
    candidate: Lane
    rule: Rule
    conductor: Conductor
    stop: bool = False
    first: Collection[Key] = ()
    failures: bool = False
    asked_alike: bool = False
    hangs: int = 0
    _hopeless: bool = False
    _hung_in: set[tuple[Key, int]] = field(default_factory=set)
    _cells: dict[Key, CellVerdict] = field(default_factory=dict)
    _examined: dict[Key, Examined] = field(default_factory=dict)

    def judge(self, tasks: Sequence[Task]) -> list[CellVerdict]:
        """Run and judge every cell; with `stop`, up to the first that is worse, or fails."""
        if self.failures:
            self._until_failed(tasks)
        elif self.stop:
            self._until_worse(tasks)
        else:
            self._grow(self._begin(tasks), 0)
        return [self._cells[task.key] for task in tasks if task.key in self._cells]

    @property
    def hung(self) -> bool:
        """Whether the candidate hung so often that it is not started again."""
        return self._hopeless or self.hangs >= _HANGS

    def _until_worse(self, tasks: Sequence[Task]) -> None:
        order, later = self._order(tasks), list[Task]()
        size = _PORTION * self.conductor.capacity
        for start in range(0, len(order), size):
            to_come = sum(len(questions(self._sides(task)[1])) for task in order[start + size :])
            differing = self._begin(order[start : start + size])
            differing.sort(key=self._change, reverse=True)
            later += [task for task in differing if self._change(task) <= 1]
            promising = [task for task in differing if self._change(task) > 1]
            if self._worse() or any(self._grow([task], to_come) for task in promising):
                return
        self._grow(later, 0)

    def _until_failed(self, tasks: Sequence[Task]) -> None:
        order, size = self._order(tasks), self.conductor.capacity
        for start in range(0, len(order), size):
            for task in self._begin(order[start : start + size]):
                found = self._examine(task, last=True)
                self._cells[task.key] = conclude_all([found], self.rule.level)[0]
            if any(cell.failed for cell in self._cells.values()):
                return

    def _order(self, tasks: Sequence[Task]) -> list[Task]:
        chosen = [task for task in tasks if task.key in self.first]
        return cheap_first(chosen) + cheap_first([task for task in tasks if task.key not in self.first])

    def _worse(self) -> bool:
        return any(cell.verdict == "worse" for cell in self._cells.values())

    def _begin(self, tasks: Sequence[Task]) -> list[Task]:
        """Run the first repetitions; settle what is the same, or failed; give the rest."""
        self._carry_out(tasks, lambda task: task.repeat)
        return [task for task in tasks if self._there(task) and not self._settled(task)]

    def _there(self, task: Task) -> bool:
        """Whether both sides ran the cell: skipped and given up ones are not compared."""
        base, candidate = self.base.side, self.candidate.side
        alike = self.asked_alike
        candidate.cells[task.key] = as_failed(base, candidate, task.key, asked_alike=alike)
        return all(side.trials and not side.skipped for side in self._sides(task))

    def _settled(self, task: Task) -> bool:
        found = self._examine(task)
        verdict = conclude_all([found], self.rule.level)[0]
        # More seeds tell nothing of what a kernel does not tell.
        silent = all(entry.what.unread for entry in found.judged) and verdict.verdict == "inconclusive"
        if found.settled is None and not found.faults and verdict.verdict != "same" and not silent:
            return False
        self._cells[task.key] = verdict
        return True

    def _grow(self, tasks: Sequence[Task], to_come: int) -> bool:
        """Give cells more seeds until each is decided, or no more are allowed; whether any is worse.

        `to_come` counts quantities of cells that have not run yet: they are among the many that p is
        corrected for.
        """
        going = list(tasks)
        for look in self.rule.looks():
            before = {task.key: self._shared(task) for task in going}
            self._carry_out(going, lambda task, look=look: max(look, task.repeat))  # type: ignore[misc]
            stuck = {
                task.key for task in going if look > task.repeat and self._shared(task) == before[task.key]
            }
            ended = look == self.rule.looks()[-1]
            found = [self._examine(task, last=ended or task.key in stuck) for task in going]
            family = sum(len(one.p) for one in found) + to_come
            level = self.rule.level
            for task, verdict in zip(going, conclude_all(found, level, family=family), strict=True):
                self._cells[task.key] = verdict
            going = [
                task for task in going
                if self._cells[task.key].verdict == "inconclusive" and task.key not in stuck
            ]  # fmt: skip
        return any(self._cells[task.key].verdict == "worse" for task in tasks)

    def _shared(self, task: Task) -> int:
        before, after = self._sides(task)
        return len({*before.trials} & {*after.trials})

    def _examine(self, task: Task, *, last: bool = False) -> Examined:
        found = replace(examine(*self._sides(task), self.rule, virtual=True), last=last)
        self._examined[task.key] = found
        return found

    def _change(self, task: Task) -> float:
        """How many times the least that matters the cell's quantities changed at most."""
        return change_of(self._examined[task.key])

    def _carry_out(self, tasks: Sequence[Task], repetitions: Callable[[Task], int]) -> None:
        wanted = list(self._wanted(tasks, repetitions))
        self.conductor.expect(len(wanted))
        owner = {(id(batch), run.number): (lane, task) for lane, task, batch, run in wanted}
        going = ((batch, run) for lane, _, batch, run in wanted if lane is self.base or not self.hung)
        for outcome in self.conductor.outcomes(going):
            lane, task = owner[id(outcome.batch), outcome.run.number]
            lane.add(task.key, outcome)
            one = (task.key, outcome.run.seed)
            if lane is self.candidate and outcome.error is not None and _is_hang(outcome.error):
                self.hangs += 1
                self._hung_in.add(one)
            # The base's run may end after the one that hangs.
            if self.stop and one in self._hung_in and self._base_ran(*one):
                self._hopeless = True  # what goes on beside it would hang, too
                return  # its outcomes are waited for at the conductor's end, and not read

    def _base_ran(self, key: Key, seed: int) -> bool:
        trial = self.base.side.cells[key].trials.get(seed)
        return trial is not None and trial.ran

    def _wanted(
        self, tasks: Iterable[Task], repetitions: Callable[[Task], int]
    ) -> Iterator[tuple[Lane, Task, Batch, Run]]:
        """The runs that are missing: by cell and repetition, both sides beside each other."""
        for task in tasks:
            for repetition in range(repetitions(task)):
                for lane in (self.base, self.candidate):
                    for batch, run in lane.wanted(task.key, task.cell, repetition):
                        yield lane, task, batch, run

    def _sides(self, task: Task) -> tuple[SideCell, SideCell]:
        return self.base.side.cells[task.key], self.candidate.side.cells[task.key]


def change_of(found: Examined) -> float:
    """How many times the least that matters a cell's quantities changed at most."""
    if any(entry.broken for entry in found.expected):
        return math.inf
    return max((entry.size for entry in found.judged), default=0.0)


def cheap_first(tasks: Sequence[Task]) -> list[Task]:
    """The cheapest cell of every scenario, then the next of each: soon something of everything has run."""
    ranks: dict[str, list[Task]] = defaultdict(list)
    for task in sorted(tasks, key=_cost):
        ranks[task.key[0]].append(task)
    placed = [(rank, _cost(task), task) for mine in ranks.values() for rank, task in enumerate(mine)]
    return [task for _, _, task in sorted(placed, key=lambda entry: entry[:2])]


def given_up(bench: Bench, tasks: Sequence[Task], name: str) -> list[Missing]:
    """The cells that did not run because the candidate hung too often."""
    times = "once" if bench.hangs == 1 else f"{bench.hangs} times"
    reason = f"not run: {name} had hung {times} by then"
    return [
        Missing(task.key[0], task.cell.label, reason)
        for task in tasks
        if bench.hung and not bench.candidate.side.cells[task.key].trials
    ]


def _cost(task: Task) -> float:
    """About how many packets the cell has."""
    scenario = task.cell.scenario
    directions = [scenario.topology, *scenario.link]
    rates = [entry.rate.bps for entry in directions if entry is not None and entry.rate is not None]
    return scenario.span.seconds * min(rates, default=_SLOWEST) / _PACKET


def _is_hang(error: RushHourError) -> bool:
    return isinstance(error, GuestError) and error.hangs

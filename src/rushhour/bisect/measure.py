"""Measuring a commit: its kernel is built, cells are run on it, and the runs are kept by seed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rushhour.errors import BuildError
from rushhour.lab import clock
from rushhour.lab import kernel as kernels
from rushhour.plan import expand
from rushhour.record.slim import WHOLE, Wanted
from rushhour.running.batch import Batch
from rushhour.running.conductor import Conductor
from rushhour.verdict.side import SideCell, cell_of, of_outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from rushhour.lab.base import Lab
    from rushhour.lab.kernel import Kernel
    from rushhour.plan import Cell
    from rushhour.running.batch import Outcome
    from rushhour.running.executor import Executor
    from rushhour.spec import Scenario
    from rushhour.verdict.trial import Trial

    Tell = Callable[[str], None]

PREFIX = "bisect-"
"""Of the names of kernels that are built for a bisection."""
# Where the compiler found a file: the private copy in the cache, which is nobody's tree.
_PLACE = re.compile(r"/\S*/sources/git-[0-9a-f]+/")


@dataclass
class Bench:
    """Where commits are built and cells are run.

    Attributes:
        tree: The repository.
        folder: Where the records go: `COMMIT/CELL/`, each a result set.
        name: Of the scenario.
        scenario: As it was loaded, with its sweep.
        lab: Where runs happen.
        jobs: Runs at once; None for one per CPU.
        tell: Told what goes on.
        executor: Carries the runs out, instead of threads on this machine.
        wanted: What is to be kept of runs.
    """

    tree: Path
    folder: Path
    name: str
    scenario: Scenario
    lab: Lab
    jobs: int | None = None
    tell: Tell = lambda _: None
    executor: Executor | None = None
    wanted: Wanted = WHOLE
    built: dict[str, Kernel] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    _cells: dict[tuple[str, int], SideCell] = field(default_factory=dict)

    def build(self, commit: str) -> Kernel | None:
        """The kernel of a commit; None if it cannot be built, and then `broken` says why.

        Raises:
            KernelError: nothing can be built here.
        """
        if commit not in self.built and commit not in self.broken:
            begin = clock.monotonic()
            try:
                self.built[commit] = kernels.build(
                    f"{self.tree}@{commit}",
                    f"{PREFIX}{commit[:12]}",
                    lambda step: self.tell(f"{commit[:12]}: {step}"),
                    aside=True,
                )
            except BuildError as error:
                self.broken[commit] = _PLACE.sub("", error.message)
            self.seconds[commit] = clock.monotonic() - begin
        return self.built.get(commit)

    def run(self, commit: str, cells: Sequence[Cell], repeat: int) -> list[SideCell]:
        """Cells of a commit that was built, with so many runs each; runs that are known are not run again.

        Raises:
            LabError: no run can be carried out here.
        """
        kernel = self.built[commit]
        begin = clock.monotonic()
        batches = [self._batch(commit, kernel, cell, repeat) for cell in cells]
        told = _Told(commit, self.tell)
        with Conductor(
            self.lab, self.jobs, wanted=self.wanted, executor=self.executor, watch=told
        ) as conductor:
            for batch in batches:
                batch.write_about(complete=False)
            for outcome in conductor.outcomes((batch, run) for batch in batches for run in batch.runs()):
                self._take(commit, outcome)
        for batch in batches:
            batch.write_about(complete=not batch.failures)
        self.seconds[commit] = self.seconds.get(commit, 0.0) + clock.monotonic() - begin
        return [_in_order(self.side(commit, cell)) for cell in cells]

    def make_whole(self, commit: str, cell: Cell, seed: int) -> None:
        """Have the tables of a run of which only the metrics were kept: it is made again, on this machine."""
        repeat = len(self.side(commit, cell).trials)
        batch = self._batch(commit, self.built[commit], cell, repeat)
        with Conductor(self.lab, self.jobs, watch=_Told(commit, self.tell)) as conductor:
            for outcome in conductor.outcomes((batch, run) for run in batch.runs() if run.seed == seed):
                self._take(commit, outcome)

    def _take(self, commit: str, outcome: Outcome) -> None:
        side = self.side(commit, outcome.run.cell)
        if outcome.skipped and outcome.error is not None:
            side.skipped = outcome.error.message
        else:
            side.trials[outcome.run.seed] = of_outcome(outcome)

    def side(self, commit: str, cell: Cell) -> SideCell:
        """A cell of a commit with the runs that it has so far."""
        return self._cells.setdefault((commit, cell.index), cell_of(self.name, cell))

    def place(self, commit: str, cell: Cell) -> Path:
        """The result set of a cell of a commit."""
        return self.folder / commit[:12] / f"{cell.index:03d}"

    def resolved(self, cell: Cell) -> dict[str, Any]:
        """The scenario of a cell as it stands in the file, with the judges and expectations of its own."""
        return next(one.scenario.canonical() for one in expand(self.scenario) if one.index == cell.index)

    def clear(self, keep: Mapping[str, object] | set[str]) -> None:
        """Remove kernels that were built for the bisection, but for those of some commits."""
        for commit, kernel in self.built.items():
            if commit not in keep and kernel.name.startswith(PREFIX) and kernel.folder.is_dir():
                kernels.remove(kernel.folder.name)

    def _batch(self, commit: str, kernel: Kernel, cell: Cell, repeat: int) -> Batch:
        place = self.place(commit, cell)
        return Batch(
            self.name, self.scenario, [cell], [kernel], repeat, cell.scenario.seed, quick=False, folder=place
        )


@dataclass(frozen=True)
class _Told:
    """Says in a line which run of a commit has finished."""

    commit: str
    tell: Tell

    def more(self, count: int) -> None:
        """Nothing: how many there will be is not known before the end."""

    def show(self, outcome: Outcome) -> None:
        """Say it."""
        run = outcome.run
        cell = run.cell.label or outcome.batch.name
        self.tell(f"{self.commit[:12]}: {cell}, run {run.repetition + 1}")


def _in_order(side: SideCell) -> SideCell:
    """With its runs in the order of their repetitions: they finish in any."""
    side.trials = dict(sorted(side.trials.items(), key=lambda entry: entry[1].repetition))
    return side


def first_line(trials: Mapping[int, Trial]) -> str | None:
    """Why runs failed, if none came to its end."""
    if not trials or any(trial.ran for trial in trials.values()):
        return None
    return next(
        (str(trial.error).splitlines()[0] for trial in trials.values() if trial.error), "no reason given"
    )

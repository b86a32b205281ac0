"""A mutant judged: its kernel built, and the suite's cells run on it until one is worse.

What is likeliest to notice comes first: the scenario that noticed last time, then the cells of the quick
suite that execute what was changed, by the index of coverage; then all of the suite.
"""

from __future__ import annotations

import re
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.check.reach import reach
from rushhour.errors import KernelError
from rushhour.lab import kernel as kernels

from . import results
from .cells import Suite, Trial
from .results import Judgement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rushhour.check.reach import Reach
    from rushhour.coverage.index import Index
    from rushhour.lab.kernel import Kernel
    from rushhour.verdict.running import Task
    from rushhour.verdict.side import Key

    from .cells import Place
    from .patches import Mutant
    from .source import Source

BASE = "debian-6.12"
_IDENTIFIER = re.compile(r"\b[a-z]\w*_\w+")
# Of these scenarios cells come before others that execute the change, too.
_NEAR = 3


@dataclass(frozen=True)
class Scope:
    """What judges: named scenarios, the quick suite, or the suite; `stop` at the first cell that is worse."""

    stop: bool = True
    quick: bool = False
    scenarios: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether nothing noticed means that the suite does not notice."""
        return not self.quick and not self.scenarios


@dataclass(frozen=True)
class Built:
    """A mutant's kernel, or why there is none: its image is the base's, or the compiler's words."""

    mutants: Sequence[Mutant]
    kernel: Kernel | None
    seconds: float
    reason: str = ""


class Court:
    """Builds mutants and judges them.

    Args:
        source: the base's source, and what makes kernels of it.
        place: where runs go on.
        index: what the cells of the quick suite execute; None if nobody knows.
    """

    def __init__(self, source: Source, place: Place, index: Index | None) -> None:
        self.source, self.place, self.index = source, place, index
        self._reached: dict[str, Reach] = {}
        self.suites = {quick: Suite(source.base, place, quick) for quick in (True, False)}

    def build(self, mutants: Sequence[Mutant]) -> Built:
        """The kernel with these changes; may be called by another thread."""
        begun = time.monotonic()
        kernel, reason = None, ""
        try:
            kernel = self.source.build(mutants)
        except KernelError as fault:
            reason = fault.message
        return Built(mutants, kernel, time.monotonic() - begun, reason)

    def judge(self, built: Built, tell: Callable[[str], None], scope: Scope | None = None) -> list[Judgement]:
        """Let the suite judge a kernel, and say so of each of its changes; the kernel is removed.

        Harmless changes can be judged together: if nothing is noticed of all, nothing is noticed of one.
        """
        scope, begun = scope or Scope(), time.monotonic()
        if built.reason:
            found = Judgement("", "failed", reason=built.reason)
        elif built.kernel is None:
            found = Judgement("", "identical", reason="the image is that of the base, to the byte")
        else:
            try:
                found = self._compare(built.mutants, built.kernel, tell, scope)
            finally:
                kernels.remove(built.kernel.folder.name)
        # What part of the suite calls worse, the suite does; of a chosen scenario that is another question.
        whole = found.verdict == "identical" or scope.whole or (found.caught and not scope.scenarios)
        found = replace(found, whole=whole, build_s=built.seconds, judge_s=time.monotonic() - begun)
        made = [self._of(mutant, found, len(built.mutants)) for mutant in built.mutants]
        # Chosen scenarios that are quiet leave open what the other cells would say.
        if found.verdict == "failed" or not (
            whole or (scope.quick and (found.caught or not scope.scenarios))
        ):
            return made
        return [
            replace(one, known=self.basis(mutant, one))
            for mutant, one in zip(built.mutants, made, strict=True)
        ]

    def holds(self, found: Judgement, mutant: Mutant, *, whole: bool = True) -> bool:
        """Whether it would be found again; by the whole suite, or by as much as judged it."""
        if not found.known or found.verdict == "failed" or (whole and not found.whole):
            return False
        return found.known == self.basis(mutant, found)

    def basis(self, mutant: Mutant, found: Judgement) -> str:
        """What a judgement rests on: the cell that is worse, or all that could have been."""
        suite = self.suites[found.quick if found.caught else not found.whole]
        if found.verdict == "identical":
            tasks: list[Task] = []
        elif found.caught:
            tasks = [task for task in suite.of([found.scenario]) if task.cell.label == found.cell]
        else:
            tasks = suite.tasks if found.whole else self._chosen([mutant])
        return results.basis(mutant, self.source.base, suite.sums(tasks))

    def _of(self, mutant: Mutant, found: Judgement, many: int) -> Judgement:
        """A judgement as that of one of several mutants, which took its share of the time."""
        return replace(
            found, mutant=mutant.name, build_s=round(found.build_s / many, 1),
            judge_s=round(found.judge_s / many, 1),
        )  # fmt: skip

    def _compare(
        self, mutants: Sequence[Mutant], kernel: Kernel, tell: Callable[[str], None], scope: Scope
    ) -> Judgement:
        with tempfile.TemporaryDirectory(prefix="trial-", dir=self.place.room) as room:
            trials = {
                quick: Trial(suite, kernel, Path(room, f"quick-{quick}"))
                for quick, suite in self.suites.items()
            }
            for words, quick, tasks in self._stages(mutants, scope):
                tell(f"is judged by {words}: {len(tasks)} cells")
                if trials[quick].judge(tasks, stop=scope.stop) and scope.stop:
                    break
            else:
                for trial in trials.values():
                    if trial.rest(stop=scope.stop) and scope.stop:
                        break
            return results.worst(_read(trial) for trial in trials.values())

    def _stages(self, mutants: Sequence[Mutant], scope: Scope) -> Iterator[tuple[str, bool, list[Task]]]:
        """What to compare by, one after the other, until something is worse."""
        near = [name for mutant in mutants for name in likely(mutant)]
        if scope.scenarios:
            names = self._named(scope.scenarios)
            yield ", ".join(names), scope.quick, self.suites[scope.quick].of(names)
            return
        if scope.stop and len(mutants) == 1:
            before = results.recall(mutants[0])
            if before and before.caught and (tasks := self.suites[before.quick].of([before.scenario])):
                yield "what noticed it last time", before.quick, tasks
        if scope.stop or scope.quick:
            yield "quick cells that execute it", True, _nearest(self._chosen(mutants), near[:_NEAR])
        if not scope.quick:
            yield "the suite", False, _nearest(self.suites[False].tasks, [*near, *self._scenarios(mutants)])

    def _chosen(self, mutants: Sequence[Mutant]) -> list[Task]:
        """The cells of the quick suite that execute these changes, or of which nobody knows yet."""
        first = self.executing(mutants)
        seen = {cell.scenario for cell in self.index.cells} if self.index else set()
        return [
            task
            for task in self.suites[True].tasks
            if first is None or task.key in first or task.key[0] not in seen
        ]

    def executing(self, mutants: Sequence[Mutant]) -> frozenset[Key] | None:
        """The cells of the quick suite that execute these changes; None where the index does not know."""
        found: set[Key] = set()
        for mutant in mutants:
            if mutant.name not in self._reached:
                change = self.source.change(mutant)
                self._reached[mutant.name] = reach(change, self.index, self.source.text)
            reached = self._reached[mutant.name]
            if not reached.known and not reached.first:
                return None
            found |= reached.first
        return frozenset(found)

    def _scenarios(self, mutants: Sequence[Mutant]) -> list[str]:
        """The scenarios of which a cell of the quick suite executes these changes."""
        keys = self.executing(mutants) or ()
        return sorted({scenario.rpartition("/")[2] for scenario, _ in keys})

    def _named(self, words: Iterable[str]) -> list[str]:
        known = results.scenarios()
        return [results.named(word, known) for word in words]


def _nearest(tasks: Sequence[Task], names: Sequence[str]) -> list[Task]:
    """Cells of these scenarios first, in their order, otherwise as they are."""
    ranks = {name: rank for rank, name in enumerate(dict.fromkeys(names))}
    return sorted(tasks, key=lambda task: ranks.get(task.key[0].rpartition("/")[2], len(ranks)))


def likely(mutant: Mutant, most: int = 5) -> list[str]:
    """The scenarios that speak of what a patch touches, the nearest first.

    A scenario says which functions it watches; a patch shows the code around its change.
    """
    touched = set(_IDENTIFIER.findall(mutant.text)) | {Path(name).stem for name in mutant.files}
    area = mutant.area
    shares = {
        name: len(touched & set(_IDENTIFIER.findall(text))) + 2 * (area in name) + (area in text)
        for name, text in results.texts().items()
    }
    return [name for name in sorted(shares, key=lambda name: (-shares[name], name)) if shares[name]][:most]


def _read(trial: Trial) -> Judgement:
    """The worst cell of a trial, and in it what decided."""
    made = Judgement("", "same", quick=trial.suite.quick, cells=len(trial.ran), differ=len(trial.differ))
    if trial.lacking:
        task, why = trial.lacking[0]
        where = (task.key[0].rpartition("/")[2], task.cell.label)
        return replace(made, verdict="worse", scenario=where[0], cell=where[1], reason=f"not run: {why}")
    worst = min(trial.verdicts, key=lambda one: results.rank(one.verdict), default=None)
    if worst is None or worst.verdict == "same":
        return made
    entries = worst.document()["metrics"]
    told = next((entry for entry in entries if entry["verdict"] == worst.verdict), None)
    return replace(
        made,
        verdict=worst.verdict,
        scenario=worst.cell.scenario.rpartition("/")[2],
        cell=worst.cell.label,
        metric=told["metric"] if told else "",
        change=told["change"] if told else None,
        reason=worst.reason,
    )

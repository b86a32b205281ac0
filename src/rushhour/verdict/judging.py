"""Judging: two sides become a verdict.

    pair     the cells of both sides → pairs, and what is missing on one side
    judge    sides → Verdict, whatever they were made of

What runs kernels (`rushhour.verdict.running`) judges by the same two steps, again and again as seeds come in.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rushhour.errors import UsageError
from rushhour.lab import clock
from rushhour.record.document import write
from rushhour.record.verdict_file import FORMAT, MissingCell, VerdictFile
from rushhour.verdict.cell import LOST, CellVerdict, Examined, conclude, examine
from rushhour.verdict.refusal import Change, changed_of, check
from rushhour.verdict.rule import Rule, adjust, worst
from rushhour.verdict.trial import Trial
from rushhour.verdict.vocabulary import ORDER, WORDS, Decision
from rushhour.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from pathlib import Path

    from rushhour.verdict.side import Key, Side, SideCell

WHOLE = 1000
"""Cells of which `verdict.json` has every quantity, the worst first; of others it has those that decided."""


@dataclass(frozen=True)
class Missing:
    """A cell that was not compared, and why."""

    scenario: str
    label: str
    reason: str

    def document(self) -> MissingCell:
        """As it stands in `verdict.json`."""
        return write(MissingCell, scenario=self.scenario, label=self.label, reason=self.reason)


@dataclass(frozen=True)
class Verdict:
    """A whole comparison: both sides, the rule, every cell.

    `commit` is the one commit in which the sides' kernels differ, where that is known.
    """

    base: Side
    candidate: Side
    rule: Rule
    cells: Sequence[CellVerdict]
    missing: Sequence[Missing] = ()
    notes: Sequence[str] = ()
    variables: Sequence[str] = ("kernel",)
    made: datetime = field(default_factory=clock.now)
    elapsed_s: float = 0.0
    stopped: bool = False
    planned: int = 0
    folder: Path | None = None
    commit: str = ""
    changed: Sequence[Change] = ()
    """Keys of the scenario that differ between runs of one kernel; no kernel is judged then."""

    @property
    def verdict(self) -> Decision:
        """The verdict of the worst cell."""
        return worst([cell.verdict for cell in self.cells])

    @property
    def exit(self) -> int:
        """The exit code of this verdict; 0 where no kernel is judged and the runs are valid."""
        return 0 if self.changed and self.verdict != "invalid" else WORDS[self.verdict].exit

    @property
    def counts(self) -> dict[str, int]:
        """How many cells have which verdict."""
        found = Counter(cell.verdict for cell in self.cells)
        return {verdict: found[verdict] for verdict in reversed(ORDER)}

    def _is_quick(self, scenario: str) -> bool:
        return self.candidate.quick.get(scenario, self.base.quick.get(scenario, False))

    def _sets(self, scenario: str) -> Sequence[str]:
        return self.candidate.sets.get(scenario) or self.base.sets.get(scenario, ())

    def document(self, folder: Path | None = None) -> VerdictFile:
        """The verdict as it is written (docs/verdict.md), the worst cells first.

        Args:
            folder: Where it will lie: folders in it are relative to this one. By default they are as given.
        """
        cells = sorted(self.cells, key=lambda cell: ORDER.index(cell.verdict))
        return write(
            VerdictFile,
            format=FORMAT,
            rushhour=__version__,
            made=clock.stamped(self.made),
            verdict=self.verdict,
            exit=self.exit,
            variable=self.variables[0] if len(self.variables) == 1 else list(self.variables),
            commit=self.commit,
            base=self.base.document(folder),
            candidate=self.candidate.document(folder),
            rule=self.rule.document(),
            counts=self.counts,
            elapsed_s=round(self.elapsed_s, 2),
            stopped=self.stopped,
            planned=self.planned or len(cells),
            changed=[change.document() for change in self.changed],
            notes=list(self.notes),
            missing=[entry.document() for entry in self.missing],
            cells=[
                cell.document(
                    folder,
                    whole=number < WHOLE,
                    quick=self._is_quick(cell.cell.scenario),
                    sets=self._sets(cell.cell.scenario),
                )
                for number, cell in enumerate(cells)
            ],
        )


def judge(
    base: Side,
    candidate: Side,
    rule: Rule | None = None,
    *,
    variables: Sequence[str] = ("kernel",),
    tell: Callable[[str], None] = lambda _: None,
) -> Verdict:
    """Judge a candidate against a base, as far as their runs tell; `tell` hears which cell is judged.

    Raises:
        UsageError: they have no cell in common, or differ in more than the variables.
    """
    rule = rule or Rule()
    pairs, missing = pair(base, candidate)
    notes = check(base, candidate, pairs, variables)
    virtual = base.virtual and candidate.virtual
    found = []
    for number, (before, after) in enumerate(pairs, 1):
        tell(f"judging cell {number} of {len(pairs)}: {before.scenario} {before.label}")
        found.append(_examined(before, after, rule, virtual=virtual))
    # Nothing runs again here: one look, so the level is not divided.
    cells = conclude_all(found, 1 - rule.confidence)
    if len(cells) > 1 and not any(trial.ran for trial in candidate.trials()):
        cells = never_ran(cells)
    changed = changed_of(base, candidate, pairs)
    return Verdict(base, candidate, rule, cells, missing, notes, variables, changed=changed)


def _examined(before: SideCell, after: SideCell, rule: Rule, *, virtual: bool) -> Examined:
    """As `examine`; the values of the cell's runs are let go, for there may be very many cells."""
    found = examine(before, after, rule, virtual=virtual)
    for trial in (*before.trials.values(), *after.trials.values()):
        trial.forget()
    return found


def as_failed(base: Side, candidate: Side, key: Key, *, asked_alike: bool = False) -> SideCell:
    """The candidate's cell; as one that failed, where the base ran what the candidate refuses.

    Both were configured the same: so the kernel lost it. Or both were asked for the same, and what lies
    between them is all that can have made another configuration of it.
    """
    before, after = base.cells[key], candidate.cells[key]
    if not after.skipped or before.skipped:
        return after  # before the kernels are asked for: that looks through all runs of a side
    configured = [(side.fact("kernel") or {}).get("config_sha256") for side in (base, candidate)]
    if not asked_alike and (configured[0] is None or configured[0] != configured[1]):
        return after
    lost = {
        seed: Trial(seed, trial.repetition, error=after.skipped, kind=LOST, valid=False)
        for seed, trial in before.trials.items()
        if seed not in after.trials
    }
    return replace(after, trials={**after.trials, **lost}, skipped=None)


def pair(base: Side, candidate: Side) -> tuple[list[tuple[SideCell, SideCell]], list[Missing]]:
    """Pair cells by scenario and factors.

    Raises:
        UsageError: there is no pair at all.
    """
    pairs: list[tuple[SideCell, SideCell]] = []
    missing: list[Missing] = []
    for key, before in base.cells.items():
        if key not in candidate.cells:
            missing.append(Missing(before.scenario, before.label, f"{candidate.name} has no such cell"))
            continue
        after = candidate.cells[key] = as_failed(base, candidate, key)
        if before.skipped or after.skipped:
            missing.append(_skipped(before, after, base.name, candidate.name))
        else:
            pairs.append((before, after))
    missing += [
        Missing(after.scenario, after.label, f"{base.name} has no such cell")
        for key, after in candidate.cells.items()
        if key not in base.cells
    ]
    if not pairs:
        why = f": {missing[0].reason}" if missing else ""
        raise UsageError(
            f"{base.name} and {candidate.name} have no cell in common{why}",
            hint="compare runs of the same scenario; `rushhour report FOLDER` shows what a folder holds",
        )
    return pairs, missing


def conclude_all(found: Sequence[Examined], level: float, *, family: int = 0) -> list[CellVerdict]:
    """Correct the p values of all cells together, and conclude each.

    Equal tables need no test and are not among the many; `family` counts quantities that are still to come.
    """
    adjusted = iter(adjust([p for one in found for p in one.p], family))
    return [conclude(one, [next(adjusted) for _ in one.p], level) for one in found]


def never_ran(cells: Sequence[CellVerdict]) -> list[CellVerdict]:
    """Cells of a kernel that ran nowhere: it is no worse kernel, there is nothing to compare with."""
    return [
        replace(cell, verdict="invalid", reason=f"the candidate ran in no cell at all; here: {cell.reason}")
        for cell in cells
    ]


def _skipped(before: SideCell, after: SideCell, base: str, candidate: str) -> Missing:
    who = [name for name, cell in ((base, before), (candidate, after)) if cell.skipped]
    reason = (before.skipped or after.skipped or "").splitlines()[0]
    return Missing(after.scenario, after.label, f"skipped by {' and '.join(who)}: {reason}")

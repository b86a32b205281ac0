"""The mark: what tells a bad commit from a good one, and by it the decision about a commit between them.

    find     the verdicts of both ends → the clearest difference, in one cell
    decide   runs of a commit beside those of the ends → good, bad, or not to be told yet

A mark is a metric at one scope, an expectation, or that the kernel fails in the cell. Of a metric a commit
is good or bad by which end its value is nearer to. Were it in the middle of both, a second change would have
moved it; nearer is then the only answer that always leads to one commit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Literal

from rushhour.quantities.words import quantity, scale_for
from rushhour.verdict.cell import KERNELS_FAULT
from rushhour.verdict.compared import Compared, compared, expectations, questions
from rushhour.verdict.rule import paired

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rushhour.verdict.cell import CellVerdict
    from rushhour.verdict.judged import Judged
    from rushhour.verdict.rule import Rule
    from rushhour.verdict.side import SideCell
    from rushhour.verdict.trial import Trial
    from rushhour.verdict.vocabulary import Decision

    Runs = Mapping[int, Trial]


@dataclass(frozen=True)
class Mark:
    """What decides: in the cell of this index, by a metric's value or presence, a law, or a failure.

    `size` is how many times the least that matters both ends are apart.
    """

    kind: Literal["value", "presence", "expectation", "failure"]
    cell: int
    name: str
    scope: str = ""
    unit: str = ""
    size: float = 0.0
    reason: str = ""

    def document(self) -> dict[str, object]:
        """As JSON values."""
        return {**vars(self), "size": None if self.size == float("inf") else self.size}

    def __str__(self) -> str:
        """What it is, in words."""
        if self.kind == "failure":
            return "the kernel fails"
        return (
            f"the expectation {self.name}" if self.kind == "expectation" else f"{self.name} of {self.scope}"
        )


@dataclass(frozen=True)
class Between:
    """The mark's cell at both ends, the verdict's rule, and the greatest p of a decision."""

    good: SideCell
    bad: SideCell
    rule: Rule
    level: float


@dataclass(frozen=True)
class Found:
    """What runs of a commit say: good, bad, or None (yet); the value in words and numbers; why."""

    decision: Literal["good", "bad"] | None
    reason: str
    value: float | None = None
    share: float | None = None


def find(verdicts: Sequence[CellVerdict], wanted: Sequence[Decision]) -> Mark | None:
    """The clearest of all differences that have one of these verdicts; a value before a law or a failure."""
    marks = [mark for verdict in verdicts for mark in _marks(verdict, wanted)]
    order = ("value", "presence", "expectation", "failure")
    return min(marks, key=lambda mark: (order.index(mark.kind), -mark.size), default=None)


def _marks(verdict: CellVerdict, wanted: Sequence[Decision]) -> Iterator[Mark]:
    index = verdict.cell.index
    for entry in verdict.metrics:
        if entry.verdict in wanted:
            kind: Literal["presence", "value"] = "presence" if entry.presence else "value"
            what = entry.what
            yield Mark(kind, index, what.metric, what.scope, what.unit, _size(entry), entry.reason)
    for law in verdict.expected:
        if "worse" in wanted and _kept(law.base) and _broken(law.candidate):
            yield Mark("expectation", index, law.text, reason=law.found)
    if "worse" in wanted and _fails(verdict.candidate) and _runs(verdict.base):
        yield Mark("failure", index, "the kernel fails", reason=verdict.reason)


def decide(mark: Mark, ends: Between, middle: SideCell) -> Found:
    """Whether a commit's runs of the mark's cell are those of a good or of a bad one."""
    if mark.kind == "failure":
        return _by_failure(middle.trials)
    shared = [seed for seed, trial in middle.trials.items() if trial.usable]
    sides: tuple[tuple[SideCell, Literal["good", "bad"]], ...] = ((ends.good, "good"), (ends.bad, "bad"))
    for side, decision in sides:
        if shared and all(_equal(side.trials.get(seed), middle.trials[seed]) for seed in shared):
            value = _mean(mark, ends, middle) if mark.kind == "value" else None
            equal = f"in {_seeds(len(shared))} equal to the {decision} end to the byte"
            return Found(decision, f"{_said(value, mark)}{equal}", value)
    if mark.kind == "expectation":
        return _by_law(mark, ends.good, middle)
    return _by_value(mark, ends, middle)


def _by_failure(trials: Runs) -> Found:
    if _fails(trials):
        error = next(str(trial.error) for trial in trials.values() if not trial.ran)
        return Found("bad", f"the kernel fails: {error.splitlines()[0]}")
    if _runs(trials):
        return Found("good", "the kernel runs")
    return Found(None, "some runs fail, and some do not")


def _by_law(mark: Mark, good: SideCell, middle: SideCell) -> Found:
    laws = [law for law in expectations(good, good.trials, middle.trials) if law.text == mark.name]
    if not laws or not laws[0].candidate:
        return Found(None, f"nothing is known of {mark}")
    kept = sum(laws[0].candidate.values())
    runs = len(laws[0].candidate)
    if kept in (0, runs):
        return Found("good" if kept else "bad", f"{mark} is {'kept' if kept else 'broken'}")
    return Found(None, f"{mark} is kept in {kept} of {runs} runs")


def _by_value(mark: Mark, ends: Between, middle: SideCell) -> Found:
    """By which end's value the commit's is nearer to: its pairs with the middle of both ends decide."""
    to_bad, to_middle = _compared(mark, ends, ends.bad), _compared(mark, ends, middle)
    if to_bad is None or to_middle is None:
        return Found(None, f"{mark} is not measured")
    rows = list(_rows(mark, to_bad, to_middle))
    if not rows:
        return Found(None, f"{mark} is undefined{f': {to_middle.note}' if to_middle.note else ''}")
    toward = 1.0 if math.fsum(b - g for g, b, _ in rows) > 0 else -1.0
    halves = [(g + b) / 2 for g, b, _ in rows]
    values = [c for _, _, c in rows]
    value = fmean(values)
    whole = math.fsum(b - g for g, b, _ in rows)
    share = math.fsum(c - g for g, _, c in rows) / whole if whole else None
    estimate = paired(halves, values, ends.rule.confidence)
    said = f"{_said(value, mark)}{_between(share)}"
    if estimate.p > ends.level:
        return Found(None, f"{said}{_seeds(len(rows))} cannot tell to which end it belongs", value, share)
    decision: Literal["good", "bad"] = "bad" if estimate.difference * toward > 0 else "good"
    return Found(decision, f"{said}nearer to the {decision} end's", value, share)


def _seeds(count: int) -> str:
    return "one seed" if count == 1 else f"{count} seeds"


def _rows(mark: Mark, to_bad: Compared, to_middle: Compared) -> Iterator[tuple[float, float, float]]:
    """Of each seed the value of the good end, of the bad one, and of the commit."""
    for seed, g in to_middle.base.items():
        b, c = to_bad.candidate.get(seed), to_middle.candidate.get(seed)
        if seed not in to_bad.candidate or seed not in to_middle.candidate:
            continue
        if mark.kind == "presence":
            yield float(g is not None), float(b is not None), float(c is not None)
        elif g is not None and b is not None and c is not None:
            yield g, b, c


def _compared(mark: Mark, ends: Between, other: SideCell) -> Compared | None:
    """The mark's metric, of the good end and of another cell."""
    asked = [question for question in questions(ends.good) if question.metric == mark.name]
    found = compared(asked, ends.good.trials, other.trials, ends.rule)
    return next((entry for entry in found if entry.scope == mark.scope), None)


def _mean(mark: Mark, ends: Between, middle: SideCell) -> float | None:
    found = _compared(mark, ends, middle)
    known = found.known("candidate") if found else []
    return fmean(known) if known else None


def _said(value: float | None, mark: Mark) -> str:
    return "" if value is None or mark.kind != "value" else f"{quantity(value, mark.unit)}, "


def _between(share: float | None) -> str:
    if share is None or not 0.2 < share < 0.8:
        return ""
    return f"{share * 100:.0f} % of the way from good to bad, "


def ends_said(mark: Mark, ends: Between) -> tuple[float | None, float | None, str]:
    """The values of both ends, and what they are in words."""
    found = _compared(mark, ends, ends.bad) if mark.kind == "value" else None
    if found is None:
        return None, None, mark.reason
    values = [found.known("base"), found.known("candidate")]
    means = [fmean(known) if known else None for known in values]
    scale = scale_for(means, mark.unit)
    shown = [scale.with_unit(mean) if mean is not None else "undefined" for mean in means]
    return means[0], means[1], f"{shown[0]} → {shown[1]}"


def _equal(one: Trial | None, other: Trial) -> bool:
    return one is not None and one.equals(other)


def _size(entry: Judged) -> float:
    if entry.estimate is None:
        return 0.0
    return abs(entry.estimate.difference) / entry.least if entry.least else float("inf")


def _kept(seeds: Mapping[int, bool]) -> bool:
    return bool(seeds) and all(seeds.values())


def _broken(seeds: Mapping[int, bool]) -> bool:
    return bool(seeds) and 2 * sum(not ok for ok in seeds.values()) > len(seeds)


def _fails(trials: Runs) -> bool:
    return bool(trials) and all(not trial.ran and trial.kind in KERNELS_FAULT for trial in trials.values())


def _runs(trials: Runs) -> bool:
    return bool(trials) and all(trial.ran for trial in trials.values())

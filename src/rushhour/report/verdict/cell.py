"""A verdict's cells as people read them: what each is, what was measured in it, how far that changed."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rushhour.metrics.catalog import METRICS
from rushhour.quantities.words import NONE, capital, plural, quantity, scale_for, singular
from rushhour.report.verdict.advice import of_cell
from rushhour.report.verdict.departure import departs
from rushhour.verdict.vocabulary import DEPARTS, ORDER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rushhour.record.verdict_file import (
        ComparedCell,
        DivergenceFile,
        JudgedMetric,
        KnownChange,
        VerdictFile,
    )
    from rushhour.report.verdict.advice import Step

MAX_LINES = 24
"""Lines of what a run said last."""
REACH = 6.0
"""How many times the least difference that matters the scale of a bar reaches to either side."""
_FACTOR = re.compile(r"(?<![^\s,])(?:[\w-]+\.)+([\w-]+)=")
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class Bar:
    """A change and its interval in units of the least that matters, cut at `REACH`; None where unknown."""

    at: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Metric:
    """One judged metric in words."""

    name: str
    scope: str
    base: str
    candidate: str
    change: str
    interval: str
    minimum: str
    better: str
    verdict: str
    reason: str
    bar: Bar | None


@dataclass(frozen=True)
class Known:
    """A known change of the kernel that explains a cell: the commit, why, how that is known."""

    commit: str
    subject: str
    since: str
    why: str
    proof: str
    also: Sequence[str] = ()

    @property
    def name(self) -> str:
        """Commit, subject and release in a line."""
        return f"{self.commit[:12]} {self.subject} ({self.since})".strip()


@dataclass(frozen=True)
class Cell:
    """One cell: what it is, what it guards, what was found; `source` is its part of the document.

    `failures` are runs that did not come to an end, of each side the first: which, and its last words.
    """

    number: int
    verdict: str
    scenario: str
    title: str
    label: str
    area: str
    guards: str
    reason: str
    seeds: int
    metrics: Sequence[Metric]
    broken: Sequence[str]
    mended: Sequence[str]
    failures: Sequence[tuple[str, str]]
    warnings: Sequence[str]
    divergence: DivergenceFile | None
    known: Sequence[Known]
    steps: Sequence[Step]
    source: ComparedCell

    @property
    def name(self) -> str:
        """Scenario and factors in a line."""
        return f"{self.scenario} {self.label}".strip()

    @property
    def short(self) -> str:
        """The reason up to what else is known of the change: enough for a line of a table."""
        return sentence(self.reason.partition(", more than")[0].partition(", but ")[0])

    @property
    def telling(self) -> list[Metric]:
        """The metrics that decide: those that are as the cell is; of equal ones none."""
        return [metric for metric in self.metrics if metric.verdict == self.verdict != "same"]


def _departing(cell: Cell) -> Cell:
    """A cell in which only metrics without a better side changed: it behaves otherwise, and harms nobody."""
    if not departs(cell.source):
        return cell
    metrics = [
        replace(metric, verdict=DEPARTS) if metric.verdict == "worse" else metric for metric in cell.metrics
    ]
    return replace(cell, verdict=DEPARTS, metrics=metrics)


def short_label(text: str) -> str:
    """Factors by the last part of their names: `queue=codel`."""
    return _FACTOR.sub(r"\1=", text)


def told_cell(number: int, cell: ComparedCell, areas: Mapping[str, str], document: VerdictFile) -> Cell:
    """One cell of the document in words; `number` is its place in the order in which cells are told."""
    scenario = cell.scenario
    metrics = sorted(map(_metric, cell.metrics), key=lambda one: ORDER.index(one.verdict))
    made = Cell(
        number,
        cell.verdict,
        scenario,
        cell.title or scenario,
        short_label(cell.label),
        areas.get(scenario, ""),
        " ".join(cell.guards.split()),
        sentence(cell.reason),
        len(cell.seeds),
        metrics,
        cell.broken,
        cell.mended,
        list(_failures(cell)),
        cell.warnings,
        cell.divergence,
        [known_change(entry) for entry in cell.known],
        of_cell(cell, document),
        cell,
    )
    return _departing(made)


def known_change(entry: KnownChange) -> Known:
    """A known change of the document in words."""
    return Known(entry.commit, entry.subject, entry.since, entry.why, entry.proof, entry.also)


def _failures(cell: ComparedCell) -> Iterator[tuple[str, str]]:
    for side, runs in (("base", cell.runs.base), ("candidate", cell.runs.candidate)):
        failed = [(run.seed, run.error) for run in runs if run.error]
        if failed:
            number = f"{len(failed)} of {plural(len(runs), 'run')}"
            seed, words = failed[0]
            lines = words.strip().splitlines()
            yield f"{side}: {number} failed, with seed {seed}", "\n".join(lines[-MAX_LINES:])


def sentence(text: str) -> str:
    """A reason with a capital letter and a full stop; names of metrics stay as they are."""
    text = text.strip()
    if text and text.partition(" ")[0] not in METRICS:
        text = capital(text)
    return text if not text or text[-1] in ".!?" else f"{text}."


def _metric(entry: JudgedMetric) -> Metric:
    unit, scope = entry.unit, entry.scope
    means = [entry.base.mean, entry.candidate.mean]
    scale = scale_for(means, unit)
    return Metric(
        entry.metric,
        "" if scope == "total" else scope,
        scale.with_unit(means[0]),
        scale.with_unit(means[1]),
        _change(entry, unit),
        _interval(entry, unit),
        None if entry.minimum is None else singular(entry.minimum),
        entry.better,
        entry.verdict,
        sentence(entry.reason),
        _bar(entry),
    )


def _in_share(entry: JudgedMetric) -> bool:
    """Whether a change is said as a share: where that is what its minimum is, and the base is not tiny."""
    change = entry.change
    return change is not None and (entry.minimum or "%").endswith("%") and abs(change) < 10


def _change(entry: JudgedMetric, unit: str) -> str:
    if entry.change is not None and _in_share(entry):
        return _percent(entry.change)
    return NONE if entry.difference is None else _signed(entry.difference, unit)


def _interval(entry: JudgedMetric, unit: str) -> str:
    share = _in_share(entry)
    ends = entry.interval if share else entry.difference_interval
    if not ends:
        return ""
    if useless(ends[0], ends[1], 1.0 if share else abs(entry.base.mean or 0.0)):
        return ""
    low, high = ((_percent(end) if share else _signed(end, unit)) for end in ends)
    # The same in every seed: the change itself says it.
    return f"{low} … {high}" if low != high else ""


def useless(low: float, high: float, whole: float) -> bool:
    """Whether an interval says nothing: it reaches as far as the whole value to both sides, or is endless."""
    return not (math.isfinite(low) and math.isfinite(high)) or (low < -whole and high > whole)


def _percent(share: float) -> str:
    size = abs(100 * share)
    digits = 0 if size >= 100 else 1 if size >= 1 else 2
    return f"{_sign(share)}{size:.{digits}f} %"


def _signed(value: float, unit: str) -> str:
    return f"{_sign(value)}{quantity(abs(value), unit)}"


def _sign(value: float) -> str:
    return "+" if value > 0 else MINUS if value < 0 else ""


def _bar(entry: JudgedMetric) -> Bar | None:
    least, difference = entry.least, entry.difference
    if not least or difference is None:
        return None
    low, high = entry.difference_interval or (None, None)
    at, low, high = (None if value is None else _cut(value / least) for value in (difference, low, high))
    return None if at is None else Bar(at, low, high)


def _cut(value: float) -> float:
    return max(-REACH, min(REACH, value))

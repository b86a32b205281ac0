"""Two runs of one kernel held beside each other: what was changed, what that changed and by how much.

A verdict is about kernels. Where the kernel is the same and keys of the scenario differ, nobody asks whether
the difference is chance or a fault: the runs are exact, so every difference there is comes of those keys.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.quantities.words import capital, plural
from rushhour.report.tables import TELLING
from rushhour.verdict.refusal import NOTHING
from rushhour.verdict.vocabulary import DIFFERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.record.verdict_file import VerdictFile
    from rushhour.report.verdict.cell import Cell, Metric
    from rushhour.report.verdict.story import Story

MAX_KEYS = 4
"""Changed keys that a headline names."""
_SEVERAL = 2
_SAID = 3
"""Metrics that a sentence names."""
_TITLES = {name: telling.title for name, telling in TELLING.items()}
_ORDER = {name: place for place, name in enumerate(TELLING)}


def changes(document: VerdictFile) -> list[tuple[str, str, str]]:
    """The keys that differ with the value of both sides; empty for a comparison of kernels."""

    def said(value: object) -> str:
        return "the default" if value == NOTHING else str(value)

    return [(one.key, said(one.base), said(one.candidate)) for one in document.changed]


def headline(changed: Sequence[tuple[str, str, str]]) -> str:
    """The keys first: `topology.queue: fifo → fq_codel`."""
    said = [f"{key}: {before} → {after}" for key, before, after in changed[:MAX_KEYS]]
    more = len(changed) - MAX_KEYS
    return "; ".join(said) + (f"; and {plural(more, 'more key')}" if more > 0 else "")


def told(whole: Story, changed: Sequence[tuple[str, str, str]]) -> Story:
    """The story of a comparison in the words of two runs held beside each other."""
    cells = [_cell(cell) for cell in whole.cells]
    differ = sum(cell.verdict == DIFFERS for cell in cells)
    invalid = sum(cell.verdict == "invalid" for cell in cells)
    facts = [
        (label, headline(changed) if label == "What differs" else text)
        for label, text in whole.facts
        if label not in ("Matters from", "Seeds")
    ]
    counts = [(DIFFERS, differ), ("invalid", invalid), ("same", len(whole.same))]
    return replace(
        whole,
        verdict="invalid" if invalid else DIFFERS if differ else "same",
        headline=headline(changed),
        lead=_lead(whole, cells),
        facts=facts,
        counts=[(name, count) for name, count in counts if count],
        cells=cells,
        steps=(),
        beside=True,
    )


def _lead(whole: Story, cells: Sequence[Cell]) -> str:
    if not cells:
        equal = whole.identical == len(whole.same)
        return "It changes nothing here: " + (
            "equal to the byte." if equal else "no metric differs by as much as matters."
        )
    many = (
        f"In {len(cells)} of {len(cells) + len(whole.same)} cells something differs. " if whole.same else ""
    )
    return many + cells[0].reason


def _cell(cell: Cell) -> Cell:
    if cell.verdict == "invalid":
        return cell
    metrics = [_metric(metric) for metric in sorted(cell.metrics, key=_rank)]
    if cell.seeds < _SEVERAL:
        # One run of each side has a difference and no spread.
        metrics = [replace(metric, interval="") for metric in metrics]
    differ = [metric for metric in metrics if metric.verdict == DIFFERS]
    return replace(cell, verdict=DIFFERS, metrics=metrics, reason=_reason(differ), steps=())


def _metric(metric: Metric) -> Metric:
    """What one run says of a metric is exact: it differs, or not."""
    differs = metric.base != metric.candidate
    return replace(metric, verdict=DIFFERS if differs else "same", reason="", bar=None, minimum="")


def _rank(metric: Metric) -> tuple[bool, bool, bool, int, str]:
    """What differs by as much as matters comes first, in the order in which metrics are worth a look."""
    small = metric.bar is not None and abs(metric.bar.at) < 1
    known = metric.name in _ORDER
    return (metric.base == metric.candidate, small, not known, _ORDER.get(metric.name, 0), metric.scope)


def _reason(metrics: Sequence[Metric]) -> str:
    if not metrics:
        return "No judged metric differs, but the records do."
    said = [_said(metric) for metric in metrics[:_SAID]]
    more = len(metrics) - len(said)
    text = "; ".join(said) + (f"; and {plural(more, 'more metric')}" if more > 0 else "")
    return f"{capital(text)}."


def _said(metric: Metric) -> str:
    of = f" of {metric.scope.partition(':')[2] or metric.scope}" if metric.scope else ""
    return f"{_TITLES.get(metric.name, metric.name)}{of} {metric.base} → {metric.candidate} ({metric.change})"

"""Runs of a large set that a report counts and sums up, but neither draws nor lists.

A hundred thousand of them are in memory at once, so each keeps only the numbers that tables, figures and the
answer are made of, and shares with the first run of its cell whatever a cell has in common. Nothing is read
for them: `rushhour.report.brief` has.
"""

from __future__ import annotations

from dataclasses import replace
from sys import intern
from typing import TYPE_CHECKING, Any

from rushhour.report.model import said
from rushhour.report.shares import METRIC as SHARE
from rushhour.report.tables import TELLING
from rushhour.report.warned import besides
from rushhour.summary.expectations import Verdict
from rushhour.summary.lines import chosen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rushhour.metrics.value import MetricValue
    from rushhour.record.result_set import ResultSet
    from rushhour.report.brief import Brief, Briefs
    from rushhour.report.model import RunView

MAX_TOLD = 1000
"""Expectations that fail and are told in words; of more, only how many."""
_KEPT = Verdict("", "", ok=True, value=None, wanted="", message="")
_BROKEN = Verdict("", "", ok=False, value=None, wanted="", message="one of many; the index has the number")


class Lean:
    """Makes the views of undrawn runs of a set."""

    def __init__(self, results: ResultSet, briefs: Briefs) -> None:
        figures = results.about.scenario.resolved.figure
        asked = {str(figure.get(key)) for figure in figures for key in ("y", "metric")}
        self._metrics = {SHARE, "goodput_bps", *TELLING, *asked}
        self._first = briefs.first
        self._told = 0

    def view(self, run: Brief, metrics: Sequence[MetricValue], factors: Mapping[str, Any]) -> RunView:
        """A run without curves, and with no more numbers than are summed up."""
        judged = run.judged(metrics)
        return replace(
            self._first[run.cell],
            name=run.path.name,
            factors={key: intern(said(value)) for key, value in factors.items()},
            seed=run.seed,
            valid=run.valid,
            reasons=list(run.reasons),
            warnings=besides(run.warnings, judged),
            metrics=chosen(metrics, self._metrics),
            verdicts=[self._verdict(one) for one in judged],
        )

    def _verdict(self, found: Verdict) -> Verdict:
        if found.ok:
            return _KEPT
        self._told += 1
        return found if self._told <= MAX_TOLD else _BROKEN

"""Summaries: statistics of metric values over the repetitions of a cell.

Takes metric values of several runs, gives one row per cell, metric and scope. Values that are undefined are
counted, not averaged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rushhour.summary.distributions import student_quantile
from rushhour.summary.measured import metrics_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rushhour.metrics.value import MetricValue
    from rushhour.record.record import Record


@dataclass(frozen=True, slots=True)
class Statistics:
    """What repetitions say of one quantity.

    `n` values are defined, `undefined` are not. `std` is the sample's (n - 1); `ci_low` … `ci_high` is the
    95 % confidence interval of the mean by Student's t. All three are None for n < 2: one value tells nothing
    of spread.
    """

    n: int
    undefined: int
    mean: float | None
    median: float | None
    min: float | None
    max: float | None
    std: float | None
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """One metric at one scope of one cell, over its repetitions."""

    scenario: str
    kernel: str
    cell: int
    factors: Mapping[str, object]
    metric: str
    scope: str
    unit: str
    statistics: Statistics


def statistics(values: Iterable[float | None]) -> Statistics:
    """Describe repetitions of one quantity; None and nan count as undefined."""
    given = list(values)
    known = np.array([value for value in given if value is not None and math.isfinite(value)], np.float64)
    n = len(known)
    undefined = len(given) - n
    if not n:
        return Statistics(0, undefined, None, None, None, None, None, None, None)
    mean = float(known.mean())
    spread = low = high = None
    if n > 1:
        spread = float(known.std(ddof=1))
        half = student_quantile(n - 1, 0.975) * spread / math.sqrt(n) if spread else 0.0
        low, high = mean - half, mean + half
    return Statistics(
        n, undefined, mean, float(np.median(known)), float(known.min()), float(known.max()), spread, low, high
    )


def summarise(records: Iterable[Record]) -> list[Row]:
    """Measure the runs one at a time and describe them per scenario, kernel, cell, metric and scope.

    Invalid runs are left out: what was measured on untrue links is not averaged with what was not.
    """
    gathered: dict[tuple[str, str, int], tuple[Mapping[str, object], list[list[MetricValue]]]] = {}
    for record in records:
        if record.valid:
            cell = gathered.setdefault(_cell(record), (record.factors, []))
            cell[1].append(metrics_of(record))
    return [row for cell, (factors, runs) in sorted(gathered.items()) for row in _rows(cell, factors, runs)]


def _rows(
    cell: tuple[str, str, int], factors: Mapping[str, object], runs: list[list[MetricValue]]
) -> list[Row]:
    values: dict[tuple[str, str, str], list[float | None]] = {}
    for run in runs:
        for value in run:
            values.setdefault((value.metric, value.scope, value.unit), []).append(value.value)
    return [Row(*cell, factors, *what, statistics(found)) for what, found in values.items()]


def _cell(record: Record) -> tuple[str, str, int]:
    manifest = record.manifest
    return manifest.scenario.name, manifest.kernel.name, manifest.cell.index

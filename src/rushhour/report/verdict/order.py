"""In which order cells are told: what needs a person first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rushhour.verdict.vocabulary import ORDER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rushhour.record.verdict_file import ComparedCell, JudgedMetric


def ordered(cells: Iterable[ComparedCell]) -> list[ComparedCell]:
    """The cells of a verdict's document, what needs a person first.

    By verdict; then runs that died and laws that broke, metrics with a better side, mere departures; then by
    how many times the least that matters was exceeded.
    """
    return sorted(cells, key=_key)


def _key(cell: ComparedCell) -> tuple[int, int, float]:
    deciding = [one for one in cell.metrics if one.verdict == cell.verdict]
    size = max(map(_size, deciding), default=0.0)
    return ORDER.index(cell.verdict), _group(cell, deciding), -size


def _group(cell: ComparedCell, deciding: list[JudgedMetric]) -> int:
    if cell.broken or any(run.error for run in cell.runs.candidate):
        return 0
    return 1 if any(one.better in ("higher", "lower") for one in deciding) else 2


def _size(metric: JudgedMetric) -> float:
    if metric.difference is None:
        return 0.0
    return abs(metric.difference) / metric.least if metric.least else math.inf

"""How each number of a report is defined: from the catalogue of metrics, only those that occur."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.metrics.catalog import METRICS

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from rushhour.report.model import RunView


@dataclass(frozen=True)
class Definition:
    """One metric: name, unit, which way is better (`higher`, `lower`, `none`), the text of its definition."""

    name: str
    unit: str
    better: str
    text: str


def definitions(runs: Iterable[RunView]) -> dict[str, Definition]:
    """The definitions of the metrics that these runs have, in the catalogue's order."""
    return of_metrics({value.metric for run in runs for value in run.metrics})


def of_metrics(names: Container[str]) -> dict[str, Definition]:
    """The definitions of the metrics of these names, in the catalogue's order."""
    return {
        metric.name: Definition(metric.name, metric.unit, metric.better, metric.definition)
        for metric in METRICS.values()
        if metric.name in names
    }

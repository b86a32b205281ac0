"""A document's numbers in a figure: which of them, of which line, and what they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.metrics.catalog import METRICS
from rushhour.quantities.factors import matches
from rushhour.quantities.measures import convert

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rushhour.report.figure.collect import Taken
    from rushhour.spec.published import Published, Value

KINDS: Mapping[str, str] = {
    "point": "{}", "below": "< {}", "above": "> {}", "derived": "{}, derived", "configured": "{}, configured",
}  # fmt: skip
"""How a number of each kind is said under the pointer."""


def over_factor(tables: Sequence[Published], metric: str) -> list[Published]:
    """The tables of this metric."""
    return [table for table in tables if table.metric == metric]


def over_time(tables: Sequence[Published], series: str) -> list[Published]:
    """The tables whose metric is the mean or median of this series: levels to hold a curve against."""
    stem, _, unit = series.rpartition("_")
    fitting = {f"{stem}_mean_{unit}", f"{stem}_p50_{unit}"} | ({series} if unit == "bps" else set())
    return [table for table in tables if table.metric in fitting]


def title(table: Published) -> str:
    """The words in the legend."""
    return f"published, {table.source}{', read off by eye' if table.read == 'figure' else ''}"


def group(table: Published) -> str:
    """The entry of the legend."""
    return f"published:{table.source}"


def values_of(table: Published, one: Taken) -> list[Value]:
    """The values that are about the cell, and the flow or scope, that was taken."""
    name = one.scope.partition(":")[2]
    if table.flow is not None and name != table.flow:
        return []
    if table.scope is not None and table.scope not in (one.scope, name):
        return []
    return [value for value in table.values if matches(value.where, one.factors)]


def in_unit(table: Published, value: Value) -> tuple[float, float]:
    """Value and spread in the unit of the metric."""
    unit = METRICS[table.metric].unit
    return convert(value.value, table.unit, unit), convert(value.spread or 0.0, table.unit, unit)

"""Sweeps as lines: a metric over one factor, a line for each level of a second, a chart for each of the rest.

Free of how it is drawn: `lines_svg` and `figures` draw what is said here, by places from 0 to 1 on the axis.
"""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from rushhour.spec.levels import worth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.report.tables import Column, Row, Table

MAX_LINES = 8
"""Lines in one chart; a factor with more levels is left to the map."""
MAX_CHARTS = 12
"""Charts of one metric; more would not be compared."""
_WIDE = 15
"""From this ratio of greatest to least level on, the axis is logarithmic."""


@dataclass(frozen=True)
class Point:
    """One cell: place along the axis, mean, least and greatest of `count` runs; the run it leads to."""

    level: str
    place: float
    value: float
    low: float
    high: float
    count: int
    run: int


@dataclass(frozen=True)
class Line:
    """The points of one level of the second factor; `look` numbers colour and dashes, `place` its level."""

    label: str
    look: int
    points: list[Point]
    place: int = 0


@dataclass(frozen=True)
class Chart:
    """A metric over `across`; the factors that neither span it nor tell its lines apart are in `title`.

    `axis` is the factor as its axis is called, `ticks` are the levels with their places. Points are joined
    only where the levels are numbers.
    """

    column: Column
    title: str
    across: str
    axis: str
    by: str
    numeric: bool
    ticks: list[tuple[float, str]]
    lines: list[Line]
    top: float


@dataclass(frozen=True)
class Axis:
    """One factor: its place among the heads of the table, its levels in order, where they lie."""

    head: int
    levels: list[str]
    places: dict[str, float]
    numeric: bool
    name: str


def charts(table: Table) -> dict[str, list[Chart]]:
    """Charts by metric, in the order of the columns; none where nothing varies or a metric does not."""
    axes = [_axis(table, head) for head in range(len(table.heads))] if table.rows else []
    varied = [axis for axis in axes if len(axis.levels) > 1]
    if not varied:
        return {}
    across = max(varied, key=lambda axis: (axis.numeric, len(axis.levels)))
    # Words tell lines apart better than numbers do.
    others = sorted(
        (axis for axis in varied if axis is not across), key=lambda axis: (axis.numeric, -len(axis.levels))
    )
    by = next((axis for axis in others if len(axis.levels) <= MAX_LINES), None)
    rest = [axis for axis in others if axis is not by]
    made = {
        column.metric: _charts(table, index, across, by, rest)
        for index, column in enumerate(table.columns)
        if not column.of
    }
    return {metric: found for metric, found in made.items() if found}


def _axis(table: Table, head: int) -> Axis:
    levels = list(dict.fromkeys(row.head[head] for row in table.rows))
    found = worth(levels)
    if found is None or len(set(found.values)) < len(levels):
        places = {level: (number + 0.5) / len(levels) for number, level in enumerate(levels)}
        return Axis(head, levels, places, numeric=False, name=table.heads[head])
    pairs = sorted(zip(found.values, levels, strict=True))
    values, ordered = [value for value, _ in pairs], [level for _, level in pairs]
    name = f"{table.heads[head]}, logarithmic" if wide(values) else table.heads[head]
    return Axis(head, ordered, dict(zip(ordered, _spread(values), strict=True)), numeric=True, name=name)


def _spread(values: list[float]) -> list[float]:
    """Places of ascending numbers from 0 to 1: by size, or by logarithm where they span a wide range.

    A zero has no logarithm; it lies before the least number, by the mean step.
    """
    known = [value for value in values if value > 0]
    if wide(values):
        logs = [math.log(value) for value in known]
        step = (logs[-1] - logs[0]) / (len(logs) - 1)
        values = [logs[0] - step, *logs] if values[0] == 0 else logs
    width = values[-1] - values[0] or 1.0
    return [(value - values[0]) / width for value in values]


def wide(values: Sequence[float]) -> bool:
    """Whether ascending numbers need a logarithmic axis."""
    known = [value for value in values if value > 0]
    return len(known) > 1 and values[0] >= 0 and known[-1] / known[0] >= _WIDE


def _charts(table: Table, index: int, across: Axis, by: Axis | None, rest: list[Axis]) -> list[Chart]:
    column = table.columns[index]
    known = [value for row in table.rows if row.valid and (value := row.values[index]) is not None]
    # What does not differ in the column's own digits is no picture.
    if not known or column.scale.text(min(known)) == column.scale.text(max(known)):
        return []
    spreads = [spread[1] for row in table.rows if row.valid and (spread := _spread_of(row, index))]
    rows = {row.head: row for row in table.rows}
    blank = table.rows[0].head
    made = []
    for others in list(product(*(axis.levels for axis in rest)))[:MAX_CHARTS]:
        fixed = {axis.head: level for axis, level in zip(rest, others, strict=True)}
        lines = [
            Line(level, look, _points(rows, blank, {**fixed, **at}, across, index), look)
            for look, (level, at) in enumerate(_lines(by))
        ]
        title = " · ".join(f"{table.heads[head]} {level}" for head, level in fixed.items())
        ticks = [(across.places[level], level) for level in across.levels]
        drawn = [line for line in lines if line.points]
        top = max([*known, *spreads])
        name = "" if by is None else table.heads[by.head]
        chart = Chart(
            column, title, table.heads[across.head], across.name, name, across.numeric, ticks, drawn, top
        )
        made.append(chart)
    return made


def _lines(by: Axis | None) -> list[tuple[str, dict[int, str]]]:
    return [("", {})] if by is None else [(level, {by.head: level}) for level in by.levels]


def _points(
    rows: dict[tuple[str, ...], Row], blank: tuple[str, ...], fixed: dict[int, str], across: Axis, index: int
) -> list[Point]:
    points = []
    for level in across.levels:
        at = {**fixed, across.head: level}
        row = rows.get(tuple(at.get(place, head) for place, head in enumerate(blank)))
        value = None if row is None or not row.valid else row.values[index]
        if row is None or value is None:
            continue
        low, high = _spread_of(row, index) or (value, value)
        points.append(Point(level, across.places[level], value, low, high, row.count, row.run))
    return points


def _spread_of(row: Row, index: int) -> tuple[float, float] | None:
    return row.spread[index] if row.spread else None


def counts(found: Sequence[Chart]) -> str:
    """How many runs stand behind a point, in words: `n = 3 repetitions a point; shade: least to greatest`."""
    numbers_of = sorted({point.count for chart in found for line in chart.lines for point in line.points})
    if not numbers_of or numbers_of == [1]:
        return "n = 1 run a point"
    said = str(numbers_of[0]) if len(numbers_of) == 1 else f"{numbers_of[0]} to {numbers_of[-1]}"
    how = "shade" if found[0].numeric else "bar"
    return f"n = {said} repetitions a point: mean, and {how} from least to greatest"


def grid(top: float) -> list[float]:
    """Round values from 0 to at least `top`, three to six of them."""
    if not top > 0:
        return [0.0, 1.0]
    power = 10.0 ** math.floor(math.log10(top))
    step = next(step for step in (0.2, 0.5, 1, 2, 2.5) if top / (step * power) <= 5) * power
    return [step * number for number in range(math.ceil(top / step - 1e-9) + 1)]


def apart(ticks: Sequence[tuple[float, str]], width: float, letter: float) -> list[tuple[float, str]]:
    """The ticks whose words do not touch on an axis of this width; the first and the last stay."""
    kept = list(ticks[:1])
    for place, word in ticks[1:]:
        last, before = kept[-1]
        if (place - last) * width >= letter * (len(word) + len(before) + 2) / 2:
            kept.append((place, word))
    if len(kept) > 1:
        kept[-1] = ticks[-1]
    return kept


def in_lines(words: Sequence[str], letters: float) -> list[list[str]] | None:
    """Each level that is a text broken into lines of so many letters; None where a single word is longer."""
    if any(len(part) > letters for word in words for part in word.split()):
        return None
    return [textwrap.wrap(word, max(1, int(letters))) for word in words]

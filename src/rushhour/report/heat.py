"""Sweeps at a glance: a metric over two factors as a coloured table, one for each level of the others."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rushhour.report.tables import Column, Row, Table

SHADES = 9
"""Steps of the colour scale, from the least value of a metric to the greatest."""
MAX_MAPS = 60


@dataclass(frozen=True)
class Spot:
    """One cell of a map: its value in words, its shade (0 the least), the run it leads to."""

    text: str
    shade: int | None
    run: int
    valid: bool


@dataclass(frozen=True)
class Map:
    """A metric over `rows` and `columns`, with the other factors at the values in `title`."""

    title: str
    down: str
    across: str
    columns: list[str]
    rows: list[tuple[str, list[Spot | None]]]


@dataclass(frozen=True)
class Heat:
    """All maps of one metric; they share one colour scale from `least` to `greatest`."""

    column: Column
    least: str
    greatest: str
    maps: list[Map]


def heats(table: Table) -> list[Heat]:
    """The maps of every metric of the table; none where fewer than two factors vary."""
    if len(table.heads) < 2 or len(table.rows) < 4:
        return []
    levels = [list(dict.fromkeys(row.head[place] for row in table.rows)) for place in range(len(table.heads))]
    varied = [place for place, level in enumerate(levels) if len(level) > 1]
    if len(varied) < 2:
        return []
    # The two factors with most levels span the map; the one with more lies across.
    down, across = sorted(
        sorted(varied, key=lambda place: -len(levels[place]))[:2], key=lambda place: len(levels[place])
    )
    sides = (down, across)
    wholes = [index for index, column in enumerate(table.columns) if not column.of]
    found = (_heat(table, levels, sides, index) for index in wholes)
    return [heat for heat in found if heat is not None]


def _heat(table: Table, levels: list[list[str]], sides: tuple[int, int], index: int) -> Heat | None:
    down, across = sides
    rest = [place for place, level in enumerate(levels) if len(level) > 1 and place not in sides]
    column = table.columns[index]
    known = [row.values[index] for row in table.rows if row.valid and row.values[index] is not None]
    values = [value for value in known if value is not None]
    # Differences that the column's own digits do not show are no pattern to look at.
    if not values or column.scale.text(min(values)) == column.scale.text(max(values)):
        return None
    low, high = min(values), max(values)
    rows = {tuple(row.head): row for row in table.rows}
    maps = []
    for others in list(product(*(levels[place] for place in rest)))[:MAX_MAPS]:
        fixed = dict(zip(rest, others, strict=True))
        lines = []
        for level in levels[down]:
            spots = [
                _spot(_find(rows, levels, {**fixed, down: level, across: other}), column, index, (low, high))
                for other in levels[across]
            ]
            lines.append((level, spots))
        title = " · ".join(f"{table.heads[place]} {value}" for place, value in fixed.items())
        maps.append(Map(title, table.heads[down], table.heads[across], levels[across], lines))
    return Heat(column, column.scale.with_unit(low), column.scale.with_unit(high), maps)


def _find(rows: dict[tuple[str, ...], Row], levels: list[list[str]], at: dict[int, str]) -> Row | None:
    return rows.get(tuple(at.get(place, level[0]) for place, level in enumerate(levels)))


def _spot(row: Row | None, column: Column, index: int, limits: tuple[float, float]) -> Spot | None:
    if row is None:
        return None
    value, (low, high) = row.values[index], limits
    shade = None if value is None or not row.valid else round((SHADES - 1) * (value - low) / (high - low))
    return Spot(column.scale.text(value), shade, row.run, row.valid)

"""Where the cells of a sweep go in a figure: which panel, which line, which place on the axis.

What the figure does not name but varies among its cells would fall on the same points; it tells lines apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rushhour.quantities.words import scale_for
from rushhour.report.figure.description import Axis
from rushhour.report.figure.ticks import rounds, wide
from rushhour.report.figure.titles import name_of, spoken
from rushhour.report.model import said
from rushhour.spec.figure import OWN
from rushhour.spec.levels import worth
from rushhour.spec.sweep import LABEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rushhour.report.figure.description import Facet
    from rushhour.spec.figure import Figure
    from rushhour.spec.sweep import Factor, Sweep

Key = tuple[str, ...]
MOST_TICKS = 9
"""Levels up to which each has its tick; above, round numbers have them where the axis is linear."""
_APART = 8
"""Panels whose tops differ by more than this have y axes of their own."""


@dataclass(frozen=True)
class CellLayout:
    """The factors of lines and of panels, and the order of every factor's levels."""

    lines: tuple[str, ...]
    panels: tuple[str, ...]
    order: Mapping[str, Mapping[str, int]]

    def line(self, factors: Mapping[str, Any]) -> Key:
        """The line that a cell belongs to."""
        return tuple(said(factors.get(name, "")) for name in self.lines)

    def panel(self, factors: Mapping[str, Any]) -> Key:
        """The panel that a cell belongs to."""
        return tuple(said(factors.get(name, "")) for name in self.panels)

    def sorted(self, names: Sequence[str], keys: Iterable[Key]) -> list[Key]:
        """Keys in the order of the sweep."""
        places = [self.order.get(name, {}) for name in names]
        return sorted(
            dict.fromkeys(keys),
            key=lambda key: tuple(place.get(level, 0) for place, level in zip(places, key, strict=True)),
        )


def layout(figure: Figure, sweep: Sweep, cells: Sequence[Mapping[str, Any]]) -> CellLayout:
    """Lay out cells (their factors, with `flow`, `end` and `kernel` among them)."""
    named = [name for _, name in figure.factors]
    extra = [name for factor in sweep.factors for name in _needed(factor, named, cells)]
    for own in OWN:
        if own not in named and len({said(cell.get(own, "")) for cell in cells}) > 1:
            extra = [*extra, own]
    names = {*named, *extra}
    order = {name: _order(name, sweep, cells) for name in names}
    return CellLayout((*figure.lines, *extra), figure.panels, order)


def _needed(factor: Factor, named: Sequence[str], cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """The keys of a factor that the lines need so that no two of its steps fall on the same point."""
    steps = {tuple(said(cell.get(key, "")) for key in factor.keys) for cell in cells}
    known = [place for place, key in enumerate(factor.keys) if key in named]
    # A label says best what a step means.
    free = sorted(
        (place for place in range(len(factor.keys)) if place not in known),
        key=lambda place: not factor.keys[place].startswith(LABEL),
    )
    needed: list[str] = []
    for place in free:
        if len({tuple(step[at] for at in known) for step in steps}) == len(steps):
            break
        known.append(place)
        needed.append(factor.keys[place])
    return needed


def _order(name: str, sweep: Sweep, cells: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    levels = [said(value) for value in sweep.values.get(name, [])]
    levels += [said(cell[name]) for cell in cells if name in cell]
    return {level: place for place, level in enumerate(dict.fromkeys(levels))}


def words(names: Sequence[str], key: Key) -> str:
    """A panel's levels in words: `base RTT 10 ms · algorithm: reno`."""
    return " · ".join(_named(name, level) for name, level in zip(names, key, strict=True) if level)


def _named(name: str, level: str) -> str:
    return f"{name_of(name)}{' ' if worth([level]) else ': '}{spoken(level)}"


def factor_axis(name: str, levels: Sequence[str], scale: str | None) -> tuple[Axis, dict[str, float]]:
    """The axis of a factor with these levels (in the sweep's order), and the place of each from 0 to 1."""
    found = worth(levels)
    if found is None or len(set(found.values)) < len(levels):
        places = {level: (number + 0.5) / len(levels) for number, level in enumerate(levels)}
        # Among words a size is a word, too: `8 KiB` beside `8 KiB and a slow reader` is not `8.192 kB`.
        mixed = any(worth([level]) is None for level in levels)
        ticks = tuple((place, level if mixed else spoken(level)) for level, place in places.items())
        return Axis(name_of(name), numeric=False, ticks=ticks, levels=ticks), places
    pairs = sorted(zip(found.values, levels, strict=True))
    values = [value for value, _ in pairs]
    log = len(values) > 1 and (scale == "log" or (scale is None and wide(values)))
    log = log and values[0] >= 0 and values[-1] > 0
    spots = _logarithmic(values) if log else _linear(values)
    places = {level: spot for (_, level), spot in zip(pairs, spots, strict=True)}
    named = tuple((places[level], spoken(level)) for _, level in pairs)
    if log or len(levels) <= MOST_TICKS:
        return Axis(name_of(name), ticks=named, log=log, levels=named), places
    unit = "%" if found.unit == "1" else found.unit
    return replace(_rounded(name, values, unit), levels=named), places


def _rounded(name: str, values: Sequence[float], unit: str) -> Axis:
    factor = 100.0 if unit == "%" else 1.0
    scale = scale_for([factor * value for value in values], unit)
    low, high = values[0] * factor / scale.divisor, values[-1] * factor / scale.divisor
    ticks = tuple(((tick - low) / (high - low), f"{tick:g}") for tick in rounds(low, high))
    return Axis(name_of(name), unit=scale.unit, ticks=ticks)


def _linear(values: Sequence[float]) -> list[float]:
    width = values[-1] - values[0] or 1.0
    return [(value - values[0]) / width for value in values] if len(values) > 1 else [0.5]


def _logarithmic(values: Sequence[float]) -> list[float]:
    """Places by logarithm; a zero, which has none, lies before the least number by the mean step."""
    logs = [math.log(value) for value in values if value > 0]
    if len(logs) < len(values):
        step = (logs[-1] - logs[0]) / (len(logs) - 1) if len(logs) > 1 else 1.0
        logs = [logs[0] - step, *logs]
    return _linear(logs)


def alike(facets: Sequence[Facet]) -> bool:
    """Whether panels can share a y axis: their tops differ by no more than `_APART` times."""
    tops = [facet.top for facet in facets]
    return max(tops) <= _APART * min(tops)


def left_out(panels: int, most: int) -> tuple[str, ...]:
    """What is said of panels that are too many."""
    return (f"The first {most} of {panels} panels.",) if panels > most else ()

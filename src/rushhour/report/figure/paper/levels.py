"""Levels that a run's traces are held against, on paper: a line each, and words where they cover nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.lines import Line2D

from rushhour.report.figure.paper.style import NEUTRAL, plain
from rushhour.report.figure.paper.words import inches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes

    from rushhour.report.figure.description import Facet, Plot, Reference, Trace
    from rushhour.report.figure.paper.words import Named

HEADROOM = 0.06
"""What an axis has above its greatest value, as a share of the range."""
_SIZE = 7.0
"""Size in points of the words at a level."""
_HIGH, _PAD = 0.13, 0.06
"""Height in inches of these words, and what stays free beside them."""
_PLACES = 12
"""Places along a level where its words may stand."""
_LINE: dict[str, Any] = {"color": "#8f8a80", "linewidth": 0.9, "linestyle": (0, (5, 3))}


class Box(NamedTuple):
    """Where words are: shares of a panel's width and height, from its lower left corner."""

    left: float
    right: float
    low: float
    high: float

    def meets(self, other: Box) -> bool:
        """Whether two boxes have something in common."""
        beside = self.right <= other.left or other.right <= self.left
        return not (beside or self.high <= other.low or other.high <= self.low)


def seen(plot: Plot) -> list[Reference]:
    """The levels that the axis reaches; rows of events have none."""
    facet = plot.facets[0]
    return [one for one in facet.references if one.value <= facet.top and not plot.lanes]


def places(plot: Plot, width: float, height: float) -> dict[Reference, Box]:
    """Where words of levels stand on axes of so many inches: over no trace, other level or other words."""
    facet = plot.facets[0]
    levels = {one: _share(facet, one.value) for one in seen(plot)}
    found: dict[Reference, Box] = {}
    for one, at in levels.items():
        wide = (inches(one.said, _SIZE) + _PAD) / width
        for box in _boxes(at, wide, _HIGH / height):
            crossed = any(box.low < other < box.high for other in levels.values())
            taken = any(box.meets(other) for other in found.values())
            if not (crossed or taken or any(_crosses(trace, plot, box) for trace in facet.traces)):
                found[one] = box
                break
    return found


def draw(axes: Axes, plot: Plot, placed: dict[Reference, Box]) -> None:
    """Draw the levels, and the words of those that have a place."""
    for one in seen(plot):
        axes.axhline(one.value / plot.y.divisor, **_LINE)
        if one in placed:
            box = placed[one]
            style: dict[str, Any] = {"va": "center", "ha": "right", "fontsize": _SIZE, "color": NEUTRAL}
            middle = (box.low + box.high) / 2
            axes.annotate(plain(one.said), (box.right, middle), xycoords="axes fraction", **style)


def unsaid(plot: Plot, placed: dict[Reference, Box]) -> list[Named]:
    """The entries of the legend of levels without a place: one for all that are called the same."""
    called: dict[str, list[str]] = {}
    for one in seen(plot):
        if one not in placed:
            called.setdefault(one.label, []).append(one.quantity)
    return [(Line2D([], [], **_LINE), f"{label} {', '.join(values)}") for label, values in called.items()]


def _boxes(at: float, wide: float, high: float) -> Iterator[Box]:
    """The boxes beside a level: above it before below it, from the right to the left."""
    for low in (at, at - high):
        for step in range(_PLACES, -1, -1):
            left = (1 - wide) * step / _PLACES
            if low >= 0 and left >= 0:
                yield Box(left, left + wide, low, low + high)


def _share(facet: Facet, value: float) -> float:
    """The height of a value on the axis."""
    return (value - facet.low) / (facet.top - facet.low) / (1 + HEADROOM)


def _crosses(trace: Trace, plot: Plot, box: Box) -> bool:
    """Whether a trace comes into a box; between two samples it may be anywhere between their values."""
    x = (trace.x - plot.x.low) / (plot.x.high - plot.x.low)
    first, last = np.searchsorted(x, (box.left, box.right))
    near = trace.y[max(0, first - 1) : last + 1]
    near = near[~np.isnan(near)]
    if not len(near):
        return False
    facet = plot.facets[0]
    return _share(facet, float(near.min())) < box.high and _share(facet, float(near.max())) > box.low

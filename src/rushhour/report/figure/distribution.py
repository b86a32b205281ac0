"""Figures of distributions: which share of the flows, or of the samples of a series, is at most so great.

The empirical distribution function, a step at every value. A flow that was not complete at the end counts
among all: its line ends below 100 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.completion import DISTRIBUTIONS
from rushhour.quantities.words import scale_for
from rushhour.report.figure.curves import MAX_LINES, MAX_PANELS
from rushhour.report.figure.description import Axis, Facet, Plot, Trace
from rushhour.report.figure.legend import Looks, entries
from rushhour.report.figure.places import layout, left_out, words
from rushhour.report.figure.ticks import decades, rounds, wide
from rushhour.report.figure.titles import title_of
from rushhour.series.series import SERIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rushhour.report.figure.collect import Taken
    from rushhour.spec.figure import Figure
    from rushhour.spec.sweep import Sweep

MOST = 400
"""Steps of one line; what is left out moves it by less than 1/398 of all."""
_MARGIN = 0.02
"""Share of the axis beside the least and the greatest value."""


@dataclass(frozen=True)
class Shares:
    """Of `values` [n], ascending, the share [n] of all `count` that is at most so great.

    `missing` of them have no value: flows that were not complete. `least` is the least positive value, 0 if
    there is none.
    """

    values: NDArray[np.float64]
    shares: NDArray[np.float64]
    count: int
    missing: int
    least: float


def shares(samples: NDArray[np.float64], *, whole: bool) -> Shares | None:
    """The distribution of samples [m], thinned to `MOST` steps; None if none has a value.

    Where `whole`, nan are among all there were (flows that did not complete); else they are no samples.
    """
    known = samples[np.isfinite(samples)]
    if not len(known):
        return None
    values, times = np.unique(known, return_counts=True)
    count = len(samples) if whole else len(known)
    reached = np.cumsum(times) / count
    if len(values) > MOST:
        # The least and the greatest stay; between them equal parts of the samples.
        wanted = np.linspace(reached[0], reached[-1], MOST - 1)
        index = np.unique([0, *np.searchsorted(reached, wanted).clip(0, len(values) - 1)])
        values, reached = values[index], reached[index]
    least = float(np.min(known[known > 0], initial=np.inf))
    return Shares(values, reached, count, count - len(known), least if math.isfinite(least) else 0.0)


def build(figure: Figure, sweep: Sweep, taken: Sequence[Taken], notes: tuple[str, ...]) -> Plot | None:
    """The figure of the distributions that were taken; None if there is none."""
    where = layout(figure, sweep, [one.factors for one in taken])
    looks = Looks.of(where, [where.line(one.factors) for one in taken], MAX_LINES)
    known = [(one, one.shares) for one in taken if one.shares and where.line(one.factors) in looks.of_line]
    panels = where.sorted(where.panels, [where.panel(one.factors) for one, _ in known])
    if not known:
        return None
    axis = _axis(figure, [found for _, found in known])
    facets = []
    for panel in panels[:MAX_PANELS]:
        here = [(where.line(one.factors), found) for one, found in known if where.panel(one.factors) == panel]
        here.sort(key=lambda pair: looks.of_line[pair[0]])
        traces = [
            _trace(looks.label(line), looks.of_line[line], looks.group(line), found, axis)
            for line, found in here
        ]
        facets.append(Facet(words(where.panels, panel), tuple(traces), 0.0, 1.0))
    return Plot(
        figure.title,
        figure.source or "",
        figure.caption or "",
        axis,
        Axis("Share of flows" if figure.y in DISTRIBUTIONS else "Share of samples", "%", 0.01),
        tuple(facets),
        entries(looks, facets),
        looks.title,
        looks.styles,
        over_time=False,
        same=True,
        distribution=True,
        notes=(
            *notes,
            *_missing([found for _, found in known]),
            *looks.notes,
            *left_out(len(panels), MAX_PANELS),
        ),
    )


def _missing(every: Sequence[Shares]) -> tuple[str, ...]:
    missing, count = (sum(getattr(found, name) for found in every) for name in ("missing", "count"))
    if not missing:
        return ()
    return (f"{missing} of {count} flows were not complete at the end: their lines stay below 100 %.",)


def _axis(figure: Figure, every: Sequence[Shares]) -> Axis:
    """The axis of the values: places from 0 to 1 between its `low` and its `high`, in the quantity's unit."""
    unit = DISTRIBUTIONS[figure.y][0] if figure.y in DISTRIBUTIONS else SERIES[figure.y].unit
    least = min(float(found.values[0]) for found in every)
    greatest = max(float(found.values[-1]) for found in every)
    positive = min((found.least for found in every if found.least), default=0.0)
    scale = scale_for([least, greatest], unit)
    log = positive > 0 and (figure.x_scale == "log" or (figure.x_scale is None and _far(least, greatest)))
    if log:
        margin = max(greatest / positive, 1.1) ** _MARGIN
        low, high = positive / margin, greatest * margin
    else:
        # A single value has a place, too.
        pad = _MARGIN * ((greatest - least) or abs(least) or 1.0)
        low, high = max(0.0, least - pad) if least >= 0 else least - pad, greatest + pad
    bounds = (low / scale.divisor, high / scale.divisor)
    ticks = decades(*bounds) if log else rounds(*bounds)
    named = tuple((float(_places(np.array([tick]), *bounds, log=log)[0]), f"{tick:g}") for tick in ticks)
    return Axis(title_of(figure.y), scale.unit, scale.divisor, low, high, log, ticks=named)


def _far(least: float, greatest: float) -> bool:
    return least > 0 and wide([least, greatest])


def _places(values: NDArray[np.float64], low: float, high: float, *, log: bool) -> NDArray[np.float64]:
    """Where values lie from 0 to 1; on a logarithmic axis what is below its begin (a zero) lies there."""
    if log:
        return np.log(np.maximum(values, low) / low) / math.log(high / low)
    return (values - low) / (high - low)


def _trace(label: str, look: int, group: str, found: Shares, axis: Axis) -> Trace:
    """Steps from the left edge, where the share is 0, to the right one."""
    x = _places(found.values, axis.low, axis.high, log=axis.log)
    y = found.shares
    if x[0] > 0:
        x, y = np.append(0.0, x), np.append(0.0, y)
    x, y = np.append(x, 1.0), np.append(y, y[-1])
    return Trace(label, look, group, "measured", x, y, shape="hold")

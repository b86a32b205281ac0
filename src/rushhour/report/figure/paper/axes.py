"""What stands on one pair of axes on paper: traces, instants, ticks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import FuncFormatter, LogFormatterSciNotation, LogLocator, NullFormatter

from rushhour.report.figure.description import THEORETICAL
from rushhour.report.figure.paper.levels import HEADROOM
from rushhour.report.figure.paper.style import (
    DOTS,
    STEPS,
    TONES,
    categories,
    line_style,
    plain,
)
from rushhour.report.figure.paper.words import PANEL, broken
from rushhour.report.figure.ticks import apart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rushhour.report.figure.description import Facet, Plot, Trace

_DECADES = 300
"""Ratio of greatest to least up to which a logarithmic axis has ticks at 2 and 5."""
_LETTER = 0.075
"""Width in inches of a letter beside an axis."""


def panels_of(figure: Figure, many: int, across: int, along: str, *, same: bool) -> Iterator[Axes]:
    """The axes of so many panels, row by row; the last of each column has the words `along` it.

    The panels have the `same` y axis or each its own.
    """
    grid = figure.subplots(-(-many // across), across, squeeze=False, sharex=True, sharey=same)
    for place, axes in enumerate(grid.flat):
        axes.set_visible(place < many)
        if place < many:
            yield axes
            last = place + across >= many
            axes.tick_params(labelbottom=last)
            axes.set_xlabel(along if last else "")


def facet_on(axes: Axes, plot: Plot, facet: Facet, width: float) -> None:
    """Draw a panel of a figure on axes of so many inches."""
    for trace in facet.traces:
        _trace(axes, plot, trace)
    _instants(axes, plot, facet, width)
    axes.set_title(broken(facet.title, width, PANEL), fontsize=PANEL, loc="left")
    top = max(other.top for other in plot.facets) if plot.same else facet.top
    low = min(other.low for other in plot.facets) if plot.same else facet.low
    divisor = plot.y.divisor
    if plot.y.log:
        axes.set_yscale("log")
        axes.set_ylim(0.8 * low / divisor, 1.25 * top / divisor)
        few = top < _DECADES * max(low, 1e-300)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
        axes.yaxis.set_major_formatter(FuncFormatter(_decade))
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(low / divisor, (top + HEADROOM * (top - low)) / divisor)
    if plot.over_time:
        axes.set_xlim(plot.x.low, plot.x.high)
        return
    axes.set_xlim(-0.05, 1.05)
    if not plot.x.numeric:
        categories(axes, plot.x.ticks, width / _LETTER)
        return
    ticks = apart(plot.x.ticks, width, _LETTER)
    axes.set_xticks([place for place, _ in ticks], [plain(word) for _, word in ticks])


def _decade(value: float, _: object) -> str:
    return f"{value:g}" if 1e-3 <= value < 1e5 else LogFormatterSciNotation()(value)


def _instants(axes: Axes, plot: Plot, facet: Facet, width: float) -> None:
    """Vertical lines where something happened; words above those that have some and room."""
    span, free = (plot.x.high - plot.x.low if plot.over_time else 1.1), -1.0
    for one in facet.instants:
        paint = TONES[one.tone]
        if one.small:
            axes.axvline(one.x, ymax=0.04, color=paint, linewidth=2)
            continue
        axes.axvline(one.x, color=paint, linewidth=1.1, linestyle=(0, (4, 2)) if one.label else "-")
        half = len(one.label) * _LETTER / width * span / 2
        if one.label and one.x - half > free:
            style: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": 7, "color": paint}
            axes.annotate(plain(one.label), (one.x, 1.01), xycoords=("data", "axes fraction"), **style)
            free = one.x + half


def _trace(axes: Axes, plot: Plot, trace: Trace) -> None:
    style = line_style(trace, plot)
    values = trace.y / plot.y.divisor
    values = np.where(values > 0, values, np.nan) if plot.y.log else values
    if trace.low is not None and trace.high is not None:
        bars = np.abs(np.array([trace.y - trace.low, trace.high - trace.y])) / plot.y.divisor
        paint = style["color"]
        axes.errorbar(trace.x, values, bars, fmt="none", ecolor=paint, elinewidth=0.9, capsize=2.5)
    if trace.shape in STEPS:
        style["drawstyle"] = STEPS[trace.shape]
    if plot.over_time and trace.shape == "points":
        style |= DOTS | {"markersize": 2}
    if not plot.over_time and trace.shape == "points" and trace.role in THEORETICAL:
        half = 0.3 / max(1, len(plot.x.ticks))
        axes.hlines(
            values, trace.x - half, trace.x + half, color=style["color"], linestyle=style["linestyle"]
        )
        return
    axes.plot(trace.x, values, label=plain(trace.label), **style)

"""A run on paper: all its panels under one another with one time axis."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from rushhour.quantities.words import quantity
from rushhour.report.figure.over_run import figures
from rushhour.report.figure.paper import levels
from rushhour.report.figure.paper.axes import facet_on
from rushhour.report.figure.paper.style import STYLE, TONES, encoded, line_style
from rushhour.report.figure.paper.words import (
    CAPTION,
    TITLE,
    as_drawn,
    broken,
    caption_lines,
    high,
    joined,
    legend,
    lines_of,
    named,
    put_caption,
    put_title,
    rows_of,
    title_lines,
    widest,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from rushhour.report.figure.description import Plot, Reference
    from rushhour.report.figure.paper.levels import Box
    from rushhour.report.figure.paper.words import Named
    from rushhour.report.model import RunView

_WIDTH = 7.2
"""Width in inches: two columns of a paper."""
_HEIGHT = 1.6
"""Height in inches of the axes of a panel."""
_AXIS, _LANE = 8.0, 7.5
"""Sizes in points of the words of a y axis, and of a row of events."""
_LANES = 1.25
"""Width in inches that the words of a row of events have at most."""
_LEFT, _RIGHT = 0.9, 0.65
"""Width in inches that the numbers and words of an axis and of a second one take."""
_BETWEEN = 0.15
"""Inches between two panels."""


def draw(view: RunView, form: str, boxes: set[str] | None = None) -> bytes:
    """All panels of a run under one another with one time axis, as the bytes of a `png`, `svg` or `pdf`.

    Letters without a font are added to `boxes`.
    """
    plots = figures(view)
    with mpl.rc_context(STYLE):
        room = _Room.of(plots)
        title = f"{view.title}: {view.label}" if view.label != view.title else view.title
        above = title_lines(title if view.valid else f"INVALID RUN. {title}", _WIDTH)
        conditions = [*view.conditions, view.kernel, f"{view.lab} lab", f"seed {view.seed}"]
        below = caption_lines(" · ".join(conditions), _WIDTH)
        heights = [_height(plot) for plot in plots]
        words = high(len(above), TITLE) + high(len(below), CAPTION) + sum(map(rows_of, room.legends))
        height = 0.45 + words + sum(heights) + _BETWEEN * len(plots)
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        grid = figure.subplots(len(plots), 1, sharex=True, squeeze=False, height_ratios=heights)
        for axes, plot, columns, placed in zip(grid[:, 0], plots, room.legends, room.boxes, strict=True):
            _panel(axes, plot, columns)
            levels.draw(axes, plot, placed)
        grid[-1, 0].set_xlabel("time, s")
        grid[-1, 0].set_xlim(0, view.duration_s)
        put_title(figure, above, "black" if view.valid else TONES["bad"])
        put_caption(figure, below)
        return encoded(figure, form, boxes)


@dataclass(frozen=True)
class _Room:
    """What each panel has beside its traces: legends in columns, and where the words of its levels stand."""

    legends: list[list[list[Named]]]
    boxes: list[dict[Reference, Box]]

    @classmethod
    def of(cls, plots: Sequence[Plot]) -> _Room:
        """A legend has what no panel above has, called the same and drawn alike, and levels without room."""
        lanes = widest(chain(*(_rows(plot) for plot in plots if plot.lanes)), _LANE)
        right = _RIGHT if any(plot.second for plot in plots) else 0.0
        width = _WIDTH - max(_LEFT, lanes) - right - _BETWEEN
        known: list[tuple[str, dict[str, Any]]] = []
        legends, boxes = [], []
        for plot in plots:
            placed = levels.places(plot, width, _HEIGHT)
            looks = {one: (one.label, line_style(one, plot)) for one in plot.entries if not plot.lanes}
            fresh = [named(one, plot) for one, look in looks.items() if look not in known]
            known += looks.values()
            legends.append(legend([*fresh, *levels.unsaid(plot, placed)], width))
            boxes.append(placed)
        return cls(legends, boxes)


def _rows(plot: Plot) -> list[list[str]]:
    """What stands beside each row of events, in lines."""
    said = (f"{one.label}: {quantity(float(np.sum(one.y)), 'count')}" for one in plot.facets[0].traces)
    return [lines_of(words, _LANES, _LANE) for words in said]


def _height(plot: Plot) -> float:
    """Height in inches of the axes of a panel."""
    return sum(max(0.25, high(len(lines), _LANE) + 0.05) for lines in _rows(plot)) if plot.lanes else _HEIGHT


def _panel(axes: Axes, plot: Plot, columns: list[list[Named]]) -> None:
    """One panel of a run: its title beside the axis, above it what its lines are."""
    if plot.lanes:
        _lanes(axes, plot)
        return
    facet_on(axes, plot, plot.facets[0], _WIDTH)
    title = broken(f"{plot.title}," if plot.y.unit else plot.title, _HEIGHT, _AXIS)
    axes.set_ylabel(f"{title}\n{plot.y.unit}" if plot.y.unit else title, fontsize=_AXIS)
    if plot.second is not None:
        second = plot.second
        times = second.factor * plot.y.divisor / second.divisor
        ways = (lambda y: np.asarray(y, float) * times, lambda y: np.asarray(y, float) / times)
        right = axes.secondary_yaxis("right", functions=ways)
        right.set_ylabel(broken(f"{second.unit} {second.title}", _HEIGHT, _LANE), fontsize=_LANE)
        right.tick_params(length=0)
    if columns:
        above: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 0.98), "borderaxespad": 0}
        axes.legend(**above, **as_drawn(columns))


def _lanes(axes: Axes, plot: Plot) -> None:
    """A row for each trace: a tick at each instant with events, as high as they are many."""
    for place, trace in enumerate(plot.facets[0].traces):
        share = trace.y / np.max(trace.y) if len(trace.y) else trace.y
        floor = -place - 0.4
        paint = line_style(trace, plot)["color"]
        axes.vlines(trace.x, floor, floor + 0.2 + 0.6 * share, color=paint, linewidth=0.9)
    names = [joined(lines) for lines in _rows(plot)]
    axes.set_yticks([-place for place in range(len(names))], names, fontsize=_LANE)
    axes.set_ylim(-len(names) + 0.5, 0.5)
    axes.grid(visible=False, axis="y")

"""Traces on paper: panels beside and below one another, one legend above them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure

from rushhour.report.figure.paper.axes import facet_on, panels_of
from rushhour.report.figure.paper.style import STYLE, encoded
from rushhour.report.figure.paper.words import (
    AXIS,
    CAPTION,
    PANEL,
    TITLE,
    Named,
    as_drawn,
    below,
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
)

if TYPE_CHECKING:
    from rushhour.report.figure.description import Plot

_ALONE, _WIDTH = 4.8, 7.2
"""Width in inches of a figure of one panel, and of several: two columns of a paper."""
_BESIDE = 0.55
"""Width in inches of the numbers beside a panel."""
_BELOW = 0.4
"""Height in inches of the numbers and words below panels."""


def draw(drawing: Plot, form: str, boxes: set[str] | None = None) -> bytes:
    """A figure as the bytes of a `png`, `svg` or `pdf`; letters without a font are added to `boxes`."""
    with mpl.rc_context(STYLE):
        many = len(drawing.facets)
        across = min(3 if many == 3 or many > 4 else 2, many)
        down = -(-many // across)
        width, panel = (_ALONE, 2.6) if across == 1 else (_WIDTH, 1.9)
        columns = legend([named(one, drawing) for one in drawing.entries], width, drawing.legend)
        title, caption = title_lines(drawing.title, width), caption_lines(below(drawing), width)
        axis = lines_of(drawing.y.label, panel * down - _BELOW, AXIS)
        room = (width - high(len(axis), AXIS)) / across - _BESIDE
        titles = max(len(lines_of(facet.title, room, PANEL)) for facet in drawing.facets)
        panel += high(max(0, titles - 1), PANEL)
        words = high(len(title), TITLE) + rows_of(columns) + high(len(caption), CAPTION)
        figure = Figure(figsize=(width, 0.45 + words + panel * down), layout="constrained")
        along = broken(drawing.x.label, room, AXIS)
        grid = panels_of(figure, many, across, along, same=drawing.same)
        for axes, facet in zip(grid, drawing.facets, strict=True):
            facet_on(axes, drawing, facet, room)
        if columns:
            _legend(figure, title, columns)
        else:
            put_title(figure, title)
        # Of one row of panels the first says what the y axis is, of several the figure says it once.
        if down == 1:
            figure.axes[0].set_ylabel(joined(axis))
        else:
            figure.supylabel(joined(axis), fontsize=AXIS)
        put_caption(figure, caption)
        return encoded(figure, form, boxes)


def _legend(figure: Figure, title: list[str], columns: list[list[Named]]) -> None:
    """The legend, with the figure's title as its own: that way neither covers the other."""
    bold = {"size": TITLE, "weight": "bold"}
    above: dict[str, Any] = {"loc": "outside upper left", "borderaxespad": 0.2}
    figure.legend(title=joined(title), title_fontproperties=bold, **above, **as_drawn(columns))

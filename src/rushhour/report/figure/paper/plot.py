"""Traces on paper: panels beside and below one another, one legend above them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure

from rushhour.report.figure.paper.axes import facet_on
from rushhour.report.figure.paper.style import STYLE, encoded, plain
from rushhour.report.figure.paper.words import (
    CAPTION,
    LEGEND,
    PANEL,
    TITLE,
    Named,
    broken,
    caption_lines,
    high,
    legend,
    lines_of,
    named,
    put_caption,
    put_title,
    rows_of,
    title_lines,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rushhour.report.figure.description import Plot

_ALONE, _WIDTH = 4.8, 7.2
"""Width in inches of a figure of one panel, and of several: two columns of a paper."""
_BESIDE = 0.55
"""Width in inches of the numbers beside a panel."""
_BELOW = 0.4
"""Height in inches of the numbers and words below panels."""
_AXIS = 9.0
"""Size in points of what axes are called."""


def draw(drawing: Plot, form: str, boxes: set[str] | None = None) -> bytes:
    """A figure as the bytes of a `png`, `svg` or `pdf`; letters without a font are added to `boxes`."""
    with mpl.rc_context(STYLE):
        many = len(drawing.facets)
        across = min(3 if many == 3 or many > 4 else 2, many)
        down = -(-many // across)
        width, panel = (_ALONE, 2.6) if across == 1 else (_WIDTH, 1.9)
        columns = legend([named(one, drawing) for one in drawing.entries], width, drawing.legend)
        title, caption = title_lines(drawing.title, width), caption_lines(_below(drawing), width)
        axis = lines_of(drawing.y.label, panel * down - _BELOW, _AXIS)
        room = (width - high(len(axis), _AXIS)) / across - _BESIDE
        titles = max(len(lines_of(facet.title, room, PANEL)) for facet in drawing.facets)
        panel += high(max(0, titles - 1), PANEL)
        words = high(len(title), TITLE) + rows_of(columns) + high(len(caption), CAPTION)
        figure = Figure(figsize=(width, 0.45 + words + panel * down), layout="constrained")
        grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=drawing.same)
        for place, axes in enumerate(grid.flat):
            axes.set_visible(place < many)
            if place < many:
                facet_on(axes, drawing, drawing.facets[place], room)
                # The last of each column has the words of the axis.
                last = place + across >= many
                axes.tick_params(labelbottom=last)
                axes.set_xlabel(broken(drawing.x.label, room, _AXIS) if last else "")
        if columns:
            _legend(figure, title, columns)
        else:
            put_title(figure, title)
        _beside(figure, grid[0, 0], plain("\n".join(axis)), down)
        put_caption(figure, caption)
        return encoded(figure, form, boxes)


def _below(drawing: Plot) -> str:
    """What a reader must know."""
    said = [drawing.caption, *drawing.notes, f"After {drawing.source}." if drawing.source else ""]
    return " ".join(part.strip() for part in said if part)


def _beside(figure: Figure, first: Axes, said: str, down: int) -> None:
    """The words of the y axis: of one row of panels at its first, of several once for all."""
    if down == 1:
        first.set_ylabel(said)
    else:
        figure.supylabel(said, fontsize=_AXIS)


def _legend(figure: Figure, title: list[str], columns: list[list[Named]]) -> None:
    """The legend, with the figure's title as its own: that way neither covers the other."""
    handles, names = zip(*(one for column in columns for one in column), strict=True)
    figure.legend(
        handles, names, loc="outside upper left", ncols=len(columns), borderaxespad=0.2,
        title=plain("\n".join(title)), title_fontproperties={"size": TITLE, "weight": "bold"}, **LEGEND,
    )  # fmt: skip

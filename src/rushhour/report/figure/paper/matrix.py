"""A matrix on paper: a metric as colour and number over two factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from rushhour.report.figure.paper.axes import panels_of
from rushhour.report.figure.paper.style import STYLE, encoded
from rushhour.report.figure.paper.words import (
    AXIS,
    CAPTION,
    PANEL,
    TITLE,
    below,
    broken,
    caption_lines,
    high,
    joined,
    lines_of,
    put_caption,
    put_title,
    title_lines,
    widest,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rushhour.report.figure.description import Matrix, MatrixPanel

_LEAST, _WIDEST = 4.2, 11.0
"""Width in inches that a figure has at least, and up to which panels stand beside one another."""
_FIELD = (0.62, 0.36)
"""Width and height in inches that a field has at least."""
_NUMBERS = 7.5
"""Size in points of the numbers in the fields."""
_BETWEEN = 0.12
"""Inches between two words beside one another."""


def draw(drawing: Matrix, form: str, boxes: set[str] | None = None) -> bytes:
    """A matrix as the bytes of a `png`, `svg` or `pdf`; letters without a font are added to `boxes`."""
    with mpl.rc_context({**STYLE, "axes.grid": False}):
        room = _Room.of(drawing)
        title = title_lines(drawing.title, room.width)
        unit = f", {drawing.scale.unit}" if drawing.scale.unit else ""
        caption = caption_lines(below(drawing, f"Fields: {drawing.quantity}{unit}."), room.width)
        height = 0.45 + room.height + high(len(title), TITLE) + high(len(caption), CAPTION)
        figure = Figure(figsize=(room.width, height), layout="constrained")
        along = broken(drawing.across, room.panel, AXIS)
        grid = panels_of(figure, len(drawing.panels), room.across, along, same=True)
        for axes, panel in zip(grid, drawing.panels, strict=True):
            _panel(axes, panel, room)
        put_title(figure, title)
        figure.supylabel(broken(drawing.down, room.height, AXIS), fontsize=AXIS)
        put_caption(figure, caption)
        return encoded(figure, form, boxes)


@dataclass(frozen=True)
class _Room:
    """How the panels of a matrix are laid out: all sizes in inches, `panel` is the width of a panel's fields.

    `columns` and `names` are the levels along the axes, broken into lines.
    """

    columns: list[list[str]]
    names: list[list[str]]
    across: int
    panel: float
    width: float
    height: float

    @classmethod
    def of(cls, drawing: Matrix) -> _Room:
        columns = [lines_of(level, 1.0, AXIS) for level in drawing.columns]
        names = [lines_of(level, 1.6, AXIS) for level in drawing.names]
        numbers = [field.text for panel in drawing.panels for row in panel.rows for field in row if field]
        field = max(_FIELD[0], _BETWEEN + max(widest(columns, AXIS), widest([numbers], _NUMBERS)))
        beside, panel = 0.6 + widest(names, AXIS), field * len(columns)
        many = len(drawing.panels)
        across = max(1, min(3, many, int((_WIDEST - beside) // (panel + _BETWEEN))))
        down = -(-many // across)
        width = max(_LEAST, beside + (panel + _BETWEEN) * across)
        titles = max(len(lines_of(one.title, panel, PANEL)) for one in drawing.panels)
        rows = sum(max(_FIELD[1], high(len(lines), AXIS) + 0.06) for lines in names)
        below = high(max(len(lines) for lines in columns), AXIS)
        return cls(columns, names, across, panel, width, below + (rows + 0.15 + high(titles, PANEL)) * down)


def _panel(axes: Axes, panel: MatrixPanel, room: _Room) -> None:
    shades = [
        [np.nan if field is None or field.shade is None else field.shade for field in row]
        for row in panel.rows
    ]
    axes.imshow(np.array(shades, float), cmap="Blues", vmin=-1, vmax=10, aspect="auto")
    for y, row in enumerate(panel.rows):
        for x, field in enumerate(row):
            if field is not None:
                dark = field.shade is not None and field.shade >= 6
                paint = "white" if dark else "black"
                axes.text(x, y, field.text, ha="center", va="center", fontsize=_NUMBERS, color=paint)
    axes.set_xticks(range(len(room.columns)), [joined(lines) for lines in room.columns])
    axes.set_yticks(range(len(room.names)), [joined(lines) for lines in room.names])
    axes.set_title(broken(panel.title, room.panel, PANEL), fontsize=PANEL, loc="left")
    axes.tick_params(length=0)

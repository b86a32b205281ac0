"""A matrix on paper: a metric as colour and number over two factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from rushhour.report.figure.paper.style import STYLE, encoded, plain
from rushhour.report.figure.paper.words import (
    CAPTION,
    PANEL,
    TITLE,
    broken,
    caption_lines,
    high,
    inches,
    lines_of,
    put_caption,
    put_title,
    title_lines,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes

    from rushhour.report.figure.description import Matrix, MatrixPanel

_LEAST, _WIDEST = 4.2, 11.0
"""Width in inches that a figure has at least, and up to which panels stand beside one another."""
_FIELD = (0.62, 0.36)
"""Width and height in inches that a field has at least."""
_LEVELS, _NUMBERS = 9.0, 7.5
"""Sizes in points of the levels along the axes and of the numbers in the fields."""
_BETWEEN = 0.12
"""Inches between two words beside one another."""


def draw(drawing: Matrix, form: str, boxes: set[str] | None = None) -> bytes:
    """A matrix as the bytes of a `png`, `svg` or `pdf`; letters without a font are added to `boxes`."""
    with mpl.rc_context({**STYLE, "axes.grid": False}):
        room = _Room.of(drawing)
        title = title_lines(drawing.title, room.width)
        caption = caption_lines(_below(drawing), room.width)
        height = 0.45 + room.height + high(len(title), TITLE) + high(len(caption), CAPTION)
        figure = Figure(figsize=(room.width, height), layout="constrained")
        grid = figure.subplots(room.down, room.across, squeeze=False, sharex=True, sharey=True)
        for place, axes in enumerate(grid.flat):
            axes.set_visible(place < len(drawing.panels))
            if place < len(drawing.panels):
                _panel(axes, drawing.panels[place], room)
                last = place + room.across >= len(drawing.panels)
                axes.tick_params(labelbottom=last)
                axes.set_xlabel(broken(drawing.across, room.panel, _LEVELS) if last else "")
        put_title(figure, title)
        figure.supylabel(broken(drawing.down, room.height, _LEVELS), fontsize=_LEVELS)
        put_caption(figure, caption)
        return encoded(figure, form, boxes)


def _below(drawing: Matrix) -> str:
    """What a reader must know."""
    unit = f", {drawing.scale.unit}" if drawing.scale.unit else ""
    source = f"After {drawing.source}." if drawing.source else ""
    said = [f"Fields: {drawing.quantity}{unit}.", drawing.caption, *drawing.notes, source]
    return " ".join(part.strip() for part in said if part)


@dataclass(frozen=True)
class _Room:
    """How the panels of a matrix are laid out: all sizes in inches, `panel` is the width of a panel's fields.

    `columns` and `names` are the levels along the axes, broken into lines.
    """

    columns: list[list[str]]
    names: list[list[str]]
    across: int
    down: int
    panel: float
    width: float
    height: float

    @classmethod
    def of(cls, drawing: Matrix) -> _Room:
        columns = [lines_of(level, 1.0, _LEVELS) for level in drawing.columns]
        names = [lines_of(level, 1.6, _LEVELS) for level in drawing.names]
        numbers = [field.text for panel in drawing.panels for row in panel.rows for field in row if field]
        field = max(_FIELD[0], _BETWEEN + max(_widest(columns), _widest([numbers], _NUMBERS)))
        beside, panel = 0.6 + _widest(names), field * len(columns)
        many = len(drawing.panels)
        across = max(1, min(3, many, int((_WIDEST - beside) // (panel + _BETWEEN))))
        down = -(-many // across)
        width = max(_LEAST, beside + (panel + _BETWEEN) * across)
        titles = max(len(lines_of(one.title, panel, PANEL)) for one in drawing.panels)
        rows = sum(max(_FIELD[1], high(len(lines), _LEVELS) + 0.06) for lines in names)
        below = high(max(len(lines) for lines in columns), _LEVELS)
        return cls(
            columns, names, across, down, panel, width, below + (rows + 0.15 + high(titles, PANEL)) * down
        )


def _widest(words: Iterable[list[str]], size: float = _LEVELS) -> float:
    return max((inches(line, size) for lines in words for line in lines), default=0.0)


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
    axes.set_xticks(range(len(room.columns)), [plain("\n".join(lines)) for lines in room.columns])
    axes.set_yticks(range(len(room.names)), [plain("\n".join(lines)) for lines in room.names])
    axes.set_title(broken(panel.title, room.panel, PANEL), fontsize=PANEL, loc="left")
    axes.tick_params(length=0)

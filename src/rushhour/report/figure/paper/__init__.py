"""Figures for papers: PNG, SVG and PDF by matplotlib, text as text, the same bytes for the same records.

plot    traces in panels     matrix   a metric over two factors     run   all panels of a run
axes    what stands on one pair of axes                levels   what the traces of a run are held against
words   titles, captions and legends that find room    fonts    letters that the font of figures lacks
style   colours, dashes, files without a date
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.report.figure.description import Matrix
from rushhour.report.figure.paper import matrix, plot
from rushhour.report.figure.paper.run import draw as draw_run

if TYPE_CHECKING:
    from rushhour.report.figure.description import Drawing

__all__ = ["draw", "draw_run"]


def draw(drawing: Drawing, form: str, boxes: set[str] | None = None) -> bytes:
    """A figure as the bytes of a `png`, `svg` or `pdf`; letters without a font are added to `boxes`."""
    if isinstance(drawing, Matrix):
        return matrix.draw(drawing, form, boxes)
    return plot.draw(drawing, form, boxes)

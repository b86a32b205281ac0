"""Renders a history: terminal, drawing, page."""

from rushhour.report.history.html import write
from rushhour.report.history.svg import chart, drawing
from rushhour.report.history.terminal import show

__all__ = ["chart", "drawing", "show", "write"]

"""Renders a history: terminal, figure, page."""

from rushhour.report.history.html import chart, drawing, write
from rushhour.report.history.terminal import show

__all__ = ["chart", "drawing", "show", "write"]

"""Tables of the terminal: columns without lines, in which no word is cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

if TYPE_CHECKING:
    from rich.console import RenderableType

HEADING = 16
"""Letters that the heading of a column of numbers has at most in a line."""


class Grid(Table):
    """Columns two blanks apart, with dim headings; a word that is wider than its column goes on below.

    rich would end it with an ellipsis: of two names that begin alike nobody would know which is meant.
    """

    def __init__(self, *, show_header: bool = True, header_style: str = "dim") -> None:
        super().__init__(
            box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=show_header, header_style=header_style
        )

    def add_column(self, header: RenderableType = "", **options: Any) -> None:  # type: ignore[override]
        """Add a column, as of rich."""
        super().add_column(header, **{"overflow": "fold", **options})

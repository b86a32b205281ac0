"""Where results are printed: a terminal gets its width and colours, a program whole lines and plain text."""

from __future__ import annotations

import os
import sys
from typing import IO, TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from rich.console import Console

WHOLE = 2000
"""Columns of a pipe: nothing is broken or left out for want of room."""


def printer(**options: Any) -> Console:
    """The console of standard output; `options` are those of `rich.console.Console`.

    Where a program reads, a row of a table is one line, however long, and no line ends in spaces. `COLUMNS`
    gives the width to both.
    """
    from rich.console import Console

    console = Console(**options)
    if console.is_terminal:
        return console
    width = console.width if os.environ.get("COLUMNS") else WHOLE
    return Console(file=cast("IO[str]", _Trimmed()), width=width, color_system=None, **options)


class _Trimmed:
    """Standard output without the spaces at the ends of lines."""

    def write(self, text: str) -> int:
        sys.stdout.write("\n".join(line.rstrip(" ") for line in text.split("\n")))
        return len(text)

    def flush(self) -> None:
        sys.stdout.flush()

    def isatty(self) -> bool:
        return False

    @property
    def encoding(self) -> str:
        return sys.stdout.encoding

    def fileno(self) -> int:
        return sys.stdout.fileno()

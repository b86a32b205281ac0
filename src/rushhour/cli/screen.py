"""Where results are printed: a terminal gets its width and colours, a program whole lines and plain text."""

from __future__ import annotations

import json
import os
import re
import sys
from functools import cache
from typing import IO, TYPE_CHECKING, Any, Literal, cast

import click

from rushhour.plain import harmless

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from rich.console import Console
    from rich.text import Text

WHOLE = 2000
"""Columns of a pipe: nothing is broken or left out for want of room."""


def echo(text: object = "", *, nl: bool = True, err: bool = False) -> None:
    """Print a text, without the control characters that a terminal would obey; it has no colours.

    All that commands say without a table goes through here: names of files, words of strangers.
    """
    click.echo(harmless(str(text)), nl=nl, err=err)


def tell_json(document: object) -> None:
    """Print JSON values for a program to read."""
    echo(json.dumps(document, indent=1, ensure_ascii=False))


def console(**options: Any) -> Console:
    """A console of rich's that makes every text harmless; `options` are those of `rich.console.Console`."""
    return _harmless_console()(**options)


@cache
def _harmless_console() -> type[Console]:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class Harmless(Console):
        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for one in super().render(renderable, options):
                # Those that move the cursor are rich's own.
                yield one if one.control else Segment(harmless(one.text), one.style)

    return Harmless


def printer(**options: Any) -> Console:
    """The console of standard output; `options` are those of `rich.console.Console`.

    Where a program reads, a row of a table is one line, however long, and no line ends in spaces. `COLUMNS`
    gives the width to both.
    """
    made = console(**options)
    if made.is_terminal:
        return made
    width = made.width if os.environ.get("COLUMNS") else WHOLE  # noqa: TID251 - of the screen
    return console(file=cast("IO[str]", _Trimmed()), width=width, color_system=None, **options)


def say(console: Console, text: str | Text, style: str = "") -> None:
    """Print lines: on a terminal broken between words, where a program reads each is one line.

    A word that is longer than the terminal is wide, such as a path, stays whole, for it to be copied.
    """
    from rich.text import Text

    for line in (Text(text) if isinstance(text, str) else text).split("\n", allow_blank=True):
        lead = len(line.plain) - len(line.plain.lstrip(" "))
        broken = _breaks(line.plain, console.width, lead) if console.is_terminal else []
        for number, part in enumerate(line.divide(broken)):
            part.rstrip()
            shown = Text(" " * lead) + part if number else part
            console.print(shown, style=style, soft_wrap=True)


def _breaks(line: str, width: int, lead: int) -> list[int]:
    """Where the words begin that have to begin a line, if those but the first begin with `lead` spaces."""
    from rich.cells import cell_len

    found, column = [], 0
    for word in re.finditer(r"^\s+|\S+\s*", line):
        if column > lead and column + cell_len(word[0].rstrip()) > width:
            found.append(word.start())
            column = lead
        column += cell_len(word[0])
    return found


def print_table(
    screen: Console,
    headings: Sequence[str],
    rows: Sequence[Sequence[str | Text]],
    *,
    wordy: Collection[str] = (),
    right: Collection[str] = (),
) -> None:
    """Print rows under headings; where that is too wide, each row as a block of lines, `heading  value`.

    Nothing is broken within a word: names and numbers are compared, and copied into commands.

    Args:
        screen: Where to.
        headings: Of the columns; the first column says what a row is about.
        rows: Each of as many cells.
        wordy: Headings of columns whose cells may be broken between words.
        right: Headings of columns of numbers.
    """
    from rich.table import Table
    from rich.text import Text

    cells = [[Text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    columns = [[Text(heading), *(row[at] for row in cells)] for at, heading in enumerate(headings)]
    if (widths := _widths(columns, [heading in wordy for heading in headings], screen.width)) is not None:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for heading, width in zip(headings, widths, strict=True):
            side: Literal["left", "right"] = "right" if heading in right else "left"
            table.add_column(heading, justify=side, no_wrap=heading not in wordy, width=width)
        for row in cells:
            table.add_row(*row)
        screen.print(table)
        return
    width = max(map(len, headings[1:]), default=0)
    for about, *row in cells:
        say(screen, Text.assemble((about.plain, "bold")))
        for heading, cell in zip(headings[1:], row, strict=True):
            if cell.plain:
                say(screen, Text.assemble("  ", (f"{heading:<{width}}  ", "dim"), cell))


_BETWEEN = 2
"""Spaces between two columns."""


def _widths(columns: Sequence[Sequence[Text]], wordy: Sequence[bool], room: int) -> list[int] | None:
    """How wide columns are, where only cells of words are broken; None where they do not fit."""
    from rich.cells import cell_len

    widths = [max(cell_len(cell.plain) for cell in column) for column in columns]
    least = [
        max((cell_len(word) for cell in column for word in cell.plain.split()), default=0)
        if breaks
        else width
        for column, breaks, width in zip(columns, wordy, widths, strict=True)
    ]
    over = sum(widths) + _BETWEEN * (len(widths) - 1) - room
    while over > 0:
        at = max(range(len(widths)), key=lambda one: (widths[one] > least[one], widths[one]))
        if widths[at] <= least[at]:
            return None
        widths[at] -= 1
        over -= 1
    return widths


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

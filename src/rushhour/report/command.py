"""A command in the terminal: broken between its words so that it can still be copied and run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, ConsoleOptions

_WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|\\.|[^\s'"\\])+""")
"""A word of a shell, quotes and all."""


@dataclass(frozen=True)
class Command:
    """A label and a command; lines after the first stand under the command."""

    label: str
    command: str
    indent: int = 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Give the lines in the width that there is."""
        margin = " " * self.indent
        head = Text.assemble(margin, (self.label, "dim"))
        room = options.max_width - len(head)
        for place, line in enumerate(broken(self.command, room)):
            text = head.copy() if not place else Text(" " * len(head))
            yield text.append(line)


def broken(command: str, room: int) -> list[str]:
    r"""The command in lines of at most `room` letters where words allow it, all but the last with a `\`.

    An option and its value stay together.
    """
    lines: list[str] = []
    for part in _parts(_WORD.findall(command)):
        if lines and len(lines[-1]) + 1 + len(part) <= room - 2:
            lines[-1] += f" {part}"
        else:
            lines.append(part)
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]


def _parts(words: list[str]) -> list[str]:
    parts: list[str] = []
    for word in words:
        after = parts and parts[-1].startswith("--") and " " not in parts[-1] and not word.startswith("-")
        if after:
            parts[-1] += f" {word}"
        else:
            parts.append(word)
    return parts

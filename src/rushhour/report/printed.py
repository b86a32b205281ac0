"""Programs of a run in the terminal: how they came out, and the last lines of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.constrain import Constrain
from rich.text import Text

from rushhour.plain import one_line
from rushhour.quantities.words import plural
from rushhour.report.grid import Grid

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from rushhour.report.programs import ProgramLine

MAX_SAID = 8
"""Last lines of each program."""


def printed(programs: Sequence[ProgramLine], width: int) -> RenderableType:
    """A table of the programs, then what they said; nothing where there are none."""
    if not programs:
        return Group()
    rich = Grid(header_style="none")
    for head in ("program", "node", "ran", "end"):
        rich.add_column(Text(head, "dim"))
    for one in programs:
        rich.add_row(*map(Text, (one.name, one.node, one.when)), Text(one.end, "red" if one.fault else ""))
    said = [line for one in programs for line in _said(one)]
    return Constrain(Group(rich, Text(), *said, *([Text()] if said else [])), width)


def _said(one: ProgramLine) -> Iterator[Text]:
    last, before = one.last(MAX_SAID)
    if before:
        yield Text(f"{one.name}: the record has {plural(before, 'line')} before these", "dim")
    for when, stream, text in last:
        head = (f"{when:>9}  {one.name}  ", "dim")
        yield Text.assemble(head, (one_line(text), "dim" if stream == "err" else ""))
    if one.fault:
        yield Text(f"{one.name} {one.fault}", "red")

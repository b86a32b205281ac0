"""Programs of a run in words: where and when they ran, how they ended, what they printed."""

from __future__ import annotations

import shlex
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.quantities.words import quantity

if TYPE_CHECKING:
    from rushhour.record.output import Line
    from rushhour.record.record import Record
    from rushhour.record.result_file import ProgramResult

MOST_LINES = 500
"""Of one program in a report; all are in the record."""


@dataclass(frozen=True)
class ProgramLine:
    """One program. `said` are its last lines: time, stream, text; `left_out` how many more there are."""

    name: str
    node: str
    command: str
    when: str
    end: str
    fault: str
    said: tuple[tuple[str, str, str], ...]
    left_out: int

    def last(self, most: int) -> tuple[tuple[tuple[str, str, str], ...], int]:
        """At most so many of its last lines, and how many the record has before them."""
        said = self.said[-most:]
        return said, self.left_out + len(self.said) - len(said)


def program_lines(record: Record) -> tuple[ProgramLine, ...]:
    """The programs of a run, in the order of the scenario."""
    results = record.result.programs
    if not results:
        return ()
    printed: dict[int, list[Line]] = defaultdict(list)
    for line in record.output():
        printed[line.program].append(line)
    commands = {program.id: shlex.join(program.command) for program in record.plan.programs}
    return tuple(_line(one, commands.get(one.id, ""), printed[one.id]) for one in results)


def _line(one: ProgramResult, command: str, printed: list[Line]) -> ProgramLine:
    shown = printed[-MOST_LINES:]
    said = tuple((quantity(line.t_ns / 1e9, "s"), line.stream, line.text) for line in shown)
    left_out = max(one.lines, len(printed)) - len(shown)
    return ProgramLine(one.name, one.node, command, _when(one), _end(one), one.error or "", said, left_out)


def _when(one: ProgramResult) -> str:
    if one.started_ns is None:
        return "never began"
    begin = quantity(one.started_ns / 1e9, "s")
    return f"{begin} to {quantity(one.ended_ns / 1e9, 's')}" if one.ended_ns is not None else f"from {begin}"


def _end(one: ProgramResult) -> str:
    """How it ended, in a word or two."""
    if one.started_ns is None:
        return ""
    if one.stopped:
        return "stopped"
    return f"signal {one.signal}" if one.signal is not None else f"exit {one.exit}"

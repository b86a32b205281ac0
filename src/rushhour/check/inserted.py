"""Lines that come into a function: whether control came to their place before.

Of new lines no coverage of the base tells. But where a statement before or behind them, in the same block, is
executed by nobody, nobody comes to them: control that comes to the place goes on to the statement behind, and
came from the one before. Blocks are told by the kernel's style: by indentation, braces and labels.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rushhour.coverage.decoded import Function

# What begins with this is come to from elsewhere; and between statements of one block no brace is, either.
_JOINT = re.compile(r"\s*(?:\w+:|case\b|default\b|else\b|\}|#)")
_COMMENTED = re.compile(r"\s*(?:/\*|\*|//|$)")


@dataclass(frozen=True)
class Inserted:
    """Lines that come in where none goes: behind which line of the base, their numbers, their text."""

    after: int
    lines: tuple[int, ...]
    text: tuple[str, ...]

    @property
    def indent(self) -> str | None:
        """How far the first statement is indented; None if there is none."""
        return next((_indent(line) for line in self.text if not _COMMENTED.match(line)), None)


def inserted(old: Sequence[int], new: Sequence[int], text: str) -> tuple[Inserted, ...]:
    """The lines that come in without taking the place of others.

    Args:
        old: Lines (from 1) of the base that are gone.
        new: Lines of the new text that were not there.
        text: The new text.
    """
    gone, come, lines = {*old}, {*new}, text.split("\n")
    found: list[Inserted] = []
    last, run = 0, list[int]()  # the base's line that was passed last
    for number in range(1, max(come, default=0) + 2):
        if number in come:
            run.append(number)
            continue
        if run and last + 1 not in gone:
            found.append(Inserted(last, tuple(run), tuple(lines[at - 1] for at in run)))
        run = []
        last += 1
        while last in gone:
            last += 1
    return tuple(found)


def is_unreached(
    one: Inserted, base: Sequence[str], code: Sequence[int], functions: Sequence[Function],
    executed: Callable[[int], bool],
) -> bool:  # fmt: skip
    """Whether no control comes to inserted lines, as far as their neighbours tell for certain.

    Args:
        one: The lines.
        base: The lines of the base, the first at 0.
        code: Those (from 1) that have code, in order.
        functions: The base's.
        executed: Whether anybody executes a line.
    """
    around = next((f for f in functions if f.first <= one.after < f.last), None)
    if around is None or one.indent is None:
        return False
    before = max((at for at in code if around.first < at <= one.after), default=0)
    behind = min((at for at in code if one.after < at < around.last), default=0)
    spans = {before: base[before : one.after], behind: base[one.after : behind - 1]}
    return any(
        at and not executed(at) and _indent(base[at - 1]) == one.indent and not any(map(_parts, span))
        for at, span in spans.items()
        if at != behind or not _JOINT.match(base[at - 1])
    )


def _parts(line: str) -> bool:
    return _JOINT.match(line) is not None or "{" in line or "}" in line


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]

"""The rows around a divergence as a diff: what both sides have once, what differs for either side."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rushhour.record.verdict_file import DivergenceFile

    Row = Mapping[str, Any]
    Sides = Mapping[str, Sequence[Row]]

_LEADING = ("t_ns", "event")
_LEAD = 2
_INFINITE = 0x7FFFFFFF
_MICROSECONDS = frozenset(
    [
        "srtt",
        "rtt",
        "rttvar",
        "min_rtt",
        "rcv_rtt",
        "rto",
        "ato",
        "busy_time",
        "rwnd_limited",
        "sndbuf_limited",
    ]
)
"""Columns of tcp_probe and tcp_info that are times."""


@dataclass(frozen=True)
class Line:
    """A row of both sides (` `), the base (`-`) or the candidate (`+`): values, and which differ."""

    sign: Literal[" ", "-", "+"]
    texts: Sequence[str]
    differs: Sequence[bool]


@dataclass(frozen=True)
class Rows:
    """Titles of the columns, the lines up to the divergence, the lines from there on."""

    titles: Sequence[str]
    before: Sequence[Line]
    after: Sequence[Line]

    def text(self, before: int = 8, after: int = 10, room: int | None = None) -> str:
        """The last lines before and the first after, in columns of equal width, for a code block.

        With `room` no line is longer, as far as two columns go: what does not fit beside the first two stands
        below, behind the same two.
        """
        start = max(0, len(self.before) - before)
        # A candidate's line keeps the base's before it.
        while start and self.before[start : start + 1] and self.before[start].sign == "+":
            start -= 1
        every = [*self.before[start:], *self.after[:after]]
        columns = list(zip(self.titles, *(line.texts for line in every), strict=True))
        signs = ["  ", *(f"{line.sign} " for line in every)]
        return "\n".join(_block(signs, [columns[place] for place in part]) for part in _parts(columns, room))


def _parts(columns: Sequence[Sequence[str]], room: int | None) -> list[list[int]]:
    """Positions of columns that stand beside each other, the leading ones in every part."""
    widths = [2 + max(map(len, column)) for column in columns]
    leading = list(range(min(_LEAD, len(columns))))
    parts = [list(leading)]
    for place in range(len(leading), len(columns)):
        full = room is not None and sum(widths[one] for one in (*parts[-1], place)) > room
        if full and len(parts[-1]) > len(leading):
            parts.append(list(leading))
        parts[-1].append(place)
    return parts


def _block(signs: Sequence[str], columns: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in columns]
    rows = zip(signs, zip(*columns, strict=True), strict=True)
    padded = (
        sign + "  ".join(text.rjust(width) for text, width in zip(texts, widths, strict=True))
        for sign, texts in rows
    )
    return "\n".join(line.rstrip() for line in padded)


def rows(divergence: DivergenceFile | None) -> Rows | None:
    """The rows of a divergence's document; None where it has none."""
    if divergence is None:
        return None
    before, after = divergence.before, divergence.after
    every = [row for part in (before, after) for side in part.values() for row in side]
    if not every:
        return None
    names = dict.fromkeys(name for row in every for name in row)
    columns = [name for name in _LEADING if name in names] + [name for name in names if name not in _LEADING]
    titles = [_title(name) for name in columns]
    # What came before ends at one event, what follows begins at one.
    return Rows(titles, list(_lines(columns, before, from_end=True)), list(_lines(columns, after)))


def _lines(columns: Sequence[str], sides: Sides, *, from_end: bool = False) -> Iterator[Line]:
    both = [list(sides.get(side) or []) for side in ("base", "candidate")]
    if all("event" in row for rows in both for row in rows):
        pairs = _paired(*both)
    else:
        step = -1 if from_end else 1
        pairs = list(zip_longest(both[0][::step], both[1][::step]))[::step]
    for base, candidate in pairs:
        mine, theirs = ([_said(name, row or {}) for name in columns] for row in (base, candidate))
        if base and candidate and mine == theirs:
            yield Line(" ", mine, [False] * len(mine))
            continue
        differs = [one != other for one, other in zip(mine, theirs, strict=True)]
        if base:
            yield Line("-", mine, differs)
        if candidate:
            yield Line("+", theirs, differs)


def _paired(base: list[Row], candidate: list[Row]) -> list[tuple[Row | None, Row | None]]:
    """Rows of the same event side by side."""
    mine, theirs = ([str(row["event"]) for row in rows] for rows in (base, candidate))
    pairs: list[tuple[Row | None, Row | None]] = []
    for kind, start, stop, first, last in SequenceMatcher(a=mine, b=theirs, autojunk=False).get_opcodes():
        if kind == "equal":
            pairs += zip(base[start:stop], candidate[first:last], strict=True)
        else:
            pairs += [(row, None) for row in base[start:stop]]
            pairs += [(None, row) for row in candidate[first:last]]
    return pairs


def _title(name: str) -> str:
    """A column by the kernel's name for it, with its unit where it is a time."""
    if name == "t_ns":
        return "s"
    if name.endswith("_ns"):
        return f"{name.removesuffix('_ns')} s"
    return f"{name} µs" if name in _MICROSECONDS else name


def _said(name: str, row: Row) -> str:
    value = row.get(name)
    if value is None:
        return ""
    if name.endswith("_ns"):
        return f"{value / 1e9:.9f}" if value >= 0 else "never"
    return "unset" if name == "ssthresh" and value == _INFINITE else str(value)

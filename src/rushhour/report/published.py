"""Published beside measured, ready to be shown: texts, and where a dot lies on its scale.

Takes comparisons, gives sheets: one for each published table and kernel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.quantities.measures import convert
from rushhour.quantities.words import NONE, singular
from rushhour.report.figure.published import KINDS
from rushhour.report.model import said

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rushhour.spec import Published
    from rushhour.summary.comparison import Compared, Comparison

REACH = 3.0
"""How many tolerances the scale of a dot reaches to either side; what lies beyond is drawn at its end."""
BOUNDS = ("below", "above")
_READ = {"table": "", "text": "stated in the text", "figure": "read off the figure by eye"}


@dataclass(frozen=True)
class Line:
    """One published number: its cells, the numbers in words, the place of its dot from -1 to 1, or None."""

    head: tuple[str, ...]
    published: str
    measured: str
    difference: str
    place: float | None
    beyond: bool
    agrees: bool | None
    note: str


@dataclass(frozen=True)
class Sheet:
    """One published table: where it stands, what it is about, its lines, how many agree, why not all do."""

    title: str
    source: str
    read: str
    about: str
    unit: str
    agrees: str
    heads: tuple[str, ...]
    lines: Sequence[Line]
    agreeing: int
    measured: int
    how: str
    cause: str
    guess: str

    @property
    def verdict(self) -> str:
        """How many numbers agree, in words."""
        if not self.measured:
            return "nothing of it was measured"
        left = len(self.lines) - self.measured
        more = f"; {left} not measured" if left else ""
        return f"{self.agreeing} of {self.measured} within {self.agrees}{more}"

    @property
    def notes(self) -> list[str]:
        """What stands below: what numbers were made of, the cause that was tried, the guess that was not."""
        return [
            *([f"How the document has it: {self.how}"] if self.how else []),
            *([f"Cause: {self.cause}"] if self.cause else []),
            *([f"A guess that nothing tried: {self.guess}"] if self.guess else []),
        ]


def sheets(comparisons: Iterable[Comparison]) -> list[Sheet]:
    """Make what is shown of comparisons; kernels are named where there are several."""
    found = list(comparisons)
    several = len({one.kernel for one in found}) > 1
    return [_sheet(one, several=several) for one in found]


def tally(found: Iterable[Sheet]) -> tuple[int, int]:
    """How many numbers agree, and of how many."""
    pairs = [(sheet.agreeing, sheet.measured) for sheet in found]
    return sum(agreeing for agreeing, _ in pairs), sum(measured for _, measured in pairs)


def _sheet(one: Comparison, *, several: bool) -> Sheet:
    table = one.table
    names = tuple(dict.fromkeys(key for row in one.rows for key in row.where))
    decimals = _decimals([row.measured.mean for row in one.rows])
    unit = "" if table.unit == "1" else table.unit
    return Sheet(
        title=table.title + (f", {one.kernel}" if several else ""),
        source=table.source,
        read=_READ[table.read],
        about=_about(table),
        unit=unit,
        agrees="the bound" if all(row.kind in BOUNDS for row in one.rows) else _tolerance(table),
        heads=tuple(short(name) for name in names),
        lines=[_line(row, table, names, decimals) for row in one.rows],
        agreeing=one.agreeing,
        measured=one.measured,
        how=_flat(table.how),
        cause=_flat(table.cause) + (f" Tried: {', '.join(table.tried)}." if table.tried else ""),
        guess=_flat(table.guess),
    )


def _flat(text: str) -> str:
    return " ".join(text.split())


def short(name: str) -> str:
    """A factor's name for a column: its last part, words instead of dashes in a label."""
    last = name.rpartition(".")[2]
    return last.replace("-", " ").replace("_", " ")


def _about(table: Published) -> str:
    scope = f" of {table.flow or table.scope}" if table.flow or table.scope else ""
    begin = "" if table.begin is None else f" from {table.begin}"
    to = "" if table.to is None else f" to {table.to}"
    return f"{table.metric}{scope}{begin}{to}"


def _tolerance(table: Published) -> str:
    agrees = table.agrees
    return f"{agrees.amount:g} %" if agrees.relative else singular(str(agrees))


def _line(row: Compared, table: Published, names: Sequence[str], decimals: int) -> Line:
    spread = "" if row.spread is None else f" ± {row.spread:.10g}"
    place, beyond = _place(row, table)
    return Line(
        head=tuple(said(row.where[name]) if name in row.where else "all" for name in names),
        published=KINDS[row.kind].format(f"{row.published:.10g}{spread}"),
        measured=NONE if row.measured.mean is None else f"{row.measured.mean:.{decimals}f}",
        difference=_difference(row, table, decimals),
        place=place,
        beyond=beyond,
        agrees=row.agrees,
        note=row.note,
    )


def _difference(row: Compared, table: Published, decimals: int) -> str:
    if row.difference is None:
        return NONE
    if table.agrees.relative and row.relative is not None:
        return f"{100 * row.relative:+.1f} %"
    if table.unit in ("1", "%"):
        return f"{convert(row.difference, table.unit, '%-point'):+.2f} %-points"
    return f"{row.difference:+.{decimals}f} {table.unit}"


def _place(row: Compared, table: Published) -> tuple[float | None, bool]:
    """Where the dot lies: the difference in tolerances over the reach of the scale; whether it is cut off."""
    if row.difference is None:
        return None, False
    if row.kind in BOUNDS:
        return (0.0, False) if row.agrees else (math.copysign(1.0, row.difference), True)
    allowed = max(table.agrees.around(row.published, table.unit), row.spread or 0.0)
    if not allowed:
        return (math.copysign(1.0, row.difference), True) if row.difference else (0.0, False)
    place = row.difference / allowed / REACH
    return min(1.0, max(-1.0, place)), abs(place) > 1


def _decimals(values: Iterable[float | None]) -> int:
    """Four significant figures of the greatest value."""
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    return min(4, max(0, 3 - math.floor(math.log10(largest)))) if largest > 0 else 2

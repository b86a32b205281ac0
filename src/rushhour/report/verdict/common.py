"""What cells have in common: those whose runs part in the same way are likely of one cause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rushhour.record.verdict_file import DivergenceFile, EarlierDifference
    from rushhour.report.verdict.cell import Cell

_KINDS = {
    "state": "a decision",
    "jump": "a jump in time",
    "window": "an offered window",
    "sent": "what had been sent",
    "end": "the number of events",
    "time": "instants",
}
LEAST = 2
"""Cells that make a group."""


@dataclass(frozen=True)
class Group:
    """Cells that part in the same way, the first as the example: what differs first there, in words."""

    what: str
    sentence: str
    cells: Sequence[Cell]


def groups(cells: Iterable[Cell]) -> list[Group]:
    """Groups of at least `LEAST` cells by the first difference that is more than a shift in time."""
    found: dict[tuple[str, ...], list[tuple[Cell, str]]] = {}
    for cell in cells:
        if cell.divergence is not None:
            first = _first(cell.divergence)
            table = first.table
            # What packets and queues did is of one cause in one scenario only.
            place = "" if table.startswith("tcp_") else cell.scenario
            key = (place, first.kind, table, *first.differs)
            found.setdefault(key, []).append((cell, first.sentence))
    made = [Group(_what(*key), those[0][1], [one for one, _ in those]) for key, those in found.items()]
    return sorted((one for one in made if len(one.cells) >= LEAST), key=lambda one: -len(one.cells))


def _first(divergence: DivergenceFile) -> EarlierDifference:
    earlier = [one for one in divergence.earlier if one.kind not in ("time", "sent")]
    return earlier[0] if earlier else divergence


def _what(place: str, kind: str, table: str, *columns: str) -> str:
    names = f": {' and '.join(columns)}" if columns else ""
    return f"{_KINDS.get(kind, kind)}{names} ({table}{', ' + place if place else ''})"

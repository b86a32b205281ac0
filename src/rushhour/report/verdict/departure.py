"""Departures: cells in which only metrics without a better side changed, which harms nobody.

In a document, in a database and for exit codes such a cell is `worse`; this is the word for people.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DEPARTS = "departs"


def departs(cell: Mapping[str, Any]) -> bool:
    """Whether a cell of a verdict's document departs; a broken expectation or a failed run is worse."""
    deciding = [one for one in cell.get("metrics") or [] if one.get("verdict") == "worse"]
    broken = any(one.get("base") and one.get("candidate") is False for one in cell.get("expectations") or [])
    runs = cell.get("runs") or {}
    failed = any(run.get("error") for side in ("base", "candidate") for run in runs.get(side) or [])
    mere = bool(deciding) and all(one.get("better") == "none" for one in deciding)
    return cell.get("verdict") == "worse" and mere and not broken and not failed


def told(verdict: str, counts: Mapping[str, int], departing: int) -> tuple[str, dict[str, int]]:
    """A verdict and its counts of cells as people are told them, `departing` of those counted worse.

    Those cells get a count of their own, next to that of the worse ones; a verdict without a worse cell left
    departs.
    """
    if not departing:
        return verdict, dict(counts)
    counts = counts if "worse" in counts else {"worse": 0, **counts}
    # The counts of a stranger's document need not add up.
    left = max(0, int(counts["worse"] or 0) - departing)
    split: dict[str, int] = {}
    for name, number in counts.items():
        split |= {"worse": left, DEPARTS: departing} if name == "worse" else {name: int(number)}
    return DEPARTS if verdict == "worse" and not left else verdict, split


def number_of(cells: Iterable[Mapping[str, Any]]) -> int:
    """How many cells of a verdict's document depart."""
    return sum(map(departs, cells))


def word(cell: Mapping[str, Any]) -> str:
    """The verdict of a cell in the word that people read."""
    return DEPARTS if departs(cell) else str(cell["verdict"])

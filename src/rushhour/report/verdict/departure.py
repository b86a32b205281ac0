"""Departures: cells in which only metrics without a better side changed, which harms nobody.

In a document, in a database and for exit codes such a cell is `worse`; this is the word for people.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.verdict.vocabulary import DEPARTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rushhour.record.verdict_file import ComparedCell


def departs(cell: ComparedCell) -> bool:
    """Whether a cell of a verdict's document departs; a broken expectation or a failed run is worse."""
    deciding = [one for one in cell.metrics if one.verdict == "worse"]
    failed = any(run.error for run in (*cell.runs.base, *cell.runs.candidate))
    mere = bool(deciding) and all(one.better == "none" for one in deciding)
    return cell.verdict == "worse" and mere and not cell.broken and not failed


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


def number_of(cells: Iterable[ComparedCell]) -> int:
    """How many cells of a verdict's document depart."""
    return sum(map(departs, cells))


def word(cell: ComparedCell) -> str:
    """The verdict of a cell in the word that people read."""
    return DEPARTS if departs(cell) else cell.verdict

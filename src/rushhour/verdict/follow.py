"""What follows a verdict: where the traces of the cells that changed begin to differ."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.errors import RushHourError
from rushhour.verdict.around import SIDES
from rushhour.verdict.divergence import first_divergence
from rushhour.verdict.vocabulary import ORDER

if TYPE_CHECKING:
    from collections.abc import Callable

    from rushhour.verdict.cell import CellVerdict
    from rushhour.verdict.judging import Verdict

# Traces of so many cells are laid beside each other, the worst first (a hundredth of a second each). Where
# metrics alone were kept, so many are made again for that.
_MOST, _MADE_AGAIN = 400, 8


def divergences(
    verdict: Verdict, names: tuple[str, str] = SIDES, tell: Callable[[str], None] = lambda _: None
) -> Verdict:
    """The verdict with the first divergence of each cell that changed, where both records are at hand.

    `names` is what the sides are called in its sentences; `tell` hears which cell is followed.
    """
    if not (verdict.base.virtual and verdict.candidate.virtual):
        return verdict
    chosen = _worst(verdict)[:_MOST]
    found: dict[int, CellVerdict] = {}
    for number, cell in enumerate(chosen, 1):
        tell(f"first divergence {number} of {len(chosen)}: {cell.cell.scenario} {cell.cell.label}")
        found[id(cell)] = _diverged(cell, names)
    return replace(verdict, cells=[found.get(id(cell), cell) for cell in verdict.cells])


def slim(verdict: Verdict) -> list[CellVerdict]:
    """The worst of the cells that changed, whose tables nobody has: their runs are to be made again."""
    found = []
    for cell in _worst(verdict)[:_MADE_AGAIN]:
        seed = differing(cell)
        sides = () if seed is None else (cell.base[seed].record(), cell.candidate[seed].record())
        # One that a storage has is fetched.
        if any(one is not None and one.slim is not None and one.slim.storage is None for one in sides):
            found.append(cell)
    return found


def differing(cell: CellVerdict) -> int | None:
    """The first seed whose two runs are there and have other tables."""
    for seed in cell.seeds:
        base, candidate = cell.base[seed], cell.candidate[seed]
        if base.folder and candidate.folder and base.digests != candidate.digests:
            return seed
    return None


def _worst(verdict: Verdict) -> list[CellVerdict]:
    """The cells that changed, the worst first."""
    changed = [cell for cell in verdict.cells if cell.verdict in ("worse", "inconclusive", "better")]
    return sorted(changed, key=lambda cell: ORDER.index(cell.verdict))


def _diverged(cell: CellVerdict, names: tuple[str, str]) -> CellVerdict:
    for seed in cell.seeds:
        base, candidate = cell.base[seed], cell.candidate[seed]
        if not (base.folder and candidate.folder) or base.digests == candidate.digests:
            continue
        try:
            before, after = base.record(), candidate.record()
            found = first_divergence(before, after, names=names) if before and after else None
        except RushHourError as error:  # the verdict stands without it
            return replace(cell, warnings=[*cell.warnings, f"no divergence: {error.message}"])
        if found is not None:
            return replace(cell, divergence=found.document())
    return cell

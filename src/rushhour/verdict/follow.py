"""What follows a verdict: where the traces of the cells that changed begin to differ."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.errors import RushHourError
from rushhour.verdict.divergence import first_divergence
from rushhour.verdict.vocabulary import ORDER

if TYPE_CHECKING:
    from rushhour.verdict.cell import CellVerdict
    from rushhour.verdict.judging import Verdict

# Traces of so many cells are laid beside each other: the worst ones.
_MOST = 80


def divergences(verdict: Verdict) -> Verdict:
    """The verdict with the first divergence of each cell that changed, where both records are at hand."""
    changed = [cell for cell in verdict.cells if cell.verdict in ("worse", "inconclusive", "better")]
    chosen = {id(cell) for cell in sorted(changed, key=lambda cell: ORDER.index(cell.verdict))[:_MOST]}
    if not (verdict.base.virtual and verdict.candidate.virtual):
        return verdict
    return replace(verdict, cells=[_diverged(cell) if id(cell) in chosen else cell for cell in verdict.cells])


def _diverged(cell: CellVerdict) -> CellVerdict:
    for seed in cell.seeds:
        base, candidate = cell.base[seed], cell.candidate[seed]
        if not (base.folder and candidate.folder) or base.digests == candidate.digests:
            continue
        try:
            before, after = base.record(), candidate.record()
            found = first_divergence(before, after) if before and after else None
        except RushHourError as error:  # the verdict stands without it
            return replace(cell, warnings=[*cell.warnings, f"no divergence: {error.message}"])
        if found is not None:
            return replace(cell, divergence=found.document())
    return cell

"""What follows a verdict: where the traces of what changed begin to differ, and what to do next."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.errors import RushHourError
from rushhour.verdict.divergence import first_divergence
from rushhour.verdict.rule import ORDER

if TYPE_CHECKING:
    from rushhour.verdict.cell import CellVerdict
    from rushhour.verdict.judging import Verdict

# Traces of so many cells are laid beside each other: the worst ones.
_MOST = 20


def divergences(verdict: Verdict) -> Verdict:
    """The verdict with the first divergence of each cell that changed, where both records are at hand."""
    changed = [cell for cell in verdict.cells if cell.verdict in ("worse", "better")]
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


def further(verdict: Verdict) -> list[str]:
    """Commands worth giving next."""
    found: list[str] = []
    worst = min(verdict.cells, key=lambda cell: ORDER.index(cell.verdict), default=None)
    if worst is None or worst.verdict == "same":
        return found
    base, candidate = verdict.base, verdict.candidate
    if verdict.verdict == "inconclusive" and (base.kind == "kernel" or candidate.kind == "kernel"):
        more = 2 * verdict.rule.max_seeds
        found.append(_words("compare", base.name, candidate.name, *_of(worst), "--max-seeds", str(more)))
    elif verdict.verdict == "inconclusive":
        found.append(_words("run", worst.cell.scenario, "--repeat", str(verdict.rule.seeds)))
    if candidate.kind == "kernel":
        sets = [word for key, value in worst.cell.factors.items() for word in _set(key, value)]
        found.append(_words("run", worst.cell.scenario, "--kernel", candidate.name, *sets))
    if verdict.verdict == "worse" and base.kind == candidate.kind == "kernel" and not verdict.stopped:
        found.append(_words("compare", base.name, candidate.name, *_of(worst)))
    if base.kind == "baseline" and candidate.records:
        name = base.name.partition("@")[0]
        found.append(_words("baseline", "promote", name, candidate.records, "--reason", "…"))
    return found


def _of(cell: CellVerdict) -> list[str]:
    return ["--scenario", cell.cell.scenario]


def _set(key: str, value: object) -> list[str]:
    if key.startswith("label."):
        return []
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return ["--set", f"{key}={text}"]


def _words(*words: str) -> str:
    return shlex.join(["rushhour", *words])

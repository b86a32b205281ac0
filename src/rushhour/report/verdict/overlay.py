"""Both sides of a cell in one picture: the base broad and pale, the candidate over it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rushhour.errors import RecordError
from rushhour.record.record import Record
from rushhour.report import embed
from rushhour.report.figure import over_run, page
from rushhour.report.panels import panels_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rushhour.record.verdict_file import ComparedCell, ComparedRun, DivergenceFile
    from rushhour.report.curves import Curve
    from rushhour.report.embed import Columns
    from rushhour.report.panels import Panel

POINTS = 16_000
"""Samples drawn of one cell, both sides together."""
MAX_FLOWS = 3
"""Flows that are drawn of each side; of more, the first."""
_PANELS = ("cwnd", "rtt", "queue", "goodput", "owd", "transactions", "loss")
# What is shown around the divergence at first: so many base RTTs, or this share of the experiment.
_RTTS, _SHARE = 40, 0.02


@dataclass(frozen=True)
class Picture:
    """A cell drawn: of which seed, packed curves, and words on how far it can be trusted."""

    seed: int
    packed: str


def picture(cell: ComparedCell, folder: Path) -> Picture | None:
    """Both sides of a cell at the seed of its divergence, or its first; None where tables are missing.

    Args:
        cell: An entry of `cells` of the verdict's document.
        folder: The folder that the entry's folders are relative to.
    """
    for seed in _seeds(cell):
        sides = [_record(runs, seed, folder) for runs in (cell.runs.base, cell.runs.candidate)]
        if sides[0] is not None and sides[1] is not None:
            return Picture(seed, _packed(sides[0], sides[1], cell.divergence))
    return None


def _seeds(cell: ComparedCell) -> list[int]:
    told = None if cell.divergence is None else cell.divergence.seed
    return list(dict.fromkeys(seed for seed in (told, *cell.seeds) if seed is not None))


def _record(runs: Sequence[ComparedRun], seed: int, folder: Path) -> Record | None:
    for run in runs:
        if run.seed == seed and run.folder:
            try:
                record = Record.open(folder / run.folder)
            except RecordError:
                return None
            return record if record.is_whole else None
    return None


def _packed(base: Record, candidate: Record, divergence: DivergenceFile | None) -> str:
    duration_s = max(record.context.duration_ns for record in (base, candidate)) / 1e9
    columns: Columns = []
    mark_s = None if divergence is None else divergence.t_ns / 1e9
    panels = [
        page.words(over_run.figure(panel, duration_s, pale=below, mark_s=mark_s), columns)
        for panel, below in overlaid(base, candidate)
    ]
    header = {
        "label": "",
        "conditions": [],
        "duration_s": duration_s,
        "mark_s": mark_s,
        "around_s": _around(base, duration_s),
        "panels": panels,
    }
    return embed.pack(header, columns)


def _around(record: Record, duration_s: float) -> float:
    rtts = [flow.base_rtt_ns for flow in record.context.flows.values() if flow.base_rtt_ns]
    return max(_SHARE * duration_s, _RTTS * min(rtts, default=0) / 1e9)


def overlaid(base: Record, candidate: Record) -> list[tuple[Panel, int]]:
    """The panels that both runs have, each with the curves of both: first so many of the base."""
    sides = [{panel.id: panel for panel in panels_of(record, POINTS // 2)} for record in (base, candidate)]
    shared = [name for name in _PANELS if all(name in side for side in sides)]
    return [_both(sides[0][name], sides[1][name]) for name in shared]


def _both(base: Panel, candidate: Panel) -> tuple[Panel, int]:
    ghosts = _chosen(base.curves, "base")
    limits = candidate.limits + [limit for limit in base.limits if limit not in candidate.limits]
    curves = ghosts + _chosen(candidate.curves, "candidate")
    return replace(candidate, curves=curves, limits=limits, note=""), len(ghosts)


def _chosen(curves: Sequence[Curve], side: str) -> list[Curve]:
    whole = [curve for curve in curves if not curve.faint]
    return [replace(curve, label=f"{side} {curve.label}") for curve in whole[:MAX_FLOWS]]

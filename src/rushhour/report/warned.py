"""Warnings of runs: each once, with the run that it is about, so that a cell of a sweep can be found."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.report.model import RunView
    from rushhour.summary.expectations import Verdict

MOST_WARNINGS = 50
"""Warnings of a page; on a screen there is room for fewer."""


def warned(runs: Sequence[RunView], most: int) -> tuple[list[str], int]:
    """At most so many warnings, in the order of the runs, each with where it holds; how many are left out."""
    where: dict[str, list[str]] = {}
    for run in runs:
        for warning in dict.fromkeys(run.warnings):
            where.setdefault(warning, []).append(run.label)
    told = [f"{_where(labels, len(runs))}{warning}" for warning, labels in where.items()]
    return told[:most], max(0, len(told) - most)


def besides(warnings: Sequence[str], verdicts: Sequence[Verdict]) -> list[str]:
    """The warnings of a run that no broken expectation says in the same words: each is told once."""
    broken = {verdict.message for verdict in verdicts if not verdict.ok}
    return [warning for warning in warnings if warning not in broken]


def _where(labels: Sequence[str], runs: int) -> str:
    """The runs that a warning is about; empty where it is about all of them."""
    if len(labels) == runs:
        return ""
    several = f"{len(labels)} of {runs} runs, the first of them " if len(labels) > 1 else ""
    return f"{several}{labels[0]}: "

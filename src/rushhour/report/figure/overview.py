"""Overviews: figures that nobody declared, one of lines and one matrix for each telling metric of a sweep.

An overview is a figure as a scenario would declare it (`spec.figure.Figure`), chosen from the factors that
vary, and made and drawn as the declared ones are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.report.figure import matrix, points
from rushhour.report.figure.collect import Taken, left_out_invalid
from rushhour.report.figure.titles import title_of
from rushhour.report.shares import METRIC as SHARE
from rushhour.report.shares import PERCENT, share, sharers
from rushhour.report.tables import MAX_SHARES, columns_of, whole
from rushhour.spec.figure import FLOW, Figure
from rushhour.spec.levels import worth
from rushhour.spec.sweep import Sweep

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rushhour.report.figure.description import Matrix, Plot
    from rushhour.report.model import RunView
    from rushhour.report.tables import Column

MAX_LINES = 8
"""Lines in one panel; a factor with more levels is left to the matrix."""
_LEAST = 4
"""Cells from which on a matrix shows more than a line."""


@dataclass(frozen=True)
class Overview:
    """One metric over the sweep: its lines, and its matrix where two factors vary; `title` as in tables."""

    metric: str
    title: str
    plot: Plot | None
    matrix: Matrix | None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader must know of both, each once."""
        both = [one.notes for one in (self.plot, self.matrix) if one is not None]
        return tuple(dict.fromkeys(note for notes in both for note in notes))


@dataclass(frozen=True)
class _Varied:
    """A factor with several levels."""

    name: str
    levels: tuple[str, ...]

    @property
    def numeric(self) -> bool:
        found = worth(self.levels)
        return found is not None and len(set(found.values)) == len(self.levels)


def overviews(runs: Sequence[RunView]) -> list[Overview]:
    """The overviews of a sweep, in the order of its table; none where nothing varies or no metric differs."""
    if len(runs) < 2:
        return []
    metrics = [whole(run.metrics) for run in runs]
    columns = columns_of(runs, metrics)
    found = [_overview(SHARE, "share of the goodput", _shares(runs))]
    for column in columns:
        values = [known[column.metric].value if column.metric in known else None for known in metrics]
        taken = [_taken(run, at, value) for at, (run, value) in enumerate(zip(runs, values, strict=True))]
        found.append(_overview(column.metric, column.title, taken) if _differs(column, taken) else None)
    return [one for one in found if one is not None]


def _shares(runs: Sequence[RunView]) -> list[Taken]:
    """The shares of everybody in every run; none where nobody's differs."""
    found = sharers(runs, MAX_SHARES)
    values = [[share(run, one) for one in found] for run in runs]
    known = [
        {PERCENT.text(one) for one, run in zip(column, runs, strict=True) if run.valid and one is not None}
        for column in zip(*values, strict=True)
    ]
    if all(len(texts) < 2 for texts in known):
        return []
    return [
        _taken(run, at, value, {FLOW: one.name})
        for at, run in enumerate(runs)
        for one, value in zip(found, values[at], strict=True)
    ]


def _taken(run: RunView, at: int, value: float | None, own: Mapping[str, str] | None = None) -> Taken:
    factors = {name: level for name, level in run.factors.items() if name != "repetition"}
    repetition = int(run.factors.get("repetition", 0))
    return Taken(at, at, repetition, "total", {**factors, **(own or {})}, value, valid=run.valid)


def _differs(column: Column, taken: Sequence[Taken]) -> bool:
    """Whether the column's own digits show a difference: else there is nothing to look at."""
    return len({column.scale.text(one.value) for one in taken if one.valid and one.value is not None}) > 1


def _overview(metric: str, title: str, taken: Sequence[Taken]) -> Overview | None:
    varied = list(_varied(taken))
    if not varied:
        return None
    notes = tuple(left_out_invalid(len({one.run for one in taken if not one.valid})))
    lines, over_two = _lines(metric, varied), _matrix(metric, varied)
    plot = points.build(lines, Sweep(), taken, (), notes)
    cells = len({tuple(one.factors.values()) for one in taken})
    fields = matrix.build(over_two, Sweep(), taken, notes) if over_two and cells >= _LEAST else None
    return Overview(metric, title, plot, fields) if plot or fields else None


def _varied(taken: Sequence[Taken]) -> Iterator[_Varied]:
    """The factors that vary, those with most levels first; of several that vary together, one."""
    names = list(dict.fromkeys(name for one in taken for name in one.factors))
    columns = {name: [str(one.factors.get(name, "")) for one in taken] for name in names}
    several = [name for name in names if len(set(columns[name])) > 1]
    kept: list[str] = []
    for name in sorted(several, key=lambda name: -len(set(columns[name]))):
        told = {
            other for other in kept
            if len(set(zip(columns[other], columns[name], strict=True))) == len(set(columns[other]))
        }  # fmt: skip
        kept += [] if told else [name]
    # In the order of the sweep: the first of equals comes first.
    return (_Varied(name, tuple(dict.fromkeys(columns[name]))) for name in several if name in kept)


def _lines(metric: str, varied: Sequence[_Varied]) -> Figure:
    """The numbers with most levels along x, lines for each of the next (words first), panels for the rest."""
    across = max(varied, key=lambda one: (one.numeric, len(one.levels)))
    others = sorted(
        (one for one in varied if one is not across), key=lambda one: (one.numeric, -len(one.levels))
    )
    by = next((one for one in others if len(one.levels) <= MAX_LINES), None)
    return Figure(
        title=title_of(metric),
        y=metric,
        x=across.name,
        lines=(by.name,) if by else (),
        panels=tuple(one.name for one in others if one is not by),
    )


def _matrix(metric: str, varied: Sequence[_Varied]) -> Figure | None:
    """The two factors with most levels, the one with more across, panels for the rest."""
    if len(varied) < 2:
        return None
    down, across = sorted(
        sorted(varied, key=lambda one: -len(one.levels))[:2], key=lambda one: len(one.levels)
    )
    rest = tuple(one.name for one in varied if one not in (down, across))
    return Figure(
        title=title_of(metric), kind="matrix", metric=metric, x=across.name, y=down.name, panels=rest
    )

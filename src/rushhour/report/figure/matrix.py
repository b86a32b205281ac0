"""Matrices: a metric as colour and number over two factors, a panel for each level of the others."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from statistics import fmean
from typing import TYPE_CHECKING

from rushhour.metrics.catalog import METRICS
from rushhour.report.figure.description import SHADES, Field, Matrix, MatrixPanel
from rushhour.report.figure.places import CellLayout, layout, left_out, words
from rushhour.report.figure.titles import name_of, spoken, title_of
from rushhour.report.model import said
from rushhour.report.tables import scale_of
from rushhour.spec.levels import worth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.quantities.words import Scale
    from rushhour.report.figure.collect import Taken
    from rushhour.spec.figure import Figure
    from rushhour.spec.sweep import Sweep

MAX_MATRIX_PANELS = 60
Shaded = tuple[float, float, Callable[[float], float]]
"""Least and greatest of what the shades grade, and how a value becomes that."""
_WIDE = 8
"""From this ratio of greatest to least on, shades follow the logarithm: the small differ visibly, too."""


def build(figure: Figure, sweep: Sweep, taken: Sequence[Taken], notes: tuple[str, ...]) -> Matrix | None:
    """The matrix of values that were taken; None if none is defined."""
    assert figure.x is not None
    known = [one for one in taken if one.value is not None or not one.valid]
    if all(one.value is None for one in known):
        return None
    where = layout(figure, sweep, [one.factors for one in known])
    # A matrix has no lines: what else varies makes panels.
    names = (*where.panels, *where.lines)
    columns, rows = (_levels(where, name, known) for name in (figure.x, figure.y))
    groups: dict[tuple[str, ...], list[Taken]] = {}
    for one in known:
        groups.setdefault((*where.panel(one.factors), *where.line(one.factors)), []).append(one)
    cells = {key: _cells(figure, some) for key, some in groups.items()}
    values = [value for some in cells.values() for value, _ in some.values() if value is not None]
    scale = scale_of(figure.quantity, METRICS[figure.quantity].unit, values)
    low, high = min(values), max(values)
    shaded = _shaded(low, high)
    panels = []
    for key in where.sorted(names, groups)[:MAX_MATRIX_PANELS]:
        fields = {at: _field(*found, scale, shaded) for at, found in cells[key].items()}
        grid = tuple(tuple(fields.get((row, column)) for column in columns) for row in rows)
        panels.append(MatrixPanel(words(names, key), grid))
    notes = (*notes, "The colour scale is logarithmic.") if shaded[2] is math.log else notes
    notes = (*notes, *_counted(known, names, figure))
    notes = (*notes, *left_out(len(groups), MAX_MATRIX_PANELS))
    return Matrix(
        figure.title,
        figure.source or "",
        figure.caption or "",
        title_of(figure.quantity),
        scale,
        name_of(figure.x),
        name_of(figure.y),
        tuple(spoken(level) for level in columns),
        tuple(spoken(level) for level in rows),
        tuple(panels),
        scale.with_unit(low),
        scale.with_unit(high),
        notes,
    )


def _shaded(low: float, high: float) -> Shaded:
    """What the darkest and the lightest field stand for, and by which function of the values."""
    if low > 0 and high / low >= _WIDE:
        return math.log(low), math.log(high), math.log
    return low, high, float


def _counted(taken: Sequence[Taken], names: Sequence[str], figure: Figure) -> tuple[str, ...]:
    """How many runs the fields are means of."""
    factors = (*names, figure.x or "", figure.y)
    keys = (tuple(said(one.factors.get(name)) for name in factors) for one in taken if one.valid)
    counts = set(Counter(keys).values())
    if counts == {1}:
        return ()
    many = str(max(counts)) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
    return (f"Means of {many} repetitions.",)


def _levels(where: CellLayout, name: str, taken: Sequence[Taken]) -> list[str]:
    """Levels in the order of the sweep; numbers by their size."""
    order = where.order[name]
    levels = sorted({said(one.factors.get(name)) for one in taken}, key=lambda level: order.get(level, 0))
    found = worth(levels)
    return levels if found is None else [level for _, level in sorted(zip(found.values, levels, strict=True))]


def _cells(figure: Figure, taken: Sequence[Taken]) -> dict[tuple[str, str], tuple[float | None, int]]:
    """Mean (None: no valid run) and first run of each field: (row, column) to (value, run)."""
    found: dict[tuple[str, str], list[Taken]] = {}
    for one in taken:
        found.setdefault((said(one.factors.get(figure.y)), said(one.factors.get(figure.x or ""))), []).append(
            one
        )
    return {at: _mean(some) for at, some in found.items()}


def _mean(taken: Sequence[Taken]) -> tuple[float | None, int]:
    values = [one.value for one in taken if one.valid and one.value is not None]
    return (fmean(values) if values else None), taken[0].run


def _field(value: float | None, run: int, scale: Scale, shaded: Shaded) -> Field:
    if value is None:
        return Field(None, "invalid", None, run)
    low, high, grade = shaded
    shade = round((SHADES - 1) * (grade(value) - low) / (high - low)) if high > low else 0
    return Field(value, scale.text(value), shade, run)

"""Figures over a factor: a metric with its spread over repetitions, theory, and what was published."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.catalog import METRICS
from rushhour.models.registry import MODELS
from rushhour.report.figure import published
from rushhour.report.figure.curves import MAX_LINES, MAX_PANELS
from rushhour.report.figure.description import Axis, Facet, Plot, Trace
from rushhour.report.figure.legend import Looks, entries, model_group, neutral
from rushhour.report.figure.places import CellLayout, alike, factor_axis, layout, left_out, words
from rushhour.report.figure.titles import title_of
from rushhour.report.model import said
from rushhour.report.tables import scale_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rushhour.models.case import Prediction
    from rushhour.quantities.words import Scale
    from rushhour.report.figure.collect import Taken
    from rushhour.report.figure.description import Role
    from rushhour.report.figure.places import Key
    from rushhour.series.series import Shape
    from rushhour.spec.figure import Figure
    from rushhour.spec.published import Published
    from rushhour.spec.sweep import Sweep

_SIDE = 0.18
"""Distance of lines that lie side by side, of the distance of words on the axis."""
_BELOW = 5
"""How far below the least value theory is still shown on a logarithmic axis."""
_HEAD = 1.06
"""Room above the greatest value."""


@dataclass(frozen=True)
class _Spot:
    """One point of one line: where it lies, and what was taken of its runs."""

    level: str
    place: float
    taken: list[Taken]

    @property
    def values(self) -> list[float]:
        return [one.value for one in self.taken if one.value is not None]


def build(
    figure: Figure,
    sweep: Sweep,
    taken: Sequence[Taken],
    tables: Sequence[Published],
    notes: tuple[str, ...],
) -> Plot | None:
    """The figure of values that were taken; None if none is defined."""
    assert figure.x is not None
    known = [one for one in taken if one.valid and one.value is not None]
    if not known:
        return None
    where = layout(figure, sweep, [one.factors for one in known])
    looks = Looks.of(where, [where.line(one.factors) for one in known], MAX_LINES)
    known = [one for one in known if where.line(one.factors) in looks.of_line]
    order = where.order[figure.x]
    levels = sorted({said(one.factors.get(figure.x)) for one in known}, key=lambda level: order.get(level, 0))
    x, places = factor_axis(figure.x, levels, figure.x_scale)
    panels = where.sorted(where.panels, [where.panel(one.factors) for one in known])
    fitting = published.over_factor(tables, figure.y)
    scale = scale_of(figure.y, METRICS[figure.y].unit, [one.value for one in known])
    drawer = _Points(figure, where, looks, places, x.numeric, fitting, scale)
    facets = tuple(
        drawer.facet(panel, [one for one in known if where.panel(one.factors) == panel])
        for panel in panels[:MAX_PANELS]
    )
    undefined = sum(one.valid and one.value is None for one in taken)
    return Plot(
        figure.title,
        figure.source or "",
        figure.caption or "",
        x,
        Axis(title_of(figure.y), scale.unit, scale.divisor, log=figure.y_scale == "log"),
        facets,
        entries(looks, facets),
        looks.title,
        looks.styles,
        over_time=False,
        same=alike(facets),
        notes=(
            *notes,
            *_counted({len(spot.values) for spot in drawer.spots}),
            *_undefined(undefined),
            *looks.notes,
            *left_out(len(panels), MAX_PANELS),
        ),
    )


def _counted(counts: set[int]) -> tuple[str, ...]:
    if counts == {1}:
        return ("Each point is one run.",)
    many = str(max(counts)) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
    return (f"Points are means of {many} repetitions; bars reach from the least to the greatest.",)


def _undefined(undefined: int) -> tuple[str, ...]:
    return (
        (f"In {undefined} {'run' if undefined == 1 else 'runs'} the metric is undefined.",)
        if undefined
        else ()
    )


@dataclass
class _Points:
    """Makes the panels of one figure."""

    figure: Figure
    where: CellLayout
    looks: Looks
    places: Mapping[str, float]
    numeric: bool
    tables: Sequence[Published]
    scale: Scale

    def __post_init__(self) -> None:
        self.spots: list[_Spot] = []

    def facet(self, panel: Key, taken: Sequence[Taken]) -> Facet:
        lines = self._lines(taken)
        measured = [self._measured(line, spots) for line, spots in lines.items()]
        printed = [trace for table in self.tables for trace in self._published(table, lines)]
        models = [trace for name in self.figure.model for trace in self._model(name, lines)]
        seen = [value for trace in (*measured, *printed) for value in (*trace.y.tolist(), *_bars(trace))]
        trusted = [
            v for trace in models if trace.role == "model" for v in trace.y.tolist() if not math.isnan(v)
        ]
        top = max([*seen, *(v for v in trusted if v <= 1.5 * max(seen))])
        log = self.figure.y_scale == "log"
        least = _least([*seen, *(v for v in trusted if v >= min(seen) / _BELOW)]) if log else min(0.0, *seen)
        return Facet(
            words(self.where.panels, panel), (*models, *measured, *printed), least, top * _HEAD or 1.0
        )

    def _lines(self, taken: Sequence[Taken]) -> dict[Key, list[_Spot]]:
        """The spots of each line along the axis, in the order of the looks."""
        assert self.figure.x is not None
        found: dict[Key, dict[str, list[Taken]]] = {line: {} for line in self.looks.of_line}
        for one in taken:
            line = self.where.line(one.factors)
            if line in found:
                found[line].setdefault(said(one.factors.get(self.figure.x)), []).append(one)
        spots = {
            line: sorted(
                (_Spot(lv, self.places[lv], some) for lv, some in by_level.items()), key=lambda s: s.place
            )
            for line, by_level in found.items()
            if by_level
        }
        self.spots += [spot for some in spots.values() for spot in some]
        return spots

    def _measured(self, line: Key, spots: Sequence[_Spot]) -> Trace:
        values = [spot.values for spot in spots]
        several = any(len(some) > 1 for some in values)
        return Trace(
            self.looks.label(line),
            self.looks.of_line[line],
            self.looks.group(line),
            "measured",
            self._at(line, spots),
            np.array([fmean(some) for some in values]),
            np.array([min(some) for some in values]) if several else None,
            np.array([max(some) for some in values]) if several else None,
            self._shape,
            tuple(self._words(some) for some in values),
            tuple(spot.taken[0].run for spot in spots),
        )

    def _at(self, line: Key, spots: Sequence[_Spot]) -> NDArray[np.float64]:
        """Places of the spots; side by side where the levels are words and one would cover another."""
        return np.array([spot.place for spot in spots]) + self._shift(self.looks.of_line[line])

    def _shift(self, look: int) -> float:
        last = len(self.looks.of_line) - 1
        if self.numeric or last == 0:
            return 0.0
        return min(0.7, _SIDE * last) / len(self.places) * (look / last - 0.5)

    def _words(self, values: Sequence[float]) -> str:
        mean = self.scale.with_unit(fmean(values))
        if len(values) == 1:
            return mean
        return f"{mean} ({self.scale.text(min(values))} … {self.scale.text(max(values))}, n = {len(values)})"

    def _model(self, name: str, lines: Mapping[Key, Sequence[_Spot]]) -> list[Trace]:
        made: dict[Role, list[Trace]] = {"model": [], "doubtful": []}
        for line, spots in lines.items():
            told = [(spot, (spot.taken[0].predictions or {}).get(name)) for spot in spots]
            known = [(spot, one) for spot, one in told if one is not None and one.value is not None]
            at, predicted = [spot for spot, _ in known], [one for _, one in known]
            for role, traces in made.items():
                values = _trusted(predicted, doubtful=role == "doubtful")
                if np.all(np.isnan(values)):
                    continue
                spoken = tuple(_doubted(self.scale, one, role) for one in predicted)
                look, group, shape = self.looks.of_line[line], model_group(name), self._shape
                x = np.array([spot.place for spot in at])
                traces.append(
                    Trace(MODELS[name].title, look, group, role, x, values, shape=shape, said=spoken)
                )
        found = [trace for traces in made.values() for trace in neutral(traces)]
        return [one if one.look is None else replace(one, x=one.x + self._shift(one.look)) for one in found]

    @property
    def _shape(self) -> Shape:
        return "line" if self.numeric else "points"

    def _published(self, table: Published, lines: Mapping[Key, Sequence[_Spot]]) -> Iterator[Trace]:
        for line, spots in lines.items():
            found = [(spot, value) for spot in spots for value in published.values_of(table, spot.taken[0])]
            if not found:
                continue
            at = self._at(line, [spot for spot, _ in found])
            y, spread = np.array([published.in_unit(table, value) for _, value in found]).T
            bars = (y - spread, y + spread) if np.any(spread) else (None, None)
            name, group, look = published.title(table), published.group(table), self.looks.of_line[line]
            kinds = [published.KINDS[table.kind_of(value)] for _, value in found]
            words = tuple(
                kind.format(self.scale.with_unit(float(at))) for kind, at in zip(kinds, y, strict=True)
            )
            yield Trace(name, look, group, "published", at, y, bars[0], bars[1], "points", words)


def _least(values: Sequence[float]) -> float:
    """Where a logarithmic axis begins."""
    return min((value for value in values if value > 0), default=1.0)


def _trusted(told: Sequence[Prediction], *, doubtful: bool) -> NDArray[np.float64]:
    """Predictions within a model's range; or those outside, with the neighbours that join them; else nan."""
    doubt = np.array([bool(one.doubt) for one in told], bool)
    beside = doubt.copy()
    beside[1:] |= doubt[:-1]
    beside[:-1] |= doubt[1:]
    kept = beside if doubtful else ~doubt
    values = np.array([math.nan if one.value is None else one.value for one in told])
    return np.where(kept & np.any(doubt if doubtful else ~doubt), values, math.nan)


def _doubted(scale: Scale, one: Prediction, role: Role) -> str:
    """A prediction in words; nothing of those that only join what is outside the range to what is within."""
    if role == "doubtful":
        return f"{scale.with_unit(one.value)} ({one.doubt})" if one.doubt else ""
    return scale.with_unit(one.value)


def _bars(trace: Trace) -> list[float]:
    return (
        [*trace.low.tolist(), *trace.high.tolist()]
        if trace.low is not None and trace.high is not None
        else []
    )

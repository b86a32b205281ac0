"""Figures over time: a series of many cells, a line for each, in panels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rushhour.models.registry import MODELS
from rushhour.quantities.words import scale_for
from rushhour.report.figure import published
from rushhour.report.figure.description import Axis, Facet, Plot, Trace
from rushhour.report.figure.legend import Looks, entries, model_group, neutral
from rushhour.report.figure.places import CellLayout, alike, layout, left_out, words
from rushhour.report.figure.titles import title_of
from rushhour.series.series import SERIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.report.curves import Curve
    from rushhour.report.figure.collect import Taken
    from rushhour.report.figure.description import Role
    from rushhour.report.figure.places import Key
    from rushhour.spec.figure import Figure
    from rushhour.spec.published import Published
    from rushhour.spec.sweep import Sweep

MAX_LINES, MAX_PANELS = 24, 24
_FLATTENS = 4
"""A horizontal line this many times above all samples would flatten them; it is left out of the range."""


def build(
    figure: Figure,
    sweep: Sweep,
    taken: Sequence[Taken],
    tables: Sequence[Published],
    notes: tuple[str, ...],
) -> Plot | None:
    """The figure of curves that were taken; None if there is none."""
    where = layout(figure, sweep, [one.factors for one in taken])
    looks = Looks.of(where, [where.line(one.factors) for one in taken], MAX_LINES)
    shown = [one for one in taken if where.line(one.factors) in looks.of_line]
    panels = where.sorted(where.panels, [where.panel(one.factors) for one in shown])
    begin = figure.begin.seconds if figure.begin else 0.0
    end = figure.end.seconds if figure.end else max(one.duration_s for one in shown)
    drawer = _Curves(figure, where, looks, (begin, end), published.over_time(tables, figure.y))
    facets = tuple(
        drawer.facet(panel, [one for one in shown if where.panel(one.factors) == panel])
        for panel in panels[:MAX_PANELS]
    )
    scale = scale_for([facet.top for facet in facets], SERIES[figure.y].unit)
    return Plot(
        figure.title,
        figure.source or "",
        figure.caption or "",
        Axis("Time", "s", low=begin, high=end),
        Axis(title_of(figure.y), scale.unit, scale.divisor, log=figure.y_scale == "log"),
        facets,
        entries(looks, facets),
        looks.title,
        looks.styles,
        over_time=True,
        same=alike(facets),
        notes=(*notes, *looks.notes, *left_out(len(panels), MAX_PANELS)),
    )


@dataclass(frozen=True)
class _Curves:
    """Makes the panels of one figure; `span` is its time axis in seconds."""

    figure: Figure
    where: CellLayout
    looks: Looks
    span: tuple[float, float]
    tables: Sequence[Published]

    def facet(self, panel: Key, taken: Sequence[Taken]) -> Facet:
        ordered = sorted(taken, key=lambda one: self.looks.of_line[self.where.line(one.factors)])
        measured = [self._measured(one, one.curve) for one in ordered if one.curve is not None]
        models = [trace for name in self.figure.model for trace in self._model(name, ordered)]
        printed = [trace for table in self.tables for one in ordered for trace in self._published(table, one)]
        values = np.concatenate([trace.y for trace in (*measured, *printed)])
        values = values[np.isfinite(values)]
        top = float(np.max(values))
        top = max([top, *(level for trace in models if (level := float(trace.y[0])) <= _FLATTENS * top)])
        if self.figure.y_scale == "log":
            low = float(np.min(values[values > 0], initial=top if top > 0 else 1.0))
        else:
            low = min(0.0, float(np.min(values)))
        return Facet(words(self.where.panels, panel), (*models, *measured, *printed), low, top or 1.0)

    def _measured(self, one: Taken, curve: Curve) -> Trace:
        line = self.where.line(one.factors)
        look, group = self.looks.of_line[line], self.looks.group(line)
        return Trace(
            self.looks.label(line), look, group, "measured", curve.t_s, curve.values, shape=curve.shape
        )

    def _published(self, table: Published, one: Taken) -> list[Trace]:
        """A level over the time that the number is of, with its spread at both ends."""
        begin, end = self.span
        at = np.array(
            [table.begin.seconds if table.begin else begin, table.to.seconds if table.to else end]
        ).clip(begin, end)
        look = self.looks.of_line[self.where.line(one.factors)]
        found = []
        for value in published.values_of(table, one):
            level, spread = (np.full(2, number) for number in published.in_unit(table, value))
            bars = (level - spread, level + spread) if value.spread else (None, None)
            name, group = published.title(table), published.group(table)
            found.append(Trace(name, look, group, "published", at, level, *bars))
        return found

    def _model(self, name: str, taken: Sequence[Taken]) -> list[Trace]:
        """A horizontal line for what a model says of each line; one for all where it says the same."""
        found = []
        for one in taken:
            told = (one.predictions or {}).get(name)
            if told is None or told.value is None:
                continue
            look = self.looks.of_line[self.where.line(one.factors)]
            role: Role = "doubtful" if told.doubt else "model"
            level = np.full(2, told.value)
            found.append(Trace(MODELS[name].title, look, model_group(name), role, np.array(self.span), level))
        return neutral(found)

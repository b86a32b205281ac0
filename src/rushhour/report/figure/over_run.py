"""A panel of a run as a figure: its curves over time, each in the look of its flow in the whole report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.quantities.words import quantity, scale_for
from rushhour.report.figure.description import Axis, Facet, LegendEntry, Plot, Reference, Style, Trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.report.curves import Curve
    from rushhour.report.model import RunView
    from rushhour.report.panels import Panel

_FLATTENS = 4
"""A limit this many times above all samples would flatten them; it is out of sight."""
TOTAL = "total"


def figures(run: RunView) -> list[Plot]:
    """The panels of a run, in their order."""
    looks = [flow.look for flow in run.flows]
    return [figure(panel, run.duration_s, looks) for panel in run.panels]


def figure(panel: Panel, duration_s: float, looks: Sequence[int | None] = ()) -> Plot:
    """A panel as a figure of one facet; `looks` are those of the run's flows."""
    traces = tuple(_trace(curve, place) for place, curve in enumerate(panel.curves))
    greatest = [
        float(np.nanmax(curve.values)) for curve in panel.curves if not np.all(np.isnan(curve.values))
    ]
    most = max(greatest, default=0.0)
    levels = tuple(
        Reference(limit.value, f"{limit.label} {quantity(limit.value, panel.unit)}") for limit in panel.limits
    )
    top = max([most, *(one.value for one in levels if one.value <= _FLATTENS * most)]) or 1.0
    scale = scale_for([most], panel.unit)
    entries = tuple(LegendEntry(trace.group, trace.label, "measured", trace.look) for trace in traces)
    return Plot(
        panel.title,
        "",
        "",
        Axis("Time", "s", high=duration_s),
        Axis(panel.title, scale.unit, scale.divisor),
        (Facet("", traces, 0.0, top, levels),),
        entries if len(entries) > 1 else (),
        "",
        tuple(_style(curve, place, looks) for place, curve in enumerate(panel.curves)),
        over_time=True,
        same=False,
        notes=(panel.note,) if panel.note else (),
        lanes=panel.marks,
    )


def _trace(curve: Curve, place: int) -> Trace:
    return Trace(curve.label, place, f"line:{place}", "measured", curve.t_s, curve.values, shape=curve.shape)


def _style(curve: Curve, place: int, looks: Sequence[int | None]) -> Style:
    if curve.flow is None:
        return Style(place, None, 0, 0, "total" if curve.label == TOTAL else "queue", faint=curve.faint)
    given = looks[curve.flow] if curve.flow < len(looks) else None
    look = curve.flow if given is None else given
    return Style(look, None, look, look, faint=curve.faint)

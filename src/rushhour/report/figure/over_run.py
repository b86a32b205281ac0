"""A panel of a run as a figure: its curves over time, each in the look of its flow in the whole report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from rushhour.quantities.words import quantity, scale_for
from rushhour.report.figure.description import (
    Axis,
    Facet,
    Instant,
    LegendEntry,
    Plot,
    Reference,
    SecondAxis,
    Style,
    Trace,
)

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


def figure(
    panel: Panel,
    duration_s: float,
    looks: Sequence[int | None] = (),
    *,
    pale: int = 0,
    mark_s: float | None = None,
) -> Plot:
    """A panel as a figure of one facet.

    Args:
        panel: The panel.
        duration_s: The time axis ends here.
        looks: Those of the run's flows; without them a flow's position decides.
        pale: The first so many curves are of a run that the others are compared with.
        mark_s: An instant that the run is about.
    """
    traces = tuple(_trace(curve, place) for place, curve in enumerate(panel.curves))
    greatest = [
        float(np.nanmax(curve.values)) for curve in panel.curves if not np.all(np.isnan(curve.values))
    ]
    most = max(greatest, default=0.0)
    levels = tuple(
        Reference(limit.label, limit.value, quantity(limit.value, panel.unit)) for limit in panel.limits
    )
    top = max([most, *(one.value for one in levels if one.value <= _FLATTENS * most)]) or 1.0
    scale = scale_for([top], panel.unit)
    entries = tuple(LegendEntry(trace.group, trace.label, "measured", trace.look) for trace in traces)
    instants = () if mark_s is None else (Instant(mark_s),)
    return Plot(
        panel.title,
        "",
        "",
        Axis("Time", "s", high=duration_s),
        Axis(panel.title, "" if panel.marks else scale.unit, scale.divisor, base=panel.unit),
        (Facet("", traces, 0.0, top, levels, instants),),
        entries if len(entries) > 1 else (),
        "",
        tuple(_style(curve, place, looks, pale) for place, curve in enumerate(panel.curves)),
        over_time=True,
        same=False,
        notes=(panel.note,) if panel.note else (),
        lanes=panel.marks,
        second=_second(panel, top),
        id=panel.id,
    )


def _second(panel: Panel, top: float) -> SecondAxis | None:
    if panel.second is None:
        return None
    unit, factor = panel.second
    scale = scale_for([top * factor], unit)
    return SecondAxis("at the rate of the link", scale.unit, scale.divisor, factor)


def _trace(curve: Curve, place: int) -> Trace:
    # What belongs to a flow is hidden and shown with it, in all panels of the run.
    group = f"line:{place}" if curve.flow is None else f"flow:{curve.flow}"
    return Trace(curve.label, place, group, "measured", curve.t_s, curve.values, shape=curve.shape)


def _style(curve: Curve, place: int, looks: Sequence[int | None], pale: int) -> Style:
    below = place < pale
    if curve.flow is None:
        # The same curve of both runs has the same colour.
        number = place % pale if pale else place
        family: Literal["total", "queue"] = "total" if curve.label == TOTAL else "queue"
        return Style(number, None, number, number, family, faint=curve.faint, pale=below)
    given = looks[curve.flow] if curve.flow < len(looks) else None
    look = curve.flow if given is None else given
    return Style(look, None, look, look, faint=curve.faint, pale=below)

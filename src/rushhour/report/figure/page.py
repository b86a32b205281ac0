"""Figures on their way to the browser: words as JSON, samples in columns (`report/embed.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.report import embed
from rushhour.report.figure.description import Plot

if TYPE_CHECKING:
    from rushhour.report.embed import Columns
    from rushhour.report.figure.description import Axis, Drawing, Facet, Trace


def packed(drawing: Drawing) -> str:
    """A plot for the page's script (`report/embed.py`); a matrix needs none and is empty."""
    if not isinstance(drawing, Plot):
        return ""
    columns: Columns = []
    return embed.pack({"figure": words(drawing, columns)}, columns)


def words(drawing: Plot, columns: Columns) -> dict[str, Any]:
    """A plot as JSON; its samples go to `columns`, and each trace says which are its own."""
    return {
        "id": drawing.id,
        "title": drawing.title,
        "x": _axis(drawing.x),
        "y": _axis(drawing.y),
        "second": drawing.second and vars(drawing.second),
        "legend": drawing.legend,
        "entries": [vars(entry) for entry in drawing.entries],
        "styles": [vars(style) for style in drawing.styles],
        "over_time": drawing.over_time,
        "distribution": drawing.distribution,
        "lanes": drawing.lanes,
        "same": drawing.same,
        "notes": drawing.notes,
        "facets": [_facet(drawing, facet, columns) for facet in drawing.facets],
    }


def _axis(axis: Axis) -> dict[str, Any]:
    return {**vars(axis), "label": axis.label}


def _facet(plot: Plot, facet: Facet, columns: Columns) -> dict[str, Any]:
    traces = [_trace(plot, trace, columns) for trace in facet.traces]
    return {
        "title": facet.title,
        "low": facet.low,
        "top": facet.top,
        "traces": traces,
        "references": [vars(one) for one in facet.references],
        "instants": [vars(one) for one in facet.instants],
    }


def _trace(plot: Plot, trace: Trace, columns: Columns) -> dict[str, Any]:
    x_scale = embed.time_scale(plot.x.high) if plot.over_time else 1e-6
    parts = {"t": trace.x, "v": trace.y, "low": trace.low, "high": trace.high}
    places = {}
    for name, values in parts.items():
        if values is not None:
            places[name] = len(columns)
            columns.append((values, x_scale if name == "t" else embed.value_scale(values)))
    named = {"label": trace.label, "look": trace.look, "group": trace.group, "role": trace.role}
    told = {"said": trace.said, "runs": trace.runs, "links": trace.links}
    return {**named, **told, "shape": trace.shape, "columns": places}

"""A history as a figure: a point for each kernel with the range of its runs, the levels, and the changes."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from rushhour.quantities.words import scale_for, shortened
from rushhour.report.figure.description import Axis, Facet, Instant, Plot, Style, Trace
from rushhour.report.figure.titles import title_of
from rushhour.report.history.said import kernels, named, scattered, size, tone

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rushhour.history import Change, Point, Series
    from rushhour.quantities.words import Scale

_TICKS = 22
"""Words under the axis; of more points evenly chosen ones."""
_LONGEST = 24
"""Letters of a word under the axis."""
_LEAST = 0.04
"""The axis spans at least so much of the level: a flat line looks flat."""
_STYLES = (Style(0, None, 0, 0, pale=True), Style(0, None, 0, 0))
_LEVEL, _POINTS = range(2)


def figure(series: Series, title: str, link: Callable[[Point], str] | None = None) -> Plot | None:
    """The figure of a series; None where its metric is undefined everywhere.

    Args:
        series: The series.
        title: What tells it from its neighbours.
        link: Where a point leads.
    """
    known = [value for point in series.points for value in point.known]
    if not known:
        return None
    low, high = _span(known)
    scale = scale_for([low, high], series.unit)
    at = (np.arange(len(series.points)) + 0.5) / len(series.points)
    traces = (*_levels(series, at), _points(series, at, scale, link))
    instants = tuple(_instant(series, change) for change in series.changes)
    better = "" if series.better == "none" else f"{series.better.capitalize()} is better."
    return Plot(
        title,
        "",
        "",
        _axis(series, at),
        Axis(title_of(series.metric), scale.unit, scale.divisor, base=series.unit),
        (Facet("", traces, low, high, instants=instants),),
        (),
        "",
        _STYLES,
        over_time=False,
        same=False,
        notes=tuple(note for note in (better, _small(series)) if note),
    )


def small(series: Series) -> list[Change]:
    """The changes that have no words in the figure: small ones, and those within the scatter of the seeds."""
    worth = {change.at for change in named(series) if not scattered(series, change)}
    return [change for change in series.changes if change.at not in worth]


def _span(known: Sequence[float]) -> tuple[float, float]:
    low, high = min(known), max(known)
    room = max(0.12 * (high - low), _LEAST / 2 * max(abs(low), abs(high)), 1e-12)
    return (max(0.0, low - room) if low >= 0 else low - room), high + room


def _axis(series: Series, at: np.typing.NDArray[np.float64]) -> Axis:
    names = kernels(series.points)
    levels = tuple(zip(at.tolist(), names, strict=True))
    every = -(-len(names) // _TICKS)
    short = [shortened(name, _LONGEST) for name in names]
    ticks = tuple(zip(at.tolist(), short, strict=True))[::every]
    return Axis("Kernel", numeric=False, ticks=ticks, levels=levels)


def _levels(series: Series, at: np.typing.NDArray[np.float64]) -> tuple[Trace, ...]:
    """A broad line for each level, where there are several."""
    edges = [0, *(change.at for change in series.shifts), len(series.points)]
    found = []
    for start, stop in pairwise(edges):
        means = [point.mean for point in series.points[start:stop] if point.mean is not None]
        if means and len(edges) > 2:
            half = 0.4 / len(series.points)
            x = np.array([at[start] - half, at[stop - 1] + half])
            level = np.full(2, fmean(means))
            found.append(Trace("level", _LEVEL, f"line:{_LEVEL}", "measured", x, level))
    return tuple(found)


def _points(
    series: Series,
    at: np.typing.NDArray[np.float64],
    scale: Scale,
    link: Callable[[Point], str] | None,
) -> Trace:
    points = [point for point in series.points if point.known]
    places = np.array([bool(point.known) for point in series.points])
    return Trace(
        "mean",
        _POINTS,
        f"line:{_POINTS}",
        "measured",
        at[places],
        np.array([point.mean for point in points], float),
        np.array([min(point.known) for point in points]),
        np.array([max(point.known) for point in points]),
        shape="points",
        said=tuple(_words(point, scale) for point in points),
        links=() if link is None else tuple(link(point) for point in points),
    )


def _words(point: Point, scale: Scale) -> str:
    low, high = min(point.known), max(point.known)
    spread = f" ({scale.text(low)} … {scale.text(high)}, n = {len(point.known)})" if low != high else ""
    return f"{scale.with_unit(point.mean)}{spread}; {point.made[:10]}"


def _instant(series: Series, change: Change) -> Instant:
    """A line between two kernels with the size of the change; a tick at the axis for a small one."""
    x, kind = change.at / len(series.points), tone(series, change)
    if change in small(series):
        return Instant(x, tone=kind, small=True)
    return Instant(x, size(series, change), kind)


def _small(series: Series) -> str:
    count = len(small(series))
    if not count:
        return ""
    some = "a tick at the axis is a change" if count == 1 else f"{count} ticks at the axis are changes"
    return (
        f"{some.capitalize()} that {'is' if count == 1 else 'are'} small or within the scatter of the seeds."
    )

"""A series as a drawing: a dot for each point with its range, the levels, and the changes by name.

The drawing is one SVG element that brings its style along; in a page it takes the page's colours.
"""

from __future__ import annotations

from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

from rushhour.quantities.words import scale_for
from rushhour.report.figure.ticks import rounds
from rushhour.report.history.said import certainty, kernels, named, scattered, size, tone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rushhour.history import Point, Series
    from rushhour.quantities.words import Scale

_WIDTH, _LEFT, _RIGHT, _TOP, _BASE = 960, 64, 24, 30, 220
_LETTER = 6.3
_LABELS = 22
"""Labels under the axis; of more points evenly chosen ones."""
_LEAST = 0.04
"""The axis spans at least so much of the level: a flat line looks flat."""

STYLE = """
.history{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",Arial,sans-serif;
--h-ink:var(--ink,#1c1d20);--h-dim:var(--ink-2,#63656b);--h-rule:var(--rule,#e6e3dc);--h-line:var(--c0,#1f66ad);
--h-good:var(--good,#1b6e3c);--h-bad:var(--bad,#b3261e);--h-plain:var(--accent,#8a5a00)}
.history text{fill:var(--h-ink)}.history .dim{fill:var(--h-dim)}.history .rule{stroke:var(--h-rule)}
.history .range{stroke:var(--h-line);stroke-width:2;opacity:.45}.history .dot{fill:var(--h-line)}
.history .join{fill:none;stroke:var(--h-line);opacity:.55}
.history .level{stroke:var(--h-line);stroke-width:5;opacity:.22}
.history .change{stroke-width:1.5;stroke-dasharray:5 3}.history .step{stroke-width:3}
.history .good{stroke:var(--h-good)}.history .bad{stroke:var(--h-bad)}.history .plain{stroke:var(--h-plain)}
.history text.good{fill:var(--h-good)}.history text.bad{fill:var(--h-bad)}
.history text.plain{fill:var(--h-plain)}
.history text.good,.history text.bad,.history text.plain{stroke:none;font-weight:600}
"""


def drawing(series: Series, title: str) -> str:
    """The drawing as a file of its own, on white, with its title."""
    body, height = _body(series, title), _height(series) + 34
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="history" viewBox="0 -34 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}"><style>{STYLE}</style>'
        f'<rect y="-34" width="{_WIDTH}" height="{height}" fill="#fff"/>'
    )
    words = f'<text x="8" y="-12" font-size="14" font-weight="600">{escape(title)}</text>'
    return f"{head}{words}{body}</svg>\n"


def chart(series: Series, title: str, link: Callable[[Point], str] | None = None) -> str:
    """The drawing as an element of a page that has `STYLE`; `link` says where a point leads."""
    label = escape(f"{series.metric}: {title}")
    return (
        f'<svg class="history" viewBox="0 0 {_WIDTH} {_height(series)}" role="img" aria-label="{label}">'
        f"{_body(series, title, link)}</svg>"
    )


def _body(series: Series, title: str, link: Callable[[Point], str] | None = None) -> str:
    known = [value for point in series.points for value in point.known]
    if not known:
        return f'<text x="{_LEFT}" y="{_TOP}" class="dim">{escape(title)}: undefined everywhere</text>'
    low, high = min(known), max(known)
    room = max(0.12 * (high - low), _LEAST / 2 * max(abs(low), abs(high)), 1e-12)
    low, high = (max(0.0, low - room) if low >= 0 else low - room), high + room

    def y(value: float) -> float:
        return _BASE - (_BASE - _TOP) * (value - low) / (high - low)

    step = (_WIDTH - _LEFT - _RIGHT) / max(1, len(series.points))

    def x(place: float) -> float:
        return _LEFT + step * (place + 0.5)

    scale = scale_for([low, high], series.unit)
    parts = [
        *_frame(series, scale, (low, high), y),
        *_names(series, x),
        *_levels(series, x, y),
        *_points(series, scale, (x, y), link),
        *_changes(series, x),
    ]
    return "".join(parts)


def _frame(
    series: Series, scale: Scale, span: tuple[float, float], y: Callable[[float], float]
) -> Iterator[str]:
    low, high = (value / scale.divisor for value in span)
    ticks = rounds(low, high)
    for value in ticks:
        level = y(value * scale.divisor)
        yield f'<line class="rule" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{level:.1f}" y2="{level:.1f}"/>'
        at = f'x="{_LEFT - 6}" y="{level + 4:.1f}" text-anchor="end"'
        yield f'<text class="dim" {at}>{value:.10g}</text>'
    unit = f", {scale.unit}" if scale.unit else ""
    better = "" if series.better == "none" else f" ({series.better} is better)"
    yield f'<text class="dim" x="8" y="14">{escape(series.metric + unit + better)}</text>'


def _names(series: Series, x: Callable[[float], float]) -> Iterator[str]:
    points, names = series.points, kernels(series.points)
    every, slanted = _every(points), _slanted(series)
    for place in range(0, len(points), every):
        name = names[place] if len(names[place]) <= 24 else names[place][:23] + "…"
        where = f'x="{x(place):.1f}" y="{_BASE + 18}"'
        turn = ' text-anchor="middle"'
        if slanted:
            turn = f' text-anchor="end" transform="rotate(-32 {x(place):.1f} {_BASE + 18})"'
        yield f"<text {where}{turn}>{escape(name)}</text>"


def _every(points: Sequence[Point]) -> int:
    return -(-len(points) // _LABELS)


def _slanted(series: Series) -> bool:
    """Whether the names under the axis need more room than they have side by side."""
    wide = (_WIDTH - _LEFT - _RIGHT) / max(1, len(series.points)) * _every(series.points)
    return max((len(name) for name in kernels(series.points)), default=0) * _LETTER > wide - 4


def _height(series: Series) -> int:
    return _BASE + (84 if _slanted(series) else 28)


def _levels(series: Series, x: Callable[[float], float], y: Callable[[float], float]) -> Iterator[str]:
    edges = [0, *(change.at for change in series.shifts), len(series.points)]
    if len(edges) == 2:
        return
    for start, stop in pairwise(edges):
        means = [point.mean for point in series.points[start:stop] if point.mean is not None]
        if means:
            level = y(sum(means) / len(means))
            yield (
                f'<line class="level" x1="{x(start - 0.4):.1f}" x2="{x(stop - 0.6):.1f}" '
                f'y1="{level:.1f}" y2="{level:.1f}"/>'
            )


def _points(
    series: Series,
    scale: Scale,
    axes: tuple[Callable[[float], float], Callable[[float], float]],
    link: Callable[[Point], str] | None,
) -> Iterator[str]:
    x, y = axes
    middles = [(place, point.mean) for place, point in enumerate(series.points) if point.mean is not None]
    path = " ".join(f"{x(place):.1f},{y(mean):.1f}" for place, mean in middles)
    yield f'<polyline class="join" points="{path}"/>'
    for place, name in enumerate(kernels(series.points)):
        point = series.points[place]
        if point.mean is None:
            continue
        low, high = min(point.known), max(point.known)
        spread = (
            "" if low == high else f", {scale.text(low)} to {scale.text(high)} in {len(point.known)} runs"
        )
        words = escape(f"{name}: {scale.with_unit(point.mean)}{spread}; {point.made[:10]}")
        if low != high:
            yield (
                f'<line class="range" x1="{x(place):.1f}" x2="{x(place):.1f}" '
                f'y1="{y(low):.1f}" y2="{y(high):.1f}"/>'
            )
        at = f'cx="{x(place):.1f}" cy="{y(point.mean):.1f}"'
        dot = f'<circle class="dot" {at} r="4"><title>{words}</title></circle>'
        yield dot if link is None else f'<a href="{escape(link(point))}" aria-label="{words}">{dot}</a>'


def _changes(series: Series, x: Callable[[float], float]) -> Iterator[str]:
    """A line for each change beyond luck and worth a name, a tick for the others. No words cover others."""
    free = -1.0
    worth = {change.at for change in named(series) if not scattered(series, change)}
    for change in series.changes:
        place, kind = x(change.at - 0.5), tone(series, change)
        words = size(series, change)
        title = f"<title>{escape(words)} ({certainty(series, change)})</title>"
        across = f'x1="{place:.1f}" x2="{place:.1f}"'
        if change.at not in worth:
            yield f'<line class="step {kind}" {across} y1="{_BASE - 5}" y2="{_BASE}">{title}</line>'
            continue
        yield f'<line class="change {kind}" {across} y1="{_TOP}" y2="{_BASE}">{title}</line>'
        half = len(words) * _LETTER / 2
        if place - half > free:
            at = f'x="{place:.1f}" y="{_TOP - 4}" text-anchor="middle"'
            yield f'<text class="{kind}" {at}>{escape(words)}</text>'
            free = place + half + 6


def marks(values: Sequence[float | None]) -> str:
    """Values as a line of eight heights; a space where there is none."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    span = _LEAST * max(abs(low), abs(high)) or 1.0
    # What is nearly flat stands in the middle of the fourth height.
    start = (low + high) / 2 - span * 3.5 / 8 if high - low < span else low
    span = max(span, high - low)
    letters = "▁▂▃▄▅▆▇█"
    return "".join(
        " " if value is None else letters[min(7, max(0, int(8 * (value - start) / span)))] for value in values
    )

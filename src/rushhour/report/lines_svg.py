"""Charts of a sweep as SVG in the page: classes only, coloured by the page's style, also in the dark.

A point leads to its run; its title says the numbers.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from rushhour.report.lines import apart, grid, in_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rushhour.report.lines import Chart, Line, Point

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 400, 220, 50, 14, 22, 38
_LETTER = 6.2
_SLANT = 0.87
"""Height of a unit of length at 60 degrees."""
_DASHES = ("", "8 4", "2 3", "10 3 2 3", "14 4", "5 2 1 2")
_DODGE = 7
"""Distance of the lines' points where levels are words, so that none covers another."""

Place = tuple[float, float]


def chart_svg(chart: Chart) -> str:
    """One chart as an SVG element."""
    values = grid(chart.top / chart.column.scale.divisor)
    span = values[-1] * chart.column.scale.divisor

    def y(value: float) -> float:
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * value / span

    words, deep = _levels(chart)
    parts = [*_frame(chart, values, y), *words]
    for line in chart.lines:
        shift = 0.0 if chart.numeric else _DODGE * (line.place - (len(chart.lines) - 1) / 2)
        parts += _line(chart, line, shift, y)
    title = escape(
        ", ".join(part for part in (f"{chart.column.title} over {chart.across}", chart.title) if part)
    )
    head = (
        f'<svg class="lines" viewBox="0 0 {_WIDTH} {_HEIGHT + deep:.0f}" role="group" aria-label="{title}">'
    )
    return head + "".join(parts) + "</svg>"


def swatch_svg(look: int) -> str:
    """The sample of a line for the legend."""
    mark = _mark(look, 14, 5)
    return f'<svg class="swatch" viewBox="0 0 28 10" aria-hidden="true">{_path("M0 5H28", look)}{mark}</svg>'


def _frame(chart: Chart, values: list[float], y: Callable[[float], float]) -> Iterator[str]:
    unit, divisor = chart.column.scale.unit, chart.column.scale.divisor
    for value in values:
        level = y(value * divisor)
        yield f'<path class="l-grid" d="M{_LEFT} {level:.1f}H{_WIDTH - _RIGHT}"/>'
        yield f'<text class="l-y" x="{_LEFT - 6}" y="{level + 4:.1f}">{value:g}</text>'
    said = " · ".join(
        part for part in (f"{chart.column.title}{', ' + unit if unit else ''}", chart.title) if part
    )
    yield f'<text class="l-title" x="0" y="12">{escape(said)}</text>'


def _levels(chart: Chart) -> tuple[list[str], float]:
    """The words under the chart, and how much deeper than usual they reach; of words none is left out."""
    width, base = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _BOTTOM + 16
    if chart.numeric:
        said = [_level(_x(place), base, word) for place, word in apart(chart.ticks, width, _LETTER)]
        deep = 0.0
    else:
        words = [word for _, word in chart.ticks]
        lines = in_lines(words, (width - 20) / _LETTER / max(1, len(words)) - 1)
        if lines is None:
            said = [_level(_x(place), base, word, slanted=True) for place, word in chart.ticks]
            deep = max(0.0, _LETTER * max(map(len, words)) * _SLANT - 8)
        else:
            said = [
                _level(_x(place), base + 13 * number, part)
                for (place, _), parts in zip(chart.ticks, lines, strict=True)
                for number, part in enumerate(parts)
            ]
            deep = 13.0 * (max(map(len, lines)) - 1)
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    return [*said, _level(middle, _HEIGHT - 5 + deep, chart.axis, " l-name")], deep


def _level(x: float, y: float, word: str, kind: str = "", *, slanted: bool = False) -> str:
    kind += " l-slanted" if slanted else ""
    turn = f' transform="rotate(-60 {x:.1f} {y:.1f})"' if slanted else ""
    return f'<text class="l-x{kind}" x="{x:.1f}" y="{y:.1f}"{turn}>{escape(word)}</text>'


def _line(chart: Chart, line: Line, shift: float, y: Callable[[float], float]) -> Iterator[str]:
    places = [(_x(point.place) + shift, y(point.value)) for point in line.points]
    spread = any(point.low != point.high for point in line.points)
    if chart.numeric and spread and len(places) > 1:
        upper = [(x, y(point.high)) for (x, _), point in zip(places, line.points, strict=True)]
        lower = [(x, y(point.low)) for (x, _), point in zip(places, line.points, strict=True)]
        yield f'<path class="l-band l{line.look % 8}" d="{_joined([*upper, *reversed(lower)])}Z"/>'
    if chart.numeric and len(places) > 1:
        yield _path(_joined(places), line.look)
    for (x, height), point in zip(places, line.points, strict=True):
        if spread and (not chart.numeric or len(places) == 1):
            way = f"M{x:.1f} {y(point.low):.1f}V{y(point.high):.1f}"
            yield f'<path class="l-line l{line.look % 8}" d="{way}"/>'
        words = escape(_words(chart, line, point))
        mark = _mark(line.look, x, height)
        link = f'href="#run-{point.run}" data-run="{point.run}" aria-label="{words}"'
        yield f"<a {link}>{mark}<title>{words}</title></a>"


def _words(chart: Chart, line: Line, point: Point) -> str:
    said = chart.column.scale.with_unit
    what = " · ".join(part for part in (line.label, f"{chart.across} {point.level}", chart.title) if part)
    several = f" ({said(point.low)} … {said(point.high)}, n = {point.count})" if point.count > 1 else ""
    return f"{what}: {said(point.value)}{several}"


def _mark(look: int, x: float, y: float) -> str:
    # Four shapes, so that lines are told apart without colour.
    paths = (
        f"M{x - 3.5:.1f} {y:.1f}a3.5 3.5 0 1 1 7 0a3.5 3.5 0 1 1 -7 0Z",
        f"M{x - 3:.1f} {y - 3:.1f}h6v6h-6Z",
        f"M{x:.1f} {y - 4:.1f}l4 7h-8Z",
        f"M{x:.1f} {y - 4.5:.1f}l4.5 4.5l-4.5 4.5l-4.5 -4.5Z",
    )
    return f'<path class="l-mark l{look % 8}" d="{paths[look % 4]}"/>'


def _path(way: str, look: int) -> str:
    dash = _DASHES[look % len(_DASHES)]
    return f'<path class="l-line l{look % 8}" d="{way}"{f" stroke-dasharray={dash!r}" if dash else ""}/>'


def _joined(places: list[Place]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)


def _x(place: float) -> float:
    return _LEFT + 10 + (_WIDTH - _LEFT - _RIGHT - 20) * place

"""A history as one page without network, or as a drawing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from rushhour.errors import UsageError
from rushhour.files.finished import put
from rushhour.quantities.words import quantity
from rushhour.report.figure import page as drawn
from rushhour.report.history.figure import figure, small
from rushhour.report.history.said import (
    certainty,
    common,
    headings,
    kernels,
    ranked,
    scattered,
    size,
    tone,
)
from rushhour.report.shell import FIGURES, digest, joined, template

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rushhour.history import Change, Point, Series

_SCRIPTS = (*FIGURES, "study.js")
_STYLES = ("uplot/uPlot.min.css", "report.css", "history.css")


@dataclass(frozen=True)
class _Row:
    """A change as the page lists it."""

    chart: int
    name: str
    before: str
    after: str
    values: str
    size: str
    tone: str
    known: str
    luck: bool


def write(found: Sequence[Series], path: Path) -> None:
    """Write a page (`.html`), or the drawing of a single series (`.svg`).

    Raises:
        UsageError: another ending, or several series in one drawing.
        ReportError: the file cannot be written.
    """
    if path.suffix == ".svg":
        if len(found) != 1:
            raise UsageError(
                f"a drawing shows one series; these are {len(found)}",
                hint="name the cell with --where, the flow with --scope; or write a page: --out history.html",
            )
        put(drawing(found[0], headings(found)[0]), path)
    elif path.suffix in (".html", ".htm"):
        put(page(found), path)
    else:
        raise UsageError(f"{path.name!r} is neither a page nor a drawing", hint="end it with .html or .svg")


def drawing(series: Series, title: str) -> str:
    """The figure as an SVG file, on white.

    Raises:
        UsageError: the metric is undefined everywhere.
    """
    from rushhour.report.figure import paper  # noqa: PLC0415 - it imports matplotlib

    plot = figure(series, title)
    if plot is None:
        raise UsageError(f"{series.metric} is undefined at every point: there is nothing to draw")
    return paper.draw(plot, "svg").decode()


def page(found: Sequence[Series]) -> str:
    """The page as text; the same series give the same text."""
    names = headings(found)
    style, script = joined(_STYLES), joined(_SCRIPTS)
    return template("history.html").render(
        metric=found[0].metric,
        better=found[0].better,
        definition=_definition(found[0].metric),
        series=[_series(one, names[place], place) for place, one in enumerate(found)],
        common=common(found) if len(found) > 1 else "",
        rows=[_row(found[place], change, names[place], place) for place, change in ranked(found)],
        style=style,
        style_hash=digest(style),
        script=script,
        script_hash=digest(script),
    )


def chart(series: Series, name: str, link: Callable[[Point], str] | None = None) -> Markup:
    """A series as a part of a page: its figure, and its points as a table; `link` says where they lead.

    The page has the report's style, uPlot and the scripts of figures (`shell.FIGURES`).
    """
    plot = figure(series, name, link)
    packed = "" if plot is None else drawn.packed(plot)
    called = kernels(series.points)
    points = [
        {
            "kernel": called[place],
            "release": point.release,
            "made": point.made[:16].replace("T", " "),
            "href": "" if link is None else link(point),
            "values": [str(len(point.known)), *(quantity(value, series.unit) for value in _ends(point))],
        }
        for place, point in enumerate(series.points)
    ]
    text = template("series.html").render(plot=plot, packed=packed, points=points)
    return Markup(text)  # noqa: S704 - made by a template that escapes


def _ends(point: Point) -> tuple[float | None, ...]:
    return point.mean, min(point.known, default=None), max(point.known, default=None)


def _series(one: Series, name: str, place: int) -> dict[str, Any]:
    changed = len(small(one)) < len(one.changes)
    return {"place": place, "name": name, "chart": chart(one, name), "changed": changed}


def _row(series: Series, change: Change, name: str, place: int) -> _Row:
    called = kernels(series.points)
    values = f"{quantity(change.before, series.unit)} → {quantity(change.after, series.unit)}"
    return _Row(
        place, name, _side(called, series, change.at - 1), _side(called, series, change.at), values,
        size(series, change), tone(series, change), certainty(series, change), scattered(series, change),
    )  # fmt: skip


def _side(called: Sequence[str], series: Series, at: int) -> str:
    """The kernel's name; with the day, where it is there more than once."""
    day = f" ({series.points[at].made[:10]})" if called.count(called[at]) > 1 else ""
    return called[at] + day


def _definition(metric: str) -> str:
    from rushhour.metrics.catalog import METRICS  # noqa: PLC0415 - it imports every metric

    known = METRICS.get(metric)
    return known.definition if known else ""

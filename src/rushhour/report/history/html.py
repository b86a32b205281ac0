"""A history as one page without network, or as a drawing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from rushhour.errors import UsageError
from rushhour.files.finished import put
from rushhour.quantities.words import quantity
from rushhour.report.history.said import (
    certainty,
    common,
    headings,
    kernels,
    named,
    ranked,
    scattered,
    size,
    tone,
)
from rushhour.report.history.svg import STYLE, chart, drawing
from rushhour.report.shell import digest, joined, template

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rushhour.history import Change, Series


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


def page(found: Sequence[Series]) -> str:
    """The page as text; the same series give the same text."""
    names = headings(found)
    style = joined(("report.css", "history.css")) + STYLE
    return template("history.html").render(
        metric=found[0].metric,
        better=found[0].better,
        definition=_definition(found[0].metric),
        series=[_series(one, names[place], place) for place, one in enumerate(found)],
        common=common(found) if len(found) > 1 else "",
        rows=[_row(found[place], change, names[place], place) for place, change in ranked(found)],
        style=style,
        style_hash=digest(style),
    )


def _series(one: Series, name: str, place: int) -> dict[str, Any]:
    drawn = Markup(chart(one, name))  # noqa: S704 - made here, every text in it escaped
    worth = [change for change in named(one) if not scattered(one, change)]
    return {
        "place": place, "name": name, "chart": drawn,
        "changed": bool(worth), "more": len(one.changes) - len(worth),
    }  # fmt: skip


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

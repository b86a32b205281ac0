"""The page of a history: drawings whose points lead to their runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from markupsafe import Markup

from rushhour.report.history.said import headings, named
from rushhour.report.history.svg import chart
from rushhour.web.browse import lists

if TYPE_CHECKING:
    from rushhour.history import Point, Series
    from rushhour.web.browse.asked import Asked
    from rushhour.web.browse.shelf import Shelf


def values(shelf: Shelf, asked: Asked) -> dict[str, Any]:
    """The values of the page."""
    found, beside = lists.series(shelf, asked)
    names = headings(found) if found else []
    return {
        "choices": shelf.choices(),
        "series": [_drawn(one, name) for one, name in zip(found, names, strict=True)],
        "following": asked.offset + len(found) if beside["more"] else None,
        **beside,
    }


def _drawn(one: Series, name: str) -> dict[str, object]:
    def link(point: Point) -> str:
        words = {"scenario": one.scenario, "cell": one.cell, "kernel": point.kernel, "lab": one.lab}
        return f"/runs?{urlencode(words)}"

    points = [
        {"kernel": point.kernel, "release": point.release, "made": point.made, "href": link(point)}
        for point in one.points
    ]
    return {
        "name": name,
        "chart": Markup(chart(one, name, link)),  # noqa: S704 - made here, every text in it escaped
        "changes": len(named(one)),
        "small": len(one.changes) - len(named(one)),
        "points": points,
    }

"""The page of a history: figures whose points lead to their runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from rushhour.report.history.html import chart
from rushhour.report.history.said import headings
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

    return {"name": name, "chart": chart(one, name, link)}

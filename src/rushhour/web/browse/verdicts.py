"""One comparison as it was stored: its cells and metrics from the database, its report from its folder."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushhour.quantities.words import quantity
from rushhour.web.answers import RefusedError
from rushhour.web.browse import lists
from rushhour.web.browse.files import listed, opened

if TYPE_CHECKING:
    from rushhour.store import ComparisonRow
    from rushhour.web.browse.asked import Asked
    from rushhour.web.browse.shelf import Shelf

FILES = {
    "report.html": "text/html; charset=utf-8",
    "verdict.json": "application/json",
    "summary.md": "text/plain; charset=utf-8",
}
SANDBOX = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; frame-ancestors 'none'"
)
"""A stored page runs its own scripts, as nobody: it has no part in this site."""
# A factor by its last part, where a label has the whole of its name.
_FACTOR = re.compile(r"(?<![^\s,])(?:[\w-]+\.)+([\w-]+)=")
_MOST = 64 << 20


def comparison(shelf: Shelf, asked: Asked, digest: str) -> dict[str, Any]:
    """One comparison with a page of its cells."""
    row = _row(shelf, digest)
    there = {entry.name for entry in listed(Path(row.folder))}
    values = lists.cells(shelf, asked, row) | {"files": [name for name in FILES if name in there]}
    return values | {"shown": [_said(cell) for cell in values["cells"]]}


def stored(shelf: Shelf, digest: str, name: str) -> tuple[bytes, str]:
    """A file of the comparison's folder and its type.

    Raises:
        RefusedError: there is none.
    """
    row = _row(shelf, digest)
    try:
        with opened(Path(row.folder), name if name in FILES else "") as file:
            return file.read(_MOST), FILES[name]
    except FileNotFoundError:
        raise RefusedError(
            404, "the comparison's folder has no such file, or is not on this machine",
            hint="what was judged is stored; the report can be made again with `rushhour report`",
        ) from None  # fmt: skip


def _row(shelf: Shelf, digest: str) -> ComparisonRow:
    found = shelf.comparison_of(digest) if digest.isascii() and digest.isalnum() else None
    if found is None:
        raise lists.missing("comparison", digest if digest.isprintable() else "")
    return found


def _said(cell: dict[str, Any]) -> dict[str, Any]:
    """A cell with its numbers in words, what decided first."""
    metrics = [
        {
            **one,
            "base_text": quantity(one["base"], one["unit"]),
            "candidate_text": quantity(one["candidate"], one["unit"]),
            "change_text": percent(one["change"]),
            "span": _span(one["low"], one["high"]),
        }
        for one in cell["metrics"]
    ]
    metrics.sort(key=lambda one: one["verdict"] == "same")
    return {**cell, "metrics": metrics, "label": _FACTOR.sub(r"\1=", cell["label"])}


def _span(low: float | None, high: float | None) -> str:
    return "" if low is None or low == high else f"{percent(low)} to {percent(high)}"


def percent(value: float | None) -> str:
    """A relative change in words."""
    return "" if value is None else f"{100 * value:+.1f} %".replace("-", "\N{MINUS SIGN}")

"""What a result set's page has beside its runs: the scenario's figures, each metric over the sweep."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushhour.errors import RecordError
from rushhour.record.result_set import ResultSet
from rushhour.report import html
from rushhour.web.answers import RefusedError
from rushhour.web.browse import lists

if TYPE_CHECKING:
    from rushhour.web.browse.shelf import Shelf

NONE: dict[str, object] = {"figures": "", "whole": False}
MOST = 400
"""Runs of a set that are drawn while a visitor waits; of more the report is the place."""
_KEPT = 20


def page(shelf: Shelf, digest: str) -> dict[str, Any]:
    """`figures` as HTML, empty where the records are not here or too many; `whole`: there can be a report."""
    found = shelf.set_of(digest)
    if found is None or not (Path(found.folder) / "runs").is_dir():
        return NONE
    if found.runs > MOST:
        return NONE | {"whole": True}
    try:
        return {"figures": _drawn(Path(found.folder), found.digest), "whole": True}
    except RecordError:
        return NONE


def report(shelf: Shelf, digest: str) -> str:
    """The report of a set.

    Raises:
        RefusedError: 404, it is not stored; 410, its records are not on this machine.
    """
    found = shelf.set_of(digest)
    if found is None:
        raise lists.missing("set", digest)
    if not (Path(found.folder) / "runs").is_dir():
        raise RefusedError(
            410, "the records of this set are not on this machine", hint="its numbers are stored"
        )
    return html.render(ResultSet.open(Path(found.folder)))


@lru_cache(_KEPT)
def _drawn(folder: Path, _digest: str) -> str:
    return html.overview(ResultSet.open(folder))

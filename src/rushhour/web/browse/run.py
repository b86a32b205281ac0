"""One run: what is stored of it, what its record says, its files."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rushhour.errors import RecordError
from rushhour.quantities.words import quantity
from rushhour.record.record import Record
from rushhour.record.result_set import ResultSet
from rushhour.report import html, payload
from rushhour.report.model import view
from rushhour.report.reproduce import Reproduction, reproduction
from rushhour.web.answers import RefusedError
from rushhour.web.browse import lists
from rushhour.web.browse.files import listed

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.metrics.value import MetricValue
    from rushhour.store import RunRow
    from rushhour.web.browse.asked import Asked
    from rushhour.web.browse.shelf import Shelf

POINTS = 120_000
"""Samples of all curves together."""
_KEPT = 64


@dataclass(frozen=True)
class Recorded:
    """What a record adds to what is stored of its run."""

    folder: Path
    manifest: dict[str, object]
    conditions: list[str]
    again: Reproduction


def found(shelf: Shelf, key: str) -> RunRow:
    """The newest run of this key, whole.

    Raises:
        RefusedError: 404, none is stored.
    """
    row = next(iter(shelf.store().runs(key=key, limit=1)), None)
    if row is None or row.key != key:
        raise lists.missing("run", key)
    return row


def folder_of(shelf: Shelf, key: str) -> Path:
    """The folder of a run's record.

    Raises:
        RefusedError: 404, the run is not stored; 410, its record is not on this machine.
    """
    found(shelf, key)
    folder = shelf.store().record_folder(key)
    if folder is None:
        raise RefusedError(
            410, "the record of this run is not on this machine",
            hint="its numbers are stored; the record lies where it was made, or is made again",
        )  # fmt: skip
    return folder


def run(shelf: Shelf, _asked: Asked, key: str) -> dict[str, Any]:
    """One run as a document: what is stored, every metric, the names of its files."""
    row = found(shelf, key)
    store = shelf.store()
    folder = store.record_folder(key)
    return {
        "run": lists.run(row),
        "metrics": [asdict(value) for value in store.metrics(row.id)],
        "places": [lists.run(one) for one in store.runs(key=key, limit=20)],
        "recorded": folder is not None,
        "files": [asdict(entry) for entry in listed(folder)] if folder else [],
    }


def recorded(shelf: Shelf, key: str) -> Recorded | str:
    """What the record says; or why there is none, in a sentence."""
    try:
        folder = folder_of(shelf, key)
        record = Record.open(folder)
        shown = view(record, record_metrics(shelf, key), factors={}, points=0)
        again = reproduction(ResultSet.open(folder))
    except RefusedError as error:
        return error.message
    except RecordError as error:
        return error.message
    return Recorded(folder, dict(record.manifest), shown.conditions, again)


def record_metrics(shelf: Shelf, key: str) -> list[MetricValue]:
    """The metrics of a run as they are stored."""
    return shelf.store().metrics(found(shelf, key).id)


def series(shelf: Shelf, key: str) -> str:
    """The curves and words of a run, packed for a browser."""
    return _series(folder_of(shelf, key), key, tuple(record_metrics(shelf, key)))


@lru_cache(_KEPT)
def _series(folder: Path, _key: str, metrics: tuple[MetricValue, ...]) -> str:
    return payload.packed(view(Record.open(folder), metrics, factors={}, points=POINTS))


def report(shelf: Shelf, key: str) -> str:
    """The whole report of the run."""
    return html.render(ResultSet.open(folder_of(shelf, key)))


def rows(metrics: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Metrics with their values in words, totals first."""
    said = [{**one, "text": quantity(one["value"], one["unit"])} for one in metrics]
    return sorted(said, key=lambda one: (one["scope"] != "total", one["metric"], one["scope"]))

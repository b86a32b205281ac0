"""What lists show: plain values, for a page and for the API alike."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from rushhour.errors import UsageError
from rushhour.history import history as history_of
from rushhour.report.verdict import departure
from rushhour.web.answers import RefusedError
from rushhour.web.browse.asked import LARGEST
from rushhour.web.browse.glance import glances

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rushhour.history import Series
    from rushhour.history.gather import By
    from rushhour.store import CellVerdict, ComparisonRow, RunRow, SetRow, Store
    from rushhour.web.browse.asked import Asked
    from rushhour.web.browse.shelf import Shelf

PAGED = ("limit", "offset")
RUNS = (
    "scenario", "cell", "where", "kernel", "verdict", "tag", "since", "until", "lab", "valid", "set", "key",
    "sort", *PAGED,
)  # fmt: skip
COMPARISONS = ("verdict", "name", "tag", "since", *PAGED)
SETS = ("scenario", "tag", "since", *PAGED)
CELLS = ("verdict", *PAGED)
HISTORY = ("metric", "scenario", "where", "scope", "kernel", "lab", "since", "by", *PAGED)
VERDICTS = ("scenario", "verdict", *PAGED)
# A page with more drawings is of no use to anybody.
_SERIES = 24
_NEW = 6


def news(shelf: Shelf, _asked: Asked) -> dict[str, object]:
    """What is new: the latest comparisons, sets and what there is of all."""
    store = shelf.store()
    choices = shelf.choices()
    return {
        "comparisons": [comparison(one) for one in store.comparisons(limit=_NEW)],
        "sets": [result_set(one) for one in store.sets(kind="set", limit=2 * _NEW)],
        "scenarios": len(choices["scenarios"]),
        "kernels": choices["kernels"],
        "tags": choices["tags"],
    }


def runs(shelf: Shelf, asked: Asked) -> dict[str, Any]:
    """Runs, filtered, sorted and paged."""
    store, digest = shelf.store(), asked.word("set")
    found = shelf.set_of(digest) if digest else None
    if digest and found is None:
        raise missing("set", digest)
    filters: dict[str, Any] = {
        name: asked.word(name)
        for name in ("scenario", "kernel", "verdict", "tag", "since", "until", "lab", "key")
    }
    filters |= {"cell": asked.number("cell", 0, 1 << 30)} if asked.word("cell") else {}
    filters |= {"valid": asked.word("valid") == "yes"} if asked.word("valid") else {}
    filters |= {"set_id": found.id} if found else {}
    sort = asked.word("sort", "-made")
    rows, more = _page(asked, lambda **at: store.runs(where=asked.where, sort=sort, **filters, **at))
    shown = [run(row) | seen for row, seen in zip(rows, glances(store, rows), strict=True)]
    return {"runs": shown, "set": result_set(found) if found else None, **more}


def sets(shelf: Shelf, asked: Asked) -> dict[str, Any]:
    """Result sets, the newest first."""
    filters = {name: asked.word(name) or None for name in ("scenario", "tag", "since")}
    rows, more = _page(asked, lambda **at: shelf.store().sets(kind="set", **filters, **at))
    return {"sets": [result_set(row) for row in rows], **more}


def comparisons(shelf: Shelf, asked: Asked) -> dict[str, Any]:
    """Comparisons, the newest first."""
    filters = {name: asked.word(name) or None for name in ("verdict", "name", "tag", "since")}
    rows, more = _page(asked, lambda **at: shelf.store().comparisons(**filters, **at))
    return {"comparisons": [comparison(row) for row in rows], **more}


def cells(shelf: Shelf, asked: Asked, row: ComparisonRow) -> dict[str, Any]:
    """One comparison: its cells, the worst first, each with what was measured."""
    store = shelf.store()
    verdict = asked.word("verdict") or None
    rows, more = _page(asked, lambda **at: store.verdicts(comparison=row.id, verdict=verdict, **at))
    return {"comparison": comparison(row), "cells": [cell(store, one) for one in rows], **more}


def verdicts(shelf: Shelf, asked: Asked) -> dict[str, Any]:
    """Judged cells of all comparisons, the newest first."""
    store = shelf.store()
    filters = {name: asked.word(name) or None for name in ("scenario", "verdict")}
    rows, more = _page(asked, lambda **at: store.verdicts(**filters, **at))
    return {"verdicts": [_without_ids(asdict(one)) for one in rows], **more}


def scenarios(shelf: Shelf, asked: Asked) -> dict[str, Any]:
    """The scenarios that there are runs of."""
    rows, more = _page(asked, shelf.store().scenarios)
    return {"scenarios": [asdict(one) for one in rows], **more}


def baselines(shelf: Shelf, _asked: Asked) -> dict[str, object]:
    """Every version of every baseline that was imported."""
    rows = [asdict(one) for one in shelf.store().baselines()]
    return {"baselines": [{name: row[name] for name in row if name != "folder"} for row in rows]}


def series(shelf: Shelf, asked: Asked) -> tuple[list[Series], dict[str, Any]]:
    """The series of a metric, and what there is beside: more of them, or why there are none."""
    metric, scenario = asked.word("metric"), asked.word("scenario")
    if not (metric and scenario):
        return [], {"more": False, "nothing": None, "hint": None}
    size = min(asked.number("limit", _SERIES, LARGEST), LARGEST)
    kernel = asked.word("kernel")
    try:
        found = history_of(
            shelf.store(), metric, scenario, asked.where, scope=asked.word("scope") or None,
            kernels=[kernel] if kernel else [], lab=asked.word("lab") or None,
            since=asked.word("since") or None, by=cast("By", asked.word("by", "kernel")),
            limit=size + 1, offset=asked.offset,
        )  # fmt: skip
    except UsageError as error:
        return [], {"more": False, "nothing": error.message, "hint": error.hint}
    return found[:size], {"more": len(found) > size, "nothing": None, "hint": None}


def history(shelf: Shelf, asked: Asked) -> dict[str, Any]:
    """The series as a document.

    Raises:
        RefusedError: metric or scenario is missing, or nothing of them is stored.
    """
    for name in ("metric", "scenario"):
        if not asked.word(name):
            raise RefusedError(
                400, f"a history needs a metric and a scenario: {name} is missing",
                hint="/api/history?metric=goodput_bps&scenario=suite/slow-start; /api/scenarios names them",
            )  # fmt: skip
    found, beside = series(shelf, asked)
    if beside["nothing"]:
        raise RefusedError(404, beside["nothing"], hint=beside["hint"])
    return {"series": [one.document() for one in found], "more": beside["more"]}


def missing(kind: str, name: str) -> RefusedError:
    """What is said where a permanent link leads to nothing."""
    return RefusedError(
        404, f"no {kind} {name[:64]!r} is stored", hint="import its folder: rushhour db import FOLDER"
    )


def run(row: RunRow) -> dict[str, Any]:
    """A run as a document: without numbers of rows and paths of this machine."""
    return _without_ids(asdict(row))


def result_set(row: SetRow) -> dict[str, object]:
    """A set as a document; it is called by its digest."""
    return _without_ids(asdict(row))


def comparison(row: ComparisonRow) -> dict[str, Any]:
    """A comparison as a document; it is called by its digest.

    `told` and `told_counts` are its verdict and its cells in the words for people, who are told of cells that
    only behave otherwise that they depart.
    """
    verdict, counts = departure.told(row.verdict, row.counts, row.departing)
    return _without_ids(asdict(row)) | {"told": verdict, "told_counts": counts}


def cell(store: Store, row: CellVerdict) -> dict[str, Any]:
    """A judged cell with its metrics."""
    return _without_ids(asdict(row)) | {"metrics": [asdict(one) for one in store.verdict_metrics(row.id)]}


_IDS = ("id", "kernel_id", "comparison_id", "base_kernel_id", "candidate_kernel_id", "folder")


def _without_ids(row: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in row.items() if name not in _IDS}


def _page(asked: Asked, ask: Callable[..., Sequence[Any]]) -> tuple[Sequence[Any], dict[str, Any]]:
    """A page of rows, and where the next and the one before begin; no rows are counted for that."""
    size, offset = asked.size, asked.offset
    rows = ask(limit=size + 1, offset=offset)
    following = offset + size if len(rows) > size else None
    before = max(0, offset - size) if offset else None
    return rows[:size], {"offset": offset, "limit": size, "next": following, "before": before}

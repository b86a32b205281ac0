"""Putting a parcel into the tables, in the transaction of the one writer. What is there already stays."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select
from sqlalchemy import text as sql

from rushhour.store import schema
from rushhour.store.parcel import BaselineParcel, ComparisonParcel, SetParcel, kernel_digest, spelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Column, Connection, Table

    from rushhour.record.verdict_file import ComparedCell, JudgedMetric
    from rushhour.store.parcel import Parcel, RunParcel

# Values looked up at once; SQLite takes 32766.
_CHUNK = 5000
# Runs whose values are put there together.
_PORTION = 500

Rows = list[dict[str, object]]


def put(connection: Connection, parcel: Parcel, now: str) -> int:
    """Store a parcel; how many runs, comparisons or baselines were new."""
    if isinstance(parcel, SetParcel):
        return _put_set(connection, parcel, now)
    if isinstance(parcel, ComparisonParcel):
        return _put_comparison(connection, parcel, now)
    return _put_baseline(connection, parcel, now)


def text(value: object) -> str:
    """A value as JSON text."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _put_set(connection: Connection, parcel: SetParcel, now: str) -> int:
    table = schema.sets
    facts = {
        "kind": parcel.kind,
        "scenario": parcel.scenario,
        "scenario_sha256": parcel.scenario_sha256,
        "folder": spelled(parcel.folder),
        "quick": parcel.quick,
        "complete": parcel.complete,
        "failures": text(parcel.failures),
        "skipped": text(parcel.skipped),
    }
    known = connection.execute(
        select(table.c.id, table.c.made).where(table.c.digest == parcel.digest)
    ).first()
    place, made = known or (_next(connection, table), parcel.made)
    if known is None:
        row = {"id": place, "digest": parcel.digest, "made": made, "imported": now}
        connection.execute(table.insert(), row | facts)
    else:
        # The folder may have been moved, and runs may have been added.
        connection.execute(table.update().where(table.c.id == place), facts)
    ids, new = _put_runs(connection, parcel.runs, {"set_id": place, "made": made})
    _link(connection, place, made, {ids[run.digest]: run.folder for run in parcel.runs})
    return new


def _link(connection: Connection, place: int, made: str, folders: Mapping[int, str]) -> None:
    """Say in which folder of the set each run lies, and to those it is the newest set of, that it is."""
    links, runs = schema.set_runs, schema.runs
    connection.execute(links.delete().where(links.c.set_id == place))
    _insert(connection, links, [{"set_id": place, "run_id": one, "folder": folders[one]} for one in folders])
    every = list(folders)
    for start in range(0, len(every), _CHUNK):
        older = runs.c.id.in_(every[start : start + _CHUNK]) & (runs.c.made < made)
        connection.execute(runs.update().where(older), {"set_id": place, "made": made})


def _put_runs(
    connection: Connection, runs: Sequence[RunParcel], found_in: Mapping[str, object]
) -> tuple[dict[str, int], int]:
    """The ids of runs by digest, and how many are new. Values that were measured anew replace the old."""
    table = schema.runs
    known = _known(connection, table.c.digest, [run.digest for run in runs], table.c.values_sha256)
    fresh = {run.digest: run for run in runs if run.digest not in known}
    cells = _cells(connection, fresh.values())
    kernels = put_kernels(connection, [run.kernel for run in fresh.values()])
    agents = _agents(connection, [run.agent for run in fresh.values()])
    start = _next(connection, table)
    rows = [
        {
            "id": start + place,
            "digest": name,
            "cell_id": cells[run.cell_digest],
            "kernel_id": kernels[kernel_digest(run.kernel)],
            "agent_id": agents[str(run.agent.get("sha256") or "")],
            "invalid_reasons": text(run.invalid_reasons),
            "warnings": text(run.warnings),
            "values_sha256": run.values_sha256,
            **found_in,
            **{column: getattr(run, column) for column in _PLAIN},
        }
        for place, (name, run) in enumerate(fresh.items())
    ]
    _insert(connection, table, rows)
    ids = {name: start + place for place, name in enumerate(fresh)}
    changed = {
        known[run.digest][0]: run
        for run in runs
        if run.digest in known and known[run.digest][1] != run.values_sha256
    }
    for place, run in changed.items():
        connection.execute(schema.measurements.delete().where(schema.measurements.c.run_id == place))
        connection.execute(table.update().where(table.c.id == place), {"values_sha256": run.values_sha256})
    _measurements(connection, {ids[name]: run for name, run in fresh.items()} | changed)
    return {name: place for name, (place, _) in known.items()} | ids, len(fresh)


_PLAIN = (
    "key", "repetition", "seed", "lab", "rushhour", "valid", "virtual_s", "elapsed_s", "raw_sha256",
)  # fmt: skip


def _measurements(connection: Connection, runs: Mapping[int, RunParcel]) -> None:
    table = schema.quantities
    columns = (table.c.metric, table.c.scope, table.c.unit)
    known = {
        (metric, scope, unit): place
        for place, metric, scope, unit in connection.execute(select(table.c.id, *columns))
    }
    wanted = {(one.metric, one.scope, one.unit) for run in runs.values() for one in run.values}
    start = _next(connection, table)
    new = {what: start + place for place, what in enumerate(sorted(wanted - known.keys()))}
    _insert(
        connection,
        table,
        [
            {"id": place, "metric": metric, "scope": scope, "unit": unit}
            for (metric, scope, unit), place in new.items()
        ],
    )
    known |= new
    every = list(runs)
    for start in range(0, len(every), _PORTION):
        rows = {
            (place, known[one.metric, one.scope, one.unit]): one
            for place in every[start : start + _PORTION]
            for one in runs[place].values
        }
        _insert_values(connection, [(*ids, one.value, one.note) for ids, one in rows.items()])


def _insert_values(connection: Connection, rows: Sequence[tuple[int, int, float | None, str | None]]) -> None:
    names = ("run_id", "quantity_id", "value", "note")
    if connection.dialect.name != "postgresql":
        _insert(connection, schema.measurements, [dict(zip(names, row, strict=True)) for row in rows])
        return
    # A statement for each row would take the server five times as long.
    for start in range(0, len(rows), _MANY):
        columns = zip(*rows[start : start + _MANY], strict=True)
        arrays = {name: list(column) for name, column in zip(names, columns, strict=True)}
        connection.execute(_UNNEST, arrays)


_MANY = 50_000
_UNNEST = sql(
    "INSERT INTO measurements (run_id, quantity_id, value, note)"
    " SELECT * FROM unnest(CAST(:run_id AS integer[]),"
    " CAST(:quantity_id AS integer[]), CAST(:value AS double precision[]), CAST(:note AS text[]))"
)


def _cells(connection: Connection, runs: Iterable[RunParcel]) -> dict[str, int]:
    rows = {
        run.cell_digest: {
            "scenario": run.scenario,
            "scenario_sha256": run.scenario_sha256,
            "title": run.title,
            "quick": run.quick,
            "number": run.cell,
            "factors": json.dumps(dict(run.factors), ensure_ascii=False),
            "label": run.label,
        }
        for run in runs
    }
    return _add(connection, schema.cells, schema.cells.c.digest, rows)


def put_kernels(connection: Connection, kernels: Sequence[Mapping[str, object]]) -> dict[str, int]:
    """The ids of kernels by digest; those that are new are added."""
    rows = {
        kernel_digest(one): {
            "name": str(one.get("name") or ""),
            "release": str(one.get("release") or ""),
            "image_sha256": one.get("image_sha256"),
            "identity": text(one),
        }
        # Of one that is described twice the longer words, which are a manifest's.
        for one in sorted(kernels, key=len)
    }
    return _add(connection, schema.kernels, schema.kernels.c.digest, rows)


def _agents(connection: Connection, agents: Iterable[Mapping[str, object]]) -> dict[str, int]:
    rows = {str(one.get("sha256") or ""): {"version": str(one.get("version") or "")} for one in agents}
    return _add(connection, schema.agents, schema.agents.c.sha256, rows)


def _put_comparison(connection: Connection, parcel: ComparisonParcel, now: str) -> int:
    table, document = schema.comparisons, parcel.document
    found = connection.execute(select(table.c.id).where(table.c.digest == parcel.digest)).scalar()
    if found is not None:
        connection.execute(table.update().where(table.c.id == found), {"folder": spelled(parcel.folder)})
        return 0
    place = _next(connection, table)
    sides = {"base": document.base, "candidate": document.candidate}
    known = {side: facts.kernel for side, facts in sides.items() if facts.get("kernel") is not None}
    kernels = put_kernels(connection, list(known.values()))
    row = {
        "id": place,
        "digest": parcel.digest,
        "made": document.made,
        "imported": now,
        "folder": spelled(parcel.folder),
        "variable": str(document.variable),
        "verdict": document.verdict,
        "rule": text(document.rule),
        "counts": text(dict(document.counts)),
        "elapsed_s": document.elapsed_s,
    }
    for side, facts in sides.items():
        row[side] = str(facts.name)
        row[f"{side}_kernel_id"] = kernels[kernel_digest(known[side])] if side in known else None
    connection.execute(table.insert(), row)
    _put_cells(connection, place, document.cells)
    return 1


def _put_cells(connection: Connection, comparison: int, cells: Sequence[ComparedCell]) -> None:
    start = _next(connection, schema.verdict_cells)
    metric = _next(connection, schema.verdict_metrics)
    rows: Rows = []
    metrics: Rows = []
    for place, cell in enumerate(cells, start):
        rows.append(
            {
                "id": place,
                "comparison_id": comparison,
                "number": cell.cell,
                "factors": json.dumps(dict(cell.factors), ensure_ascii=False),
                "identical": cell.identical,
                "seeds": text(list(cell.seeds)),
                **{name: getattr(cell, name) for name in _CELL},
            }
        )
        for one in cell.metrics:
            metrics.append(_metric(one) | {"id": metric, "verdict_cell_id": place})
            metric += 1
    _insert(connection, schema.verdict_cells, rows)
    _insert(connection, schema.verdict_metrics, metrics)


_CELL = ("scenario", "title", "label", "guards", "verdict", "reason")


def _metric(one: JudgedMetric) -> dict[str, object]:
    low, high = one.interval or (None, None)
    names = ("metric", "scope", "unit", "better", "verdict", "reason")
    return {
        **{name: getattr(one, name) for name in names},
        "base": one.base.mean,
        "candidate": one.candidate.mean,
        "change": one.change,
        "low": low,
        "high": high,
    }


def _put_baseline(connection: Connection, parcel: BaselineParcel, now: str) -> int:
    table, found = schema.baselines, parcel.baseline
    known = connection.execute(select(table.c.id).where(table.c.digest == parcel.digest)).scalar()
    if known is not None:
        connection.execute(table.update().where(table.c.id == known), {"folder": str(found.path.resolve())})
        return 0
    kernel = put_kernels(connection, [found.kernel])[kernel_digest(found.kernel)]
    row = {
        "id": _next(connection, table),
        "digest": parcel.digest,
        "name": found.name,
        "version": found.version,
        "reason": found.about.reason,
        "folder": str(found.path.resolve()),
        "slim": found.slim,
        "kernel_id": kernel,
        "imported": now,
    }
    connection.execute(table.insert(), row)
    return 1


def _add(
    connection: Connection, table: Table, unique: Column[Any], rows: Mapping[str, dict[str, Any]]
) -> dict[str, int]:
    """The ids of rows by their unique word; those that are not there are inserted."""
    ids = {word: found[0] for word, found in _known(connection, unique, list(rows)).items()}
    new = [word for word in rows if word not in ids]
    start = _next(connection, table)
    _insert(
        connection,
        table,
        [{"id": place, unique.name: word, **rows[word]} for place, word in enumerate(new, start)],
    )
    return ids | {word: place for place, word in enumerate(new, start)}


def _known(
    connection: Connection, unique: Column[Any], words: Sequence[str], *more: Column[Any]
) -> dict[str, tuple[Any, ...]]:
    """The id, and `more`, of the rows that have one of these words, by word."""
    found: dict[str, tuple[Any, ...]] = {}
    for start in range(0, len(words), _CHUNK):
        part = words[start : start + _CHUNK]
        query = select(unique, unique.table.c.id, *more).where(unique.in_(part))
        found |= {word: tuple(rest) for word, *rest in connection.execute(query)}
    return found


def _next(connection: Connection, table: Table) -> int:
    # There is one writer at a time, so nobody else takes it.
    return int(connection.execute(select(func.coalesce(func.max(table.c.id), 0))).scalar_one()) + 1


def _insert(connection: Connection, table: Table, rows: Rows) -> None:
    if rows:
        connection.execute(table.insert(), rows)

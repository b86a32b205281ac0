"""From a results database to series: which runs belong to a point, and in which order points stand."""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import or_, select

from rushhour.errors import UsageError
from rushhour.history.changes import changes
from rushhour.history.series import EXACT_LABS, Point, Series
from rushhour.quantities.release import release_order
from rushhour.spec.toml import plain_word
from rushhour.store import query, schema
from rushhour.store.filters import named, of_kernel
from rushhour.verdict.words import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Connection, Row, Select

    from rushhour.store import Store

By = Literal["kernel", "time"]
TOTAL = "total"
_NAMED = 8


def history(
    store: Store,
    metric: str,
    scenario: str | None = None,
    where: Mapping[str, Any] | None = None,
    *,
    scope: str | None = None,
    kernels: Sequence[str] = (),
    lab: str | None = None,
    since: str | None = None,
    by: By = "kernel",
    limit: int = 50,
    offset: int = 0,
) -> list[Series]:
    """The series of a metric, one for each cell, scope and revision of a scenario, sorted by these.

    Args:
        store: The database.
        metric: Its name.
        scenario: A scenario or a study; by default all.
        where: Factors of the cells, by their whole name or its last part.
        scope: `flow:NAME` and so on, or the name alone; by default the total, or every scope without one.
        kernels: Only these, by name, release or image.
        lab: Only what ran there.
        since: Only what was made since then (ISO 8601, or its beginning).
        by: A point for each kernel, or for each kernel and time.
        limit: At most so many series.
        offset: Leave out so many.

    Raises:
        UsageError: nothing of this is stored; the message says what is.
        StoreError: the database cannot be read.
    """
    with store.connection() as connection:
        quantities = _quantities(connection, metric, scope)
        cells = query.cell_ids(connection, scenario, where or {})
        asked = _asked(quantities, cells if scenario or where else None)
        rows = connection.execute(_narrowed(asked, kernels, lab, since)).all()
        if not rows:
            raise _nothing(connection, metric, scope, scenario, where or {})
    found = _series(rows, metric, by, every=scope is not None)
    return found[offset : offset + limit]


def _quantities(connection: Connection, metric: str, scope: str | None) -> list[int]:
    table = schema.quantities
    asked = select(table.c.id).where(table.c.metric == metric)
    if scope:
        ending = table.c.scope.in_([f"{kind}:{scope}" for kind in ("flow", "end", "node", "kind", "group")])
        asked = asked.where(or_(table.c.scope == scope, ending))
    return [int(row[0]) for row in connection.execute(asked)]


def _asked(quantities: Sequence[int], cells: Sequence[int] | None) -> Select[Any]:
    """Every value of these quantities in these cells, with what its run is, in order of time."""
    runs, values, links, sets = schema.runs, schema.measurements, schema.set_runs, schema.sets
    asked = (
        select(
            runs.c.cell_id, runs.c.lab, schema.quantities.c.scope, schema.quantities.c.unit,
            runs.c.kernel_id, schema.kernels.c.name, schema.kernels.c.release, schema.agents.c.sha256,
            runs.c.seed, runs.c.repetition, values.c.value, sets.c.made,
            schema.cells.c.scenario, schema.cells.c.scenario_sha256, schema.cells.c.title,
            schema.cells.c.quick, schema.cells.c.number, schema.cells.c.factors,
            schema.cells.c.label,
        )
        .join(values, values.c.run_id == runs.c.id)
        .join(schema.quantities, schema.quantities.c.id == values.c.quantity_id)
        .join(schema.cells, schema.cells.c.id == runs.c.cell_id)
        .join(schema.kernels, schema.kernels.c.id == runs.c.kernel_id)
        .join(schema.agents, schema.agents.c.id == runs.c.agent_id)
        .join(links, links.c.run_id == runs.c.id)
        .join(sets, sets.c.id == links.c.set_id)
        .where(values.c.quantity_id.in_(quantities), runs.c.valid)
        .order_by(sets.c.made, runs.c.id)
    )  # fmt: skip
    return asked if cells is None else asked.where(runs.c.cell_id.in_(cells))


def _narrowed(asked: Select[Any], kernels: Sequence[str], lab: str | None, since: str | None) -> Select[Any]:
    if kernels:
        asked = asked.where(or_(*(of_kernel(word) for word in kernels)))
    if lab:
        asked = asked.where(schema.runs.c.lab == lab)
    if since:
        asked = asked.where(schema.sets.c.made >= since)
    return asked


def _nothing(
    connection: Connection,
    metric: str,
    scope: str | None,
    scenario: str | None,
    where: Mapping[str, object],
) -> UsageError:
    """Why there is no value: the first of what was asked for that nothing is stored of, and what is."""
    of_metric = _of_metric(connection, metric)
    if of_metric is not None:
        return of_metric
    of_cells = _of_cells(connection, scenario, where)
    if of_cells is not None:
        return of_cells
    cells = query.cell_ids(connection, scenario, where) if scenario or where else None
    scopes = _scopes(connection, metric, cells)
    of = f" of {scenario!r}" if scenario else ""
    if not scopes:
        narrowed = "other cells may have it: leave SCENARIO or --where out"
        return UsageError(
            f"no valid run{of} has {metric}{' in these cells' if where else ''}",
            hint=None if cells is None else narrowed,
        )
    if scope and not _scopes(connection, metric, cells, _quantities(connection, metric, scope)):
        hint = f"it has: {listed(scopes, _NAMED)}"
        return UsageError(f"{metric}{of} is not stored at {scope!r}", hint=hint)
    return UsageError(
        f"no run with {metric} is left", hint="ask for less: --kernel, --since and --lab leave runs out"
    )


def _of_metric(connection: Connection, metric: str) -> UsageError | None:
    names = sorted(row[0] for row in connection.execute(select(schema.quantities.c.metric).distinct()))
    if metric in names:
        return None
    near = get_close_matches(metric, names, 1)
    hint = (
        f"did you mean {near[0]}?" if near else "docs/metrics.md names the metrics; rushhour db import stores"
    )
    return UsageError(f"no metric {metric!r} is stored", hint=hint)


def _of_cells(connection: Connection, scenario: str | None, where: Mapping[str, object]) -> UsageError | None:
    names = [row[0] for row in connection.execute(select(schema.cells.c.scenario).distinct())]
    if not names:
        return UsageError("nothing is stored yet", hint="to store results: rushhour db import FOLDER")
    if scenario and not query.cell_ids(connection, scenario, {}):
        near = get_close_matches(scenario, names, 3, cutoff=0.4) or sorted(names)[:5]
        return UsageError(f"nothing of {scenario!r} is stored", hint="there is: " + ", ".join(near))
    if not where or query.cell_ids(connection, scenario, where):
        return None
    texts = select(schema.cells.c.factors).where(named(scenario) if scenario else True).distinct()  # type: ignore[arg-type]
    known: dict[str, set[str]] = {}
    for (text,) in connection.execute(texts):
        for name, value in json.loads(text).items():
            known.setdefault(name, set()).add(plain_word(value))
    words = "; ".join(
        f"{name}: {', '.join(sorted(values)[:_NAMED])}" for name, values in sorted(known.items())
    )
    return UsageError("no cell has these factors", hint=f"stored are {words}" if words else None)


def _scopes(
    connection: Connection, metric: str, cells: Sequence[int] | None, quantities: Sequence[int] | None = None
) -> list[str]:
    """The scopes at which runs that count have the metric in these cells, of these quantities or of all."""
    table, values, runs = schema.quantities, schema.measurements, schema.runs
    asked = (
        select(table.c.scope)
        .join(values, values.c.quantity_id == table.c.id)
        .join(runs, runs.c.id == values.c.run_id)
        .where(table.c.metric == metric, runs.c.valid)
        .distinct()
        .order_by(table.c.scope)
    )
    asked = asked if cells is None else asked.where(runs.c.cell_id.in_(cells))
    asked = asked if quantities is None else asked.where(table.c.id.in_(quantities))
    return [str(row[0]) for row in connection.execute(asked)]


def _series(rows: Sequence[Row[Any]], metric: str, by: By, *, every: bool) -> list[Series]:
    from rushhour.metrics.catalog import METRICS  # noqa: PLC0415 - it imports every metric

    known = METRICS.get(metric)
    parts: dict[tuple[int, str, str], list[Row[Any]]] = {}
    for row in rows:
        parts.setdefault((row.cell_id, row.lab, row.scope), []).append(row)
    whole = {(cell, lab) for cell, lab, scope in parts if scope == TOTAL}
    found = []
    for (cell, lab, scope), mine in parts.items():
        if not every and scope != TOTAL and (cell, lab) in whole:
            continue
        points = _points(mine, by)
        first = mine[0]
        found.append(
            Series(
                first.scenario, first.title, bool(first.quick), first.scenario_sha256[:12], first.number,
                json.loads(first.factors), first.label, lab, metric, scope, first.unit,
                known.better if known else "none", points, changes(points, exact=lab in EXACT_LABS),
            )
        )  # fmt: skip
    found.sort(key=lambda one: (one.scenario, one.quick, one.revision, one.cell, one.lab, one.scope))
    return found


def _points(rows: Iterable[Row[Any]], by: By) -> list[Point]:
    """Rows (in order of time) become points; a run that is in several sets counts once in each point."""
    parts: dict[tuple[Any, ...], list[Row[Any]]] = {}
    for row in rows:
        which = (row.kernel_id, row.sha256) if by == "kernel" else (row.kernel_id, row.sha256, row.made)
        parts.setdefault(which, []).append(row)
    points = [
        Point(
            mine[0].name, mine[0].release, mine[0].kernel_id, mine[0].sha256, mine[0].made,
            {(row.seed, row.repetition): row.value for row in mine},
        )
        for mine in parts.values()
    ]  # fmt: skip
    if by == "time":
        return sorted(points, key=lambda one: (one.made, release_order(one.release), one.kernel_id))
    return sorted(points, key=lambda one: (release_order(one.release), one.made, one.kernel_id))

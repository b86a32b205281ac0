"""Questions to the database, in SQLAlchemy's words; each takes a connection and gives rows.

Newest first, with limit and offset. `where` names factors by their whole name or its last part.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, case, func, or_, select

from rushhour.quantities.factors import matches
from rushhour.store import schema
from rushhour.store.filters import PLACE, SORTS, named, of_kernel, of_runs, tagged
from rushhour.store.rows import (
    CellVerdict,
    ComparisonRow,
    KernelRow,
    MetricVerdict,
    Pair,
    RunRow,
    SetRow,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, RowMapping, Select

_CELL = (
    schema.cells.c.scenario,
    schema.cells.c.scenario_sha256,
    schema.cells.c.title,
    schema.cells.c.quick,
    schema.cells.c.number.label("cell"),
    schema.cells.c.factors,
    schema.cells.c.label,
)
_RUN = tuple(
    schema.runs.c[name]
    for name in (
        "id", "key", "repetition", "seed", "kernel_id", "lab", "valid", "invalid_reasons", "warnings",
        "virtual_s", "elapsed_s", "raw_sha256", "made",
    )
)  # fmt: skip
_JSON = (
    "factors",
    "invalid_reasons",
    "warnings",
    "failures",
    "skipped",
    "rule",
    "counts",
    "seeds",
    "identity",
)


def cell_ids(connection: Connection, scenario: str | None, where: Mapping[str, object]) -> list[int]:
    """The cells of a scenario whose factors are these."""
    query = select(schema.cells.c.id, schema.cells.c.factors)
    if scenario:
        query = query.where(named(scenario))
    return [place for place, text in connection.execute(query) if is_cell(where, json.loads(text))]


def is_cell(where: Mapping[str, object], factors: Mapping[str, object]) -> bool:
    """Whether a cell of these factors is meant."""
    short = {name.rpartition(".")[2]: value for name, value in factors.items()}
    return matches(where, {**short, **factors})


def run_query() -> Select[Any]:
    """Every run with its cell, kernel and agent, and its place in the newest set it is in."""
    links = schema.set_runs
    newest = and_(links.c.set_id == schema.runs.c.set_id, links.c.run_id == schema.runs.c.id)
    return (
        select(
            *_RUN, *_CELL,
            schema.kernels.c.name.label("kernel"), schema.kernels.c.release,
            schema.agents.c.sha256.label("agent"),
            func.coalesce(links.c.folder, "").label("folder"),
        )
        .join(schema.cells, schema.cells.c.id == schema.runs.c.cell_id)
        .join(schema.kernels, schema.kernels.c.id == schema.runs.c.kernel_id)
        .join(schema.agents, schema.agents.c.id == schema.runs.c.agent_id)
        .outerjoin(links, newest)
    )  # fmt: skip


def runs(
    connection: Connection,
    *,
    where: Mapping[str, Any] | None = None,
    scenario: str | None = None,
    sort: str = "-made",
    limit: int = 100,
    offset: int = 0,
    **filters: Any,
) -> list[RunRow]:
    """Runs, the newest first, or as `sort` says: a key of `SORTS`, from the end with a minus before it."""
    query = run_query()
    if where:
        query = query.where(schema.runs.c.cell_id.in_(cell_ids(connection, scenario, where)))
    for condition in of_runs({"scenario": scenario, **filters}):
        query = query.where(condition)
    columns = SORTS[sort.removeprefix("-")]
    order: list[ColumnElement[Any]] = [
        column.desc() if sort.startswith("-") else column for column in columns
    ]
    order += [column for column in PLACE if column not in columns]
    found = connection.execute(query.order_by(*order).limit(limit).offset(offset))
    return [RunRow(**plain(row)) for row in found.mappings()]


def pairs(
    connection: Connection,
    base: str,
    candidate: str,
    *,
    scenario: str | None = None,
    limit: int = 100,
    offset: int = 0,
) -> list[Pair]:
    """Runs of the same cell, seed and repetition on two kernels, sorted by cell and repetition."""
    kernels = {side: select(schema.kernels.c.id).where(of_kernel(word)) for side, word in (
        ("base", base), ("candidate", candidate))}  # fmt: skip
    one, two = schema.runs.alias(), schema.runs.alias()
    same = [one.c[name] == two.c[name] for name in ("cell_id", "repetition", "seed", "agent_id", "lab")]
    query = (
        select(one.c.id, two.c.id)
        .join(two, and_(*same))
        .join(schema.cells, schema.cells.c.id == one.c.cell_id)
        .where(one.c.kernel_id.in_(kernels["base"]), two.c.kernel_id.in_(kernels["candidate"]))
        .order_by(schema.cells.c.scenario, schema.cells.c.number, one.c.repetition, one.c.id, two.c.id)
        .limit(limit)
        .offset(offset)
    )
    if scenario:
        query = query.where(named(scenario))
    found = [(first, second) for first, second in connection.execute(query)]
    known = by_id(connection, {place for pair in found for place in pair})
    return [Pair(known[first], known[second]) for first, second in found]


def by_id(connection: Connection, ids: set[int]) -> dict[int, RunRow]:
    """Runs by their numbers."""
    rows = connection.execute(run_query().where(schema.runs.c.id.in_(sorted(ids)))).mappings()
    return {row["id"]: RunRow(**plain(row)) for row in rows}


def sets(
    connection: Connection,
    *,
    scenario: str | None = None,
    tag: str | None = None,
    since: str | None = None,
    digest: str | None = None,
    kind: str | None = None,
    limit: int = 100,
    offset: int = 0,
) -> list[SetRow]:
    """Result sets, the newest first."""
    table = schema.sets
    names = [name for name in SetRow.__slots__ if name not in ("runs", "kernels", "tags")]
    query = select(*(table.c[name] for name in names))
    if scenario:
        folder = scenario.rstrip("/") + "/"
        query = query.where(
            or_(table.c.scenario == scenario, func.substr(table.c.scenario, 1, len(folder)) == folder)
        )
    if tag:
        query = query.where(table.c.id.in_(tagged("set", tag)))
    if since:
        query = query.where(table.c.made >= since)
    if digest:
        query = query.where(table.c.digest == digest)
    if kind:
        query = query.where(table.c.kind == kind)
    query = query.order_by(table.c.made.desc(), table.c.scenario, table.c.id).limit(limit).offset(offset)
    return _set_rows(connection, [plain(row) for row in connection.execute(query).mappings()])


def _set_rows(connection: Connection, found: Sequence[Mapping[str, Any]]) -> list[SetRow]:
    """Rows of the table of sets with what other tables know of them."""
    ids = [row["id"] for row in found]
    kernels = _kernels_of(connection, ids)
    tags = tags_of(connection, "set", ids)
    return [
        SetRow(
            **row,
            runs=sum(kernels.get(row["id"], {}).values()),
            kernels=sorted(kernels.get(row["id"], {})),
            tags=tags.get(row["id"], []),
        )
        for row in found
    ]


def _kernels_of(connection: Connection, ids: Sequence[int]) -> dict[int, dict[str, int]]:
    links = schema.set_runs
    query = (
        select(links.c.set_id, schema.kernels.c.name, func.count())
        .join(schema.runs, schema.runs.c.id == links.c.run_id)
        .join(schema.kernels, schema.kernels.c.id == schema.runs.c.kernel_id)
        .where(links.c.set_id.in_(ids))
        .group_by(links.c.set_id, schema.kernels.c.name)
    )
    counts: dict[int, dict[str, int]] = {}
    for place, name, count in connection.execute(query):
        counts.setdefault(place, {})[name] = count
    return counts


def comparisons(
    connection: Connection,
    *,
    verdict: str | None = None,
    name: str | None = None,
    tag: str | None = None,
    since: str | None = None,
    digest: str | None = None,
    limit: int = 100,
    offset: int = 0,
) -> list[ComparisonRow]:
    """Comparisons, the newest first; `name` is of either side."""
    table = schema.comparisons
    query = select(
        *(table.c[column] for column in ComparisonRow.__slots__ if column not in ("tags", "departing"))
    )
    if verdict:
        query = query.where(table.c.verdict == verdict)
    if name:
        query = query.where(or_(table.c.base == name, table.c.candidate == name))
    if tag:
        query = query.where(table.c.id.in_(tagged("comparison", tag)))
    if since:
        query = query.where(table.c.made >= since)
    if digest:
        query = query.where(table.c.digest == digest)
    query = query.order_by(table.c.made.desc(), table.c.id.desc()).limit(limit).offset(offset)
    found = [plain(row) for row in connection.execute(query).mappings()]
    tags = tags_of(connection, "comparison", [row["id"] for row in found])
    places = Counter(departing(connection, [row["id"] for row in found]).values())
    return [ComparisonRow(**row, tags=tags.get(row["id"], []), departing=places[row["id"]]) for row in found]


# How the reason of a cell begins that is worse for more than a metric (`rushhour.verdict.cell`).
_HARMED = ("the expectation %", "the candidate%", "the base%")


def departing(connection: Connection, comparisons: Sequence[int]) -> dict[int, int]:
    """The cells of these comparisons that depart: worse only in metrics without a better side."""
    cells, metrics = schema.verdict_cells, schema.verdict_metrics
    decided = metrics.c.verdict == "worse"
    query = (
        select(cells.c.id, cells.c.comparison_id)
        .join(metrics, metrics.c.verdict_cell_id == cells.c.id)
        .where(cells.c.comparison_id.in_(comparisons), cells.c.verdict == "worse", decided)
        .where(*(cells.c.reason.not_like(begin) for begin in _HARMED))
        .group_by(cells.c.id, cells.c.comparison_id)
        .having(func.max(case((metrics.c.better == "none", 0), else_=1)) == 0)
    )
    return {row.id: row.comparison_id for row in connection.execute(query)}


def verdicts(
    connection: Connection,
    *,
    comparison: int | None = None,
    scenario: str | None = None,
    verdict: str | None = None,
    limit: int = 100,
    offset: int = 0,
) -> list[CellVerdict]:
    """Judged cells, of the newest comparison first, in its order."""
    table = schema.verdict_cells
    names = [name for name in CellVerdict.__slots__ if name != "departs"]
    columns = [table.c[{"cell": "number"}.get(name, name)].label(name) for name in names]
    query = select(*columns).join(schema.comparisons, schema.comparisons.c.id == table.c.comparison_id)
    if comparison is not None:
        query = query.where(table.c.comparison_id == comparison)
    if scenario:
        query = query.where(table.c.scenario == scenario)
    if verdict:
        query = query.where(table.c.verdict == verdict)
    order = (schema.comparisons.c.made.desc(), table.c.comparison_id.desc(), table.c.id)
    found = connection.execute(query.order_by(*order).limit(limit).offset(offset))
    rows = [plain(row) for row in found.mappings()]
    mere = departing(connection, sorted({row["comparison_id"] for row in rows}))
    return [CellVerdict(**row, departs=row["id"] in mere) for row in rows]


def verdict_metrics(connection: Connection, cell: int) -> list[MetricVerdict]:
    """The judged metrics of a cell of a comparison, in its order."""
    table = schema.verdict_metrics
    query = select(*(table.c[name] for name in MetricVerdict.__slots__))
    found = connection.execute(query.where(table.c.verdict_cell_id == cell).order_by(table.c.id))
    return [MetricVerdict(**row) for row in found.mappings()]


def kernels(connection: Connection) -> list[KernelRow]:
    """Every kernel that ran, in no order."""
    table = schema.kernels
    query = (
        select(
            table.c.id, table.c.name, table.c.release, table.c.identity,
            func.count(schema.runs.c.id.distinct()).label("runs"),
            func.min(schema.sets.c.made).label("first"),
        )
        .outerjoin(schema.runs, schema.runs.c.kernel_id == table.c.id)
        .outerjoin(schema.set_runs, schema.set_runs.c.run_id == schema.runs.c.id)
        .outerjoin(schema.sets, schema.sets.c.id == schema.set_runs.c.set_id)
        .group_by(table.c.id)
    )  # fmt: skip
    return [KernelRow(**plain(row)) for row in connection.execute(query).mappings()]


def tags_of(connection: Connection, kind: str, ids: Sequence[int]) -> dict[int, list[str]]:
    """The tags of sets or comparisons."""
    table = schema.tags
    query = select(table.c.owner_id, table.c.tag).where(table.c.kind == kind, table.c.owner_id.in_(ids))
    found: dict[int, list[str]] = {}
    for place, tag in connection.execute(query.order_by(table.c.tag)):
        found.setdefault(place, []).append(tag)
    return found


def plain(row: RowMapping) -> dict[str, Any]:
    """A row with its JSON texts read."""
    return {
        str(name): json.loads(value) if name in _JSON and isinstance(value, str) else value
        for name, value in row.items()
    }

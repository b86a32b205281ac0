"""What a question can be narrowed by: conditions on runs and their cells, kernels and sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, func, or_, select, tuple_

from rushhour.store import schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sqlalchemy import Column, ColumnElement, Select

    Condition = Callable[[Any], ColumnElement[bool]]

# So many digits of an image's hash say which.
_IMAGE = 6
# The length of a whole key; of less it is the beginning.
_KEY = 64
PLACE = (schema.cells.c.scenario, schema.cells.c.number, schema.runs.c.id)
SORTS: Mapping[str, Sequence[Column[Any]]] = {
    "made": (schema.runs.c.made,),
    "scenario": (schema.cells.c.scenario, schema.cells.c.number),
    "kernel": (schema.kernels.c.name, schema.kernels.c.release),
    "seed": (schema.runs.c.seed,),
    "lab": (schema.runs.c.lab,),
    "virtual": (schema.runs.c.virtual_s,),
    "elapsed": (schema.runs.c.elapsed_s,),
}
"""What runs can be sorted by."""


def named(scenario: str) -> ColumnElement[bool]:
    """Cells of this scenario, or (`suite/`, `suite`) of the study."""
    column = schema.cells.c.scenario
    folder = scenario.rstrip("/") + "/"
    return or_(column == scenario, func.substr(column, 1, len(folder)) == folder)


def of_kernel(word: str) -> ColumnElement[bool]:
    """Kernels of this name, release, or with an image that begins so."""
    table = schema.kernels
    called = or_(table.c.name == word, table.c.release == word)
    if len(word) < _IMAGE:
        return called
    return or_(called, func.substr(table.c.image_sha256, 1, len(word)) == word)


def tagged(kind: str, tag: str) -> Select[Any]:
    return select(schema.tags.c.owner_id).where(schema.tags.c.kind == kind, schema.tags.c.tag == tag)


def _judged(verdict: str) -> ColumnElement[bool]:
    """Of cells with the kernel that was the candidate, where a comparison came to this verdict."""
    cells, judged, whole = schema.cells.c, schema.verdict_cells.c, schema.comparisons.c
    found = (
        select(cells.id, whole.candidate_kernel_id)
        .join(schema.verdict_cells, and_(judged.scenario == cells.scenario, judged.number == cells.number))
        .join(schema.comparisons, whole.id == judged.comparison_id)
        .where(judged.verdict == verdict, whole.candidate_kernel_id.is_not(None))
    )
    return tuple_(schema.runs.c.cell_id, schema.runs.c.kernel_id).in_(found)


def _of_kernel(word: str) -> ColumnElement[bool]:
    # Of the few kernels those that are meant, so that their runs are found by an index.
    return schema.runs.c.kernel_id.in_(select(schema.kernels.c.id).where(of_kernel(word)))


def _key(key: str) -> ColumnElement[bool]:
    column = schema.runs.c.key
    return column == key if len(key) == _KEY else func.substr(column, 1, len(key)) == key


def _until(until: str) -> ColumnElement[bool]:
    # `2026-11-21` ends with that day: what begins so belongs to it.
    column = schema.runs.c.made
    return or_(column <= until, func.substr(column, 1, len(until)) == until)


def _in_sets(sets: Select[Any]) -> ColumnElement[bool]:
    links = schema.set_runs.c
    return schema.runs.c.id.in_(select(links.run_id).where(links.set_id.in_(sets)))


RUNS: Mapping[str, Condition] = {
    "scenario": named,
    "cell": lambda number: schema.cells.c.number == number,
    "kernel": _of_kernel,
    "kernel_id": lambda number: schema.runs.c.kernel_id == number,
    "key": _key,
    "lab": lambda name: schema.runs.c.lab == name,
    "valid": lambda valid: schema.runs.c.valid == valid,
    "since": lambda since: schema.runs.c.made >= since,
    "until": _until,
    "set_id": lambda number: _in_sets(select(schema.sets.c.id).where(schema.sets.c.id == number)),
    "tag": lambda tag: _in_sets(tagged("set", tag)),
    "verdict": _judged,
}
"""What runs can be narrowed by."""


def of_runs(filters: Mapping[str, Any]) -> Iterator[ColumnElement[bool]]:
    """The conditions of filters by name; None and an empty text are none."""
    return (RUNS[name](value) for name, value in filters.items() if value is not None and value != "")

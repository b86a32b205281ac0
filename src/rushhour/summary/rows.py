"""Rows of an index: what it says of one run, as Arrow and back.

Takes records, gives `Part`s, one for each run, and Arrow made of them. Arrow here is arro3's, which is small
and quick to import.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, cast

from rushhour.metrics.value import MetricValue
from rushhour.summary.measured import metrics_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from arro3.core import ChunkedArray, Table

    from rushhour.record.record import Record

FORMAT = "rushhour-index/1"
_FACTOR = "factor."
# The columns of the index before the factors and after them: name, type.
_RUN = {
    "key": "string",
    "folder": "string",
    "scenario": "string",
    "cell": "int64",
    "repetition": "int64",
    "seed": "int64",
    "kernel": "string",
    "release": "string",
    "lab": "string",
    "valid": "bool",
}
_METRIC = {field.name: "float64" if field.name == "value" else "string" for field in fields(MetricValue)}


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of one run.

    `about` has the columns before the factors, by name; `factors` are as text, by their key in the scenario.
    """

    about: Mapping[str, Any]
    factors: Mapping[str, str]
    values: Sequence[MetricValue]

    @property
    def folder(self) -> str:
        """The run's folder."""
        return str(self.about["folder"])


def of_run(record: Record) -> Part:
    """The rows of one run, measured now or known from before (`rushhour.summary.measured`)."""
    factors = {name: str(value) for name, value in record.factors.items()}
    return Part(_about(record), factors, metrics_of(record))


def parts_of(table: Table) -> list[Part]:
    """An index by run."""
    # Columns of a run are the same in all its rows: one of each is enough.
    folders, values = column(table, "folder"), list(_values(table))
    starts = [place for place, name in enumerate(folders) if not place or folders[place - 1] != name]
    edges = [*starts, len(folders)]
    about = {name: _at(table, name, starts) for name in _RUN}
    factors = {
        name.removeprefix(_FACTOR): _at(table, name, starts)
        for name in table.column_names
        if name.startswith(_FACTOR)
    }
    return [
        Part(
            {name: cells[number] for name, cells in about.items()},
            {name: cells[number] for name, cells in factors.items() if cells[number] is not None},
            values[start : edges[number + 1]],
        )
        for number, start in enumerate(starts)
    ]


def values_of(table: Table) -> dict[str, list[MetricValue]]:
    """The metric values of each run of an index, by its folder."""
    known: dict[str, list[MetricValue]] = {}
    for folder, value in zip(column(table, "folder"), _values(table), strict=True):
        known.setdefault(folder, []).append(value)
    return known


def table(found: Iterable[Part], factors: Iterable[str] = ()) -> Table:
    """The rows of runs as Arrow, the columns in the order of the format, which the schema names.

    There is a column for each of `factors`, too, where no run of these has it.
    """
    from arro3.core import Array, DataType, Field, Schema, Table  # noqa: PLC0415 - only where rows are written

    rows = list(found)
    names = sorted({*factors, *(name for part in rows for name in part.factors)})
    kinds = {"string": DataType.string(), "int64": DataType.int64()}
    kinds |= {"float64": DataType.float64(), "bool": DataType.bool()}
    # One column after the other: as lists all together would be several times as large as the table.
    columns: Iterator[tuple[str, str, list[Any]]] = chain(
        ((name, kind, _spread(rows, [part.about[name] for part in rows])) for name, kind in _RUN.items()),
        (
            (_FACTOR + name, "string", _spread(rows, [part.factors.get(name) for part in rows]))
            for name in names
        ),
        ((name, kind, _each(rows, name)) for name, kind in _METRIC.items()),
    )
    made = [(Field(name, kinds[kind]), Array(cells, type=kinds[kind])) for name, kind, cells in columns]
    schema = Schema([field for field, _ in made], metadata={"format": FORMAT})
    return Table.from_arrays([array for _, array in made], schema=schema)


def _spread(rows: Sequence[Part], cells: Sequence[Any]) -> list[Any]:
    """What a run has once, in each of its rows."""
    each = (repeat(cell, len(part.values)) for part, cell in zip(rows, cells, strict=True))
    return [*chain.from_iterable(each)]


def _each(rows: Sequence[Part], name: str) -> list[object]:
    return [getattr(value, name) for part in rows for value in part.values]


def column(found: Table, name: str) -> list[Any]:
    """The cells of a column; equal words are one object."""
    cells = cast("list[Any]", found.column(name).to_pylist())
    if name == "value":
        return cells
    # Few words in many rows: each is kept once.
    words: dict[Any, Any] = {}
    return [words.setdefault(cell, cell) for cell in cells]


def _at(found: Table, name: str, places: Sequence[int]) -> list[Any]:
    cells: ChunkedArray = found.column(name)
    return [cells.slice(place, 1).to_pylist()[0] for place in places]


def _values(found: Table) -> Iterator[MetricValue]:
    return map(MetricValue, *(column(found, name) for name in _METRIC))


def _about(record: Record) -> Mapping[str, Any]:
    manifest = record.manifest
    return {
        "key": record.key,
        "folder": record.path.name,
        "scenario": manifest.scenario.name or None,
        "cell": _stored(manifest.cell.index),
        "repetition": _stored(manifest.repetition),
        "seed": _stored(manifest.seed),
        "kernel": manifest.kernel.name or None,
        "release": manifest.kernel.release or None,
        "lab": manifest.lab,
        "valid": record.valid,
    }


def _stored(value: int | None) -> int | None:
    """A number where a column of 64 bits has room for it."""
    return value if value is not None and abs(value) < 1 << 63 else None

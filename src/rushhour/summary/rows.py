"""Rows of an index: what it says of one run, as Arrow and back.

Takes records, gives `Part`s, one for each run, and Arrow made of them. Arrow here is arro3's, which is small
and quick to import.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from rushhour.summary.coded import Coded
from rushhour.summary.lines import COLUMNS, Lines, joined
from rushhour.summary.measured import lines_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from arro3.core import Table

    from rushhour.metrics.value import MetricValue
    from rushhour.record.record import Record

    Cells = Mapping[str, Sequence[Any]]
    """The cells of each column of an index."""

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
_METRIC = {name: "float64" if name == "value" else "string" for name in COLUMNS}


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
    return Part(_about(record), factors, lines_of(record))


def parts_of(table: Table) -> list[Part]:
    """An index by run."""
    return parts_in(cells_of(table))


def parts_in(cells: Cells) -> list[Part]:
    """The same by its cells."""
    # Columns of a run are the same in all its rows: one of each is enough.
    runs = _runs(cells)
    factors = {name.removeprefix(_FACTOR): cells[name] for name in cells if name.startswith(_FACTOR)}
    return [
        Part(
            {name: cells[name][begin] for name in _RUN},
            {name: column[begin] for name, column in factors.items() if column[begin] is not None},
            _lines(cells, begin, end),
        )
        for begin, end in runs
    ]


def values_of(table: Table) -> dict[str, Sequence[MetricValue]]:
    """The metric values of each run of an index, by its folder."""
    return values_in(cells_of(table))


def values_in(cells: Cells) -> dict[str, Sequence[MetricValue]]:
    """The same by its cells."""
    return {cells["folder"][begin]: _lines(cells, begin, end) for begin, end in _runs(cells)}


def _runs(cells: Cells) -> list[tuple[int, int]]:
    """From where to where the rows of each run are."""
    folders = cells["folder"]
    coded = folders if isinstance(folders, Coded) else Coded.of(folders)
    starts = coded.starts()
    return [*zip(starts, [*starts[1:], len(folders)], strict=True)]


def _lines(cells: Cells, begin: int, end: int) -> Lines:
    return Lines([cells[name][begin:end] for name in COLUMNS])


def cells_of(found: Table) -> Cells:
    """The cells of an index; equal words are one object."""
    return {name: column(found, name) for name in found.column_names}


def table(found: Iterable[Part], factors: Iterable[str] = ()) -> Table:
    """The rows of runs as Arrow, the columns in the order of the format, which the schema names.

    There is a column for each of `factors`, too, where no run of these has it.
    """
    return table_in(columns(found, factors))


def table_in(every: Iterable[tuple[str, str, Sequence[Any]]]) -> Table:
    """The same of columns, each with its name and type."""
    from arro3.core import Array, DataType, Field, Schema, Table  # noqa: PLC0415 - only where rows are written

    kinds = {"string": DataType.string(), "int64": DataType.int64()}
    kinds |= {"float64": DataType.float64(), "bool": DataType.bool()}
    made = [(Field(name, kinds[kind]), Array(cells[:], type=kinds[kind])) for name, kind, cells in every]
    schema = Schema([field for field, _ in made], metadata={"format": FORMAT})
    return Table.from_arrays([array for _, array in made], schema=schema)


def columns(found: Iterable[Part], factors: Iterable[str] = ()) -> Iterator[tuple[str, str, Sequence[Any]]]:
    """The columns of `table`, one after the other: all together are several times as large as the table."""
    rows = list(found)
    names = sorted({*factors, *(name for part in rows for name in part.factors)})
    times = [len(part.values) for part in rows]
    for name, kind in _RUN.items():
        yield name, kind, Coded.spread([part.about[name] for part in rows], times)
    for name in names:
        yield _FACTOR + name, "string", Coded.spread([part.factors.get(name) for part in rows], times)
    for name, kind in _METRIC.items():
        cells = joined([part.values for part in rows], name)
        if kind == "float64":
            yield name, kind, [cell if cell is None else float(cell) for cell in cells]
        else:
            yield name, kind, cells


def column(found: Table, name: str) -> Sequence[Any]:
    """The cells of a column; equal words are one object."""
    cells = found.column(name)
    return cast("list[Any]", cells.to_pylist()) if name == "value" else Coded.of_arrow(cells)


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

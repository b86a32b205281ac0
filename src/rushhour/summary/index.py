"""The index of a result set: one row per run and metric, as Parquet (docs/record-format.md).

Takes records, gives `Part`s, one for each run, and Arrow or a file made of them. Arrow here is arro3's, which
is small and quick to import; as pyarrow's tables the index is given by `rushhour.record.frames`.
"""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass, fields
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, cast

from rushhour.errors import RecordError
from rushhour.files import rooms
from rushhour.files.regular import checksum
from rushhour.metrics.value import MetricValue
from rushhour.record.seal import MANIFEST
from rushhour.summary.measured import metrics_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from arro3.core import ChunkedArray, Table

    from rushhour.record.record import Record, ResultSet

INDEX = "index.parquet"
FORMAT = "rushhour-index/1"
_AGAIN = "delete it; it is made again from the records"
_MAGIC = b"PAR1"
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


def parts(results: ResultSet) -> list[Part]:
    """The index of a result set by run: `index.parquet` if it is that of these records, else measured now.

    Raises:
        RecordError: the index is damaged or of another version, or a record was changed.
    """
    table = known(results)
    if table is None:
        return [of_run(record) for record in results]
    return parts_of(table)


def parts_of(table: Table) -> list[Part]:
    """An index by run."""
    # Columns of a run are the same in all its rows: one of each is enough.
    folders, values = _column(table, "folder"), list(_values(table))
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
            {name: column[number] for name, column in about.items()},
            {name: column[number] for name, column in factors.items() if column[number] is not None},
            values[start : edges[number + 1]],
        )
        for number, start in enumerate(starts)
    ]


def values(results: ResultSet) -> dict[str, list[MetricValue]]:
    """The metric values of each run by its folder, from where `parts` takes them.

    Raises:
        RecordError: the index is damaged or of another version, or a record was changed.
    """
    table = known(results)
    if table is None:
        return {record.path.name: metrics_of(record) for record in results}
    return values_of(table)


def values_of(table: Table) -> dict[str, list[MetricValue]]:
    """The metric values of each run of an index, by its folder."""
    known: dict[str, list[MetricValue]] = {}
    for folder, value in zip(_column(table, "folder"), _values(table), strict=True):
        known.setdefault(folder, []).append(value)
    return known


def known(results: ResultSet) -> Table | None:
    """The index of a set, if it is as it was written, and of the records that are there now.

    Raises:
        RecordError: it is damaged or of another version, or a record cannot be read.
    """
    path = results.path / INDEX
    if not path.is_file():
        return None
    found = read(path)
    seal = found.schema.metadata_str.get("seal")
    return found if seal is not None and seal == _seal(found, _of_records(results)) else None


def _of_records(results: ResultSet) -> str:
    """What tells these records from others: their folders and manifests."""
    try:
        told = [f"{folder.name} {checksum(folder / MANIFEST)}\n" for folder in results.folders()]
    except OSError as error:
        raise RecordError(
            f"cannot read the manifest: {error.strerror}",
            where=str(error.filename),
            hint="run the cell again with --fresh",
        ) from error
    return hashlib.sha256("".join(told).encode("utf-8", "surrogateescape")).hexdigest()


def _seal(found: Table, records: str) -> str:
    """Of which records it is, and the checksum of all cells: the file's bytes change with the library."""
    cells = {name: _column(found, name) for name in found.column_names}
    content = hashlib.sha256(json.dumps(cells, ensure_ascii=True).encode()).hexdigest()
    return json.dumps({"records": records, "content": content})


def table(found: Iterable[Part]) -> Table:
    """The rows of runs as Arrow, the columns in the order of the format, which the schema names."""
    from arro3.core import Array, DataType, Field, Schema, Table  # noqa: PLC0415 - only where rows are written

    rows = list(found)
    names = sorted({name for part in rows for name in part.factors})
    factors = [(name, _spread(rows, [part.factors.get(name) for part in rows])) for name in names]
    kinds = {"string": DataType.string(), "int64": DataType.int64()}
    kinds |= {"float64": DataType.float64(), "bool": DataType.bool()}
    columns: list[tuple[str, str, list[Any]]] = [
        *((name, kind, _spread(rows, [part.about[name] for part in rows])) for name, kind in _RUN.items()),
        *((_FACTOR + name, "string", cells) for name, cells in factors),
        *((name, kind, _each(rows, name)) for name, kind in _METRIC.items()),
    ]
    schema = Schema([Field(name, kinds[kind]) for name, kind, _ in columns], metadata={"format": FORMAT})
    return Table.from_arrays([Array(cells, type=kinds[kind]) for _, kind, cells in columns], schema=schema)


def read(path: Path) -> Table:
    """An index as Arrow.

    Raises:
        RecordError: it is damaged or of another version.
    """
    from arro3.io import read_parquet  # noqa: PLC0415 - only where there is an index

    try:
        _look(path)
        found = read_parquet(path, batch_size=1 << 20).read_all()
    except BaseException as error:  # a panic of the library's is no Exception
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        raise RecordError(f"cannot read the index: {error}", where=str(path), hint=_AGAIN) from error
    if found.schema.metadata_str.get("format") != FORMAT:
        raise RecordError(
            "the index is not of the format that this program reads", where=str(path), hint=_AGAIN
        )
    return found


def write(results: ResultSet) -> Path:
    """Measure every run and write `index.parquet` (zstd), atomically.

    Raises:
        RecordError: a record cannot be read, or the index cannot be written.
    """
    path = results.path / INDEX
    rows = [of_run(record) for record in results]
    put(rows, path, _of_records(results))
    return path


def put(found: Iterable[Part], path: Path, records: str = "") -> None:
    """Write an index to `path` (Parquet, zstd; equal rows give equal bytes), atomically.

    `records` says of which records it is.

    Raises:
        RecordError: it cannot be written.
    """
    from arro3.io import write_parquet  # noqa: PLC0415 - as above

    # In memory first: on a full disk the library would panic, and say so on standard error.
    whole = io.BytesIO()
    rows = table(found)
    # The format is in the schema; the library writes several notes in any order.
    write_parquet(rows, whole, compression="zstd(3)", key_value_metadata={"seal": _seal(rows, records)})
    try:
        rooms.put(path, whole.getbuffer())
    except OSError as error:
        raise RecordError(
            f"cannot write the index: {error.strerror}", where=str(path), hint="is there space left?"
        ) from error


def _spread(rows: Sequence[Part], cells: Sequence[Any]) -> list[Any]:
    """What a run has once, in each of its rows."""
    each = (repeat(cell, len(part.values)) for part, cell in zip(rows, cells, strict=True))
    return [*chain.from_iterable(each)]


def _each(rows: Sequence[Part], name: str) -> list[object]:
    return [getattr(value, name) for part in rows for value in part.values]


def _column(found: Table, name: str) -> list[Any]:
    return cast("list[Any]", found.column(name).to_pylist())


def _at(found: Table, name: str, places: Sequence[int]) -> list[Any]:
    column: ChunkedArray = found.column(name)
    return [column.slice(place, 1).to_pylist()[0] for place in places]


def _values(found: Table) -> Iterator[MetricValue]:
    return map(MetricValue, *(_column(found, name) for name in _METRIC))


def _look(path: Path) -> None:
    """Refuse what is no whole Parquet file; the library panics at it, and says so on standard error."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        end = file.read()
    if size < 12 or end[4:] != _MAGIC or int.from_bytes(end[:4], "little") > size - 12:
        raise ValueError("it is not a complete Parquet file")


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

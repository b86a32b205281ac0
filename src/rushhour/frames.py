"""Frames: tables, metrics and whole result sets as Arrow, and the index of a result set as Parquet.

Takes records, gives `pyarrow.Table`s, from which pandas and polars read without further ado. This module is
imported only when a frame is asked for.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rushhour import decode
from rushhour.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rushhour.metrics.value import MetricValue
    from rushhour.record import Record, ResultSet
    from rushhour.tables import Table

INDEX = "index.parquet"
_FORMAT = b"rushhour-index/1"
_AGAIN = "delete it; it is made again from the records"

# The columns of the index before the factors: name, type, what it is taken from.
_RUN = pa.schema(
    [
        ("key", pa.string()),
        ("folder", pa.string()),
        ("scenario", pa.string()),
        ("cell", pa.int64()),
        ("repetition", pa.int64()),
        ("seed", pa.int64()),
        ("kernel", pa.string()),
        ("release", pa.string()),
        ("lab", pa.string()),
        ("valid", pa.bool_()),
    ]
)
_METRIC = pa.schema(
    [
        ("metric", pa.string()),
        ("scope", pa.string()),
        ("value", pa.float64()),
        ("unit", pa.string()),
        ("note", pa.string()),
    ]
)


def table(raw: Table) -> pa.Table:
    """A raw table as Arrow; kernel structures become columns, bytes that nothing is known of stay bytes."""
    rows = raw.rows
    columns: dict[str, Any] = {}
    for name in rows.dtype.names or ():
        if rows.dtype[name].kind != "V":
            columns[name] = _array(rows[name])
        elif raw.name == "tcp_info" and name in ("info", "skmem"):
            known = decode.tcp_info(rows[name]) if name == "info" else decode.skmem(rows[name])
            prefix = "tcpi_" if name == "info" else "skmem_"
            columns.update({prefix + field: _array(known[field]) for field in known.dtype.names or ()})
        elif raw.name == "tcp_info" and name == "ccinfo":
            columns.update(_by_kind(rows["cc"], _ccinfo, rows))
        elif raw.name == "qdisc" and name == "xstats":
            columns.update(_by_kind(rows["kind"], _xstats, rows))
        else:
            columns[name] = pa.array([bytes(value) for value in rows[name]], pa.binary())
    return pa.table(columns)


def metrics(values: Iterable[MetricValue]) -> pa.Table:
    """Metric values as Arrow: metric, scope, value (null where undefined), unit, note."""
    values = list(values)
    return pa.table({field.name: _column(values, field) for field in _METRIC})


def read_index(results: ResultSet) -> pa.Table:
    """The index of a result set: from `index.parquet` if it is there, else measured now.

    Raises:
        RecordError: the index is damaged or of another version.
    """
    path = results.path / INDEX
    if not path.is_file():
        return _measure(results)
    try:
        index = pq.ParquetFile(path).read()
    except (pa.ArrowException, OSError) as error:
        raise RecordError(f"cannot read the index: {error}", where=str(path), hint=_AGAIN) from error
    if (index.schema.metadata or {}).get(b"format") != _FORMAT:
        raise RecordError(
            "the index is not of the format that this program reads",
            where=str(path),
            hint=_AGAIN,
        )
    return index


def write_index(results: ResultSet) -> Path:
    """Measure every run and write `index.parquet` (zstd), atomically.

    Raises:
        RecordError: a record cannot be read, or the index cannot be written.
    """
    path = results.path / INDEX
    put(_measure(results), path)
    return path


def put(index: pa.Table, path: Path) -> None:
    """Write an index to `path` (Parquet, zstd; equal rows give equal bytes), atomically.

    Raises:
        RecordError: it cannot be written.
    """
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{INDEX}.", delete=False) as file:
            temporary = Path(file.name)
        try:
            # In one piece: how rows came together must not show in the bytes.
            pq.write_table(index.combine_chunks(), temporary, compression="zstd")
            temporary.chmod(0o644)
            temporary.replace(path)
        finally:
            with suppress(OSError):
                temporary.unlink()
    except OSError as error:
        raise RecordError(
            f"cannot write the index: {error.strerror}", where=str(path), hint="is there space left?"
        ) from error


def ordered(index: pa.Table) -> pa.Table:
    """The columns of an index in the order of the format, which it then names."""
    factors = sorted(name for name in index.column_names if name.startswith("factor."))
    order = [*_RUN.names, *factors, *_METRIC.names]
    return index.select(order).replace_schema_metadata({"format": _FORMAT.decode()})


def of_run(record: Record) -> pa.Table:
    """The rows of one run, measured now."""
    measured = metrics(record.metrics())
    about = _about(record)
    count = measured.num_rows
    columns = {field.name: pa.array([about[field.name]] * count, field.type) for field in _RUN}
    for name, value in record.factors.items():
        columns[f"factor.{name}"] = pa.array([str(value)] * count, pa.string())
    return pa.table({**columns, **{name: measured[name] for name in _METRIC.names}})


def _measure(results: ResultSet) -> pa.Table:
    # One small Arrow table per run, so that the records themselves need not stay in memory.
    parts = [of_run(record) for record in results]
    return ordered(pa.concat_tables(parts, promote_options="default") if parts else pa.table({}))


def _about(record: Record) -> Mapping[str, Any]:
    manifest = record.manifest

    def text(part: str, name: str) -> str | None:
        value = manifest.get(part)
        found = value.get(name) if isinstance(value, dict) else None
        return None if found is None else str(found)

    def number(value: object) -> int | None:
        return value if isinstance(value, int) and abs(value) < 1 << 63 else None

    cell = manifest.get("cell")
    return {
        "key": record.key,
        "folder": record.path.name,
        "scenario": text("scenario", "name"),
        "cell": number(cell.get("index") if isinstance(cell, dict) else None),
        "repetition": number(manifest.get("repetition")),
        "seed": number(manifest.get("seed")),
        "kernel": text("kernel", "name"),
        "release": text("kernel", "release"),
        "lab": None if manifest.get("lab") is None else str(manifest["lab"]),
        "valid": record.valid,
    }


def _column(values: list[MetricValue], field: pa.Field) -> pa.Array:
    return pa.array([getattr(value, field.name) for value in values], field.type)


def _array(values: np.ndarray[Any, Any]) -> pa.Array:
    if values.dtype.kind == "S":
        distinct, codes = np.unique(values, return_inverse=True)
        texts = [value.decode("utf-8", "replace") for value in distinct.tolist()]
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(texts, pa.string()))
    return pa.array(np.ascontiguousarray(values))


def _ccinfo(rows: decode.Rows, kind: bytes) -> decode.Rows | None:
    return decode.cc_info(rows["ccinfo"], kind)


def _xstats(rows: decode.Rows, kind: bytes) -> decode.Rows | None:
    return decode.xstats(rows["xstats"], rows["xstats_len"], kind)


def _by_kind(kinds: np.ndarray[Any, Any], known: Any, rows: decode.Rows) -> dict[str, pa.Array]:
    # Columns that only some kinds of row have are null in the others.
    columns: dict[str, np.ndarray[Any, Any]] = {}
    for kind in np.unique(kinds):
        mine = kinds == kind
        fields = known(rows[mine], bytes(kind))
        for name in () if fields is None else fields.dtype.names or ():
            column = columns.setdefault(name, np.full(len(rows), np.nan))
            column[mine] = fields[name]
    return {name: pa.array(column, from_pandas=True) for name, column in columns.items()}

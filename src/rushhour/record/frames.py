"""Frames: tables, metrics and the index of a result set as `pyarrow.Table`s.

pandas and polars read from these without further ado. No command needs them: they are for people's own
programs, and pyarrow is the extra `frames` of this package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rushhour.record import decode
from rushhour.summary import index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow.dataset as pads

    from rushhour.metrics.value import MetricValue
    from rushhour.record.result_set import ResultSet
    from rushhour.record.tables import Table

_METRIC = pa.schema(
    [
        ("metric", pa.string()),
        ("scope", pa.string()),
        ("value", pa.float64()),
        ("unit", pa.string()),
        ("note", pa.string()),
    ]
)


def table(raw: Table, told_as: Callable[[bytes], bytes] = bytes) -> pa.Table:
    """A raw table as Arrow; kernel structures become columns, bytes that nothing is known of stay bytes.

    `told_as` gives the algorithm whose fields another one fills (`record/brought.py`).
    """
    rows = raw.rows
    columns: dict[str, Any] = {}
    for name in rows.dtype.names or ():
        if rows.dtype[name].kind != "V":
            columns[name] = _array(rows[name])
        elif raw.name == "tcp_info" and name in ("info", "skmem"):
            known = decode.tcp_info(rows[name]) if name == "info" else decode.skmem(rows[name])
            prefix = "tcpi_" if name == "info" else "skmem_"
            columns.update({prefix + field: _array(known[field]) for field in known.dtype.names or ()})
        elif raw.name == "mptcp_info" and name == "info":
            told = decode.mptcp_info(rows[name])
            names = (field for field in told.dtype.names or () if not field.startswith("pad"))
            columns.update({f"mptcpi_{field}": _array(told[field]) for field in names})
        elif raw.name == "tcp_info" and name == "ccinfo":
            columns.update(_by_kind(rows["cc"], lambda mine, kind: _ccinfo(mine, told_as(kind)), rows))
        elif raw.name == "qdisc" and name == "xstats":
            columns.update(_by_kind(rows["kind"], _xstats, rows))
        else:
            columns[name] = pa.array([bytes(value) for value in rows[name]], pa.binary())
    return pa.table(columns)


def metrics(values: Iterable[MetricValue]) -> pa.Table:
    """Metric values as Arrow: metric, scope, value (null where undefined), unit, note."""
    values = list(values)
    return pa.table({field.name: _column(values, field) for field in _METRIC})


def index_of(results: ResultSet) -> pa.Table:
    """The index of a result set: from `index.parquet` if it is that of these records, else measured now.

    Raises:
        RecordError: the index is damaged or of another version.
    """
    found = index.known(results)
    if found is None:
        found = [index.table(index.parts(results))]
    return (
        pa.concat_tables(map(pa.table, found), promote_options="default") if found[1:] else pa.table(found[0])
    )


def dataset_of(results: ResultSet) -> pads.Dataset:
    """The index of a result set as a data set of its files, of which nothing is in memory.

    Raises:
        RecordError: there is none, or it is damaged or of other records.
    """
    import pyarrow.dataset as pads  # noqa: PLC0415 - seldom needed
    import pyarrow.parquet as pq  # noqa: PLC0415 - seldom needed

    files = [str(path) for path in index.files(results)]
    schema = pa.unify_schemas([pq.read_schema(file).remove_metadata() for file in files])
    return pads.dataset(files, schema=schema, format="parquet")


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

"""Metrics and series as CSV and Parquet, for tools of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from rushhour.errors import ReportError
from rushhour.series import RUN, SERIES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rushhour.record import Record, ResultSet

SCHEMA = pa.schema(
    [
        ("run", pa.string()),
        ("series", pa.dictionary(pa.int32(), pa.string())),
        ("of", pa.dictionary(pa.int32(), pa.string())),
        ("unit", pa.dictionary(pa.int32(), pa.string())),
        ("t_s", pa.float64()),
        ("value", pa.float64()),
    ]
)
"""Series in long form: one row a sample; `of` is the flow or the link end, `run` the folder of the run."""


def write(results: ResultSet, folder: Path, form: str) -> list[Path]:
    """Write `metrics` and `series` of all runs as `csv` or `parquet` into a folder, one run after the other.

    Raises:
        RecordError: a record cannot be read.
        ReportError: a file cannot be written.
    """
    paths = [folder / f"metrics.{form}", folder / f"series.{form}"]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        index = results.index().replace_schema_metadata(None)
        with _writer(paths[0], index.schema, form) as sink:
            sink.write_table(index)
        with _writer(paths[1], SCHEMA, form) as sink:
            for record in results:
                for part in series(record):
                    sink.write_table(part)
    except OSError as error:
        raise ReportError(
            f"cannot write the tables: {error.strerror or error}",
            where=str(folder),
            hint="choose another folder with --out",
        ) from error
    return paths


def series(record: Record) -> Iterator[pa.Table]:
    """Every series of a run that has samples, each as a table of `SCHEMA`."""
    context = record.context
    owners: dict[str, list[int | None]] = {
        "flow": list(context.flows),
        "end": list(context.ends),
        RUN: [None],
    }
    for name, kind in SERIES.items():
        for owner in owners[kind.scope]:
            found = record.series(name, **({} if owner is None else {kind.scope: owner}))
            count = len(found)
            if count:
                same = np.zeros(count, np.int32)
                words = [
                    pa.DictionaryArray.from_arrays(same, pa.array([text]))
                    for text in (name, found.label, found.unit)
                ]
                run = pa.array([record.path.name] * count)
                yield pa.Table.from_arrays([run, *words, found.t_s, found.values], schema=SCHEMA)


def _writer(path: Path, schema: pa.Schema, form: str) -> pa.csv.CSVWriter | pa.parquet.ParquetWriter:
    if form == "csv":
        return pa.csv.CSVWriter(path, schema)
    return pa.parquet.ParquetWriter(path, schema, compression="zstd")

"""Metrics and series as CSV and Parquet, for tools of one's own."""

from __future__ import annotations

import io
from dataclasses import replace
from itertools import chain
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np
from arro3.core import Array, DataType, Field, RecordBatch, RecordBatchReader, Schema
from arro3.io import write_csv, write_parquet

from rushhour.errors import ReportError
from rushhour.plain import cell
from rushhour.record.slim import again
from rushhour.series.series import RUN, SERIES
from rushhour.summary import index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from arro3.core import Table

    from rushhour.record.record import Record
    from rushhour.record.result_set import ResultSet

_NAME = DataType.dictionary(DataType.int32(), DataType.string())
SCHEMA = Schema(
    [
        Field("run", DataType.string()),
        Field("series", _NAME),
        Field("of", _NAME),
        Field("unit", _NAME),
        Field("t_s", DataType.float64()),
        Field("value", DataType.float64()),
    ]
)
"""Series in long form: one row a sample; `of` is the flow or the link end, `run` the folder of the run."""


def write(
    results: ResultSet, folder: Path, form: str, tell: Callable[[str], None] = lambda _: None
) -> list[Path]:
    """Write `metrics` and `series` of all runs as `csv` or `parquet` into a folder, one run after the other.

    Series are made of tables: where only the metrics were kept there are none, and `tell` is told so.

    Raises:
        RecordError: a record cannot be read.
        ReportError: a file cannot be written.
    """
    paths = [folder / f"metrics.{form}", folder / f"series.{form}"]
    tables = _Tables(results)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        metrics = _metrics(results, form)
        first = next(metrics)
        rows = (batch for table in chain([first], metrics) for batch in table.to_batches())
        _write(rows, first.schema, paths[0], form)
        _write(tables.samples(), SCHEMA, paths[1], form)
        if 0 < tables.lacking == tables.runs:
            paths.pop().unlink()
    except OSError as error:
        raise ReportError(
            f"cannot write the tables: {error.strerror or error}",
            where=str(folder),
            hint="choose another folder with --out",
        ) from error
    if tables.lacking:
        tell(tables.said(form))
    return paths


class _Tables:
    """The series of the runs whose tables can be had; counts the others."""

    def __init__(self, results: ResultSet) -> None:
        self._results = results
        self.runs = self.lacking = 0
        self._hint = ""

    def samples(self) -> Iterator[RecordBatch]:
        for record in self._results:
            self.runs += 1
            if record.has_tables:
                yield from series(record)
            else:
                self.lacking += 1
                self._hint = self._hint or again(record.path, record.manifest)

    def said(self, form: str) -> str:
        """What is not in the tables, and how to have it."""
        every = self.lacking == self.runs
        which = "all runs" if every else f"{self.lacking} of {self.runs} runs"
        left = f"there is no series.{form}" if every else f"series.{form} is without them"
        return f"Of {which} the metrics were kept, not the tables: {left}.\n  {self._hint}"


def _metrics(results: ResultSet, form: str) -> Iterator[Table]:
    """The index, a table for each chunk of runs, all with the same columns."""
    every = index.chunks(results)
    factors = index.factors_of(results) if len(every) > 1 else ()
    for chunk in every:
        parts = chunk.parts()
        yield index.table(map(_for_spreadsheets, parts) if form == "csv" else parts, factors)


def _for_spreadsheets(part: index.Part) -> index.Part:
    """Escape texts that a spreadsheet would take for formulas; notes begin with our own words."""
    about = {name: cell(one) if isinstance(one, str) else one for name, one in part.about.items()}
    return replace(part, about=about, factors={name: cell(one) for name, one in part.factors.items()})


def series(record: Record) -> Iterator[RecordBatch]:
    """Every series of a run that has samples, each as rows of `SCHEMA`."""
    context = record.context
    owners: dict[str, list[int | None]] = {
        "flow": list(context.flows),
        "end": list(context.ends),
        RUN: [None],
    }
    for name, kind in SERIES.items():
        for owner in owners[kind.scope]:
            found = record.series(name, **({} if owner is None else {kind.scope: owner}))
            if len(found):
                words = (_repeated(text, len(found)) for text in (name, found.label, found.unit))
                run = _repeated(record.path.name, len(found)).cast(DataType.string())
                numbers = (Array.from_numpy(np.ascontiguousarray(one)) for one in (found.t_s, found.values))
                yield RecordBatch.from_arrays([run, *words, *numbers], schema=SCHEMA)


def _repeated(text: str, count: int) -> Array:
    return Array([text], type=DataType.string()).cast(_NAME).take(np.zeros(count, np.uint32))


def _write(batches: Iterable[RecordBatch], schema: Schema, path: Path, form: str) -> None:
    """Write rows as they come. The library panics if the iterator raises, so errors are kept from it."""
    fault: list[BaseException] = []

    def rows() -> Iterator[RecordBatch]:
        try:
            yield from batches
        except BaseException as error:  # noqa: BLE001 - raised below
            fault.append(error)

    with path.open("wb") as file:
        # The index says its format; tables for others are nobody's.
        plain = schema.remove_metadata()
        reader = RecordBatchReader.from_batches(plain, rows())
        sink = cast("IO[bytes]", _Sink(file, fault))
        if form == "csv":
            write_csv(reader, sink)
        else:
            write_parquet(reader, sink, compression="zstd(3)")
        if fault:
            raise fault[0]


class _Sink(io.RawIOBase):
    """A file that takes everything; what it could not take is a fault that is kept."""

    def __init__(self, file: IO[bytes], fault: list[BaseException]) -> None:
        self._file, self._fault = file, fault

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        try:
            if not self._fault:
                self._file.write(data)
        except OSError as error:
            self._fault.append(error)
        return len(data)

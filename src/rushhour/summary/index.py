"""The index of a result set: one row per run and metric, as Parquet (docs/record-format.md).

Takes records, gives `Part`s, one for each run, and Arrow or files made of them. Arrow here is arro3's, which
is small and quick to import; as pyarrow's tables the index is given by `rushhour.record.frames`.

The runs of a set come in chunks, and no more than a few chunks are in memory: a small set is one chunk and
one file, of a large one every chunk has a file of its own.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.errors import RecordError
from rushhour.files import rooms
from rushhour.files.regular import checksum
from rushhour.record.seal import MANIFEST, SEALED
from rushhour.summary import rows
from rushhour.summary.coded import Coded
from rushhour.summary.measured import lines_of
from rushhour.summary.rows import FORMAT, Part, of_run, parts_of, table, values_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import Any

    from arro3.core import Table

    from rushhour.metrics.value import MetricValue
    from rushhour.record.record import Record
    from rushhour.record.result_set import ResultSet
    from rushhour.summary.rows import Cells

__all__ = [
    "INDEX", "PARTS", "Chunk", "Part", "chunks", "factors_of", "files", "is_written", "known", "of_run",
    "parts", "parts_of", "put", "read", "stream", "table", "values", "values_of", "write",
]  # fmt: skip

INDEX, PARTS = "index.parquet", "index"
"""The index of a set: a file, or of a large one a folder of files."""
WHOLE = 5000
"""Runs of which the index is one file."""
CHUNK = 1000
"""Runs in each file of a larger one."""
HELD = 2
"""Chunks of a large set that are in memory at a time."""
_AGAIN = "delete it; it is made again from the records"
_MAGIC = b"PAR1"


def parts(results: ResultSet) -> list[Part]:
    """The index of a result set by run: from its file if that is of these records, else measured now.

    Raises:
        RecordError: the index is damaged or of another version, or a record was changed.
    """
    return list(stream(results))


def stream(results: ResultSet) -> Iterator[Part]:
    """As `parts`, a chunk in memory at a time.

    Raises:
        RecordError: as `parts`.
    """
    wanted = {folder.name for folder in results.folders()} if results.is_part else None
    for chunk in chunks(results):
        if wanted is None or not wanted.isdisjoint(folder.name for folder in chunk.folders):
            yield from (part for part in chunk.parts() if wanted is None or part.folder in wanted)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Runs whose rows are in one file."""

    folders: Sequence[Path]
    file: Path

    def known(self) -> Table | None:
        """The rows, if the file is as it was written, and of the records that are there now.

        Raises:
            RecordError: it is damaged or of another version, or a record cannot be read.
        """
        found = self._known()
        return None if found is None else found[0]

    def _known(self) -> tuple[Table, Cells] | None:
        if not self.file.is_file():
            return None
        found = read(self.file)
        cells, content = rows.cells_of(found), _Content()
        for name, column in cells.items():
            content.take(name, column)
        seal = found.schema.metadata_str.get("seal")
        return (found, cells) if seal == content.seal(_of_records(self.folders)) else None

    def parts(self) -> Iterator[Part]:
        """The rows by run, from the file or measured now."""
        found = self._known()
        if found is not None:
            yield from rows.parts_in(found[1])
        else:
            yield from (of_run(record) for record in self.records())

    def values(self) -> Mapping[str, Sequence[MetricValue]]:
        """The metric values by folder, from where `parts` takes them."""
        found = self._known()
        if found is not None:
            return rows.values_in(found[1])
        return {record.path.name: lines_of(record) for record in self.records()}

    def records(self) -> Iterator[Record]:
        """The records; `lines_of` verifies one that is sealed, another is verified here."""
        from rushhour.record.record import Record  # noqa: PLC0415 - its door leads here

        for folder in self.folders:
            record = Record.open(folder)
            if SEALED not in record.manifest:
                record.verify()
            yield record


def chunks(results: ResultSet) -> list[Chunk]:
    """The chunks of a set, and the files that they have once the index is written; of a part of one all."""
    folders = results.whole().folders()
    if len(folders) <= WHOLE:
        return [Chunk(folders, results.path / INDEX)]
    return [
        Chunk(folders[start : start + CHUNK], results.path / PARTS / f"part-{number:05d}.parquet")
        for number, start in enumerate(range(0, len(folders), CHUNK))
    ]


def values(results: ResultSet) -> Mapping[str, Sequence[MetricValue]]:
    """The metric values of each run by its folder, from where `parts` takes them; of many, chunk by chunk.

    Raises:
        RecordError: the index is damaged or of another version, or a record was changed.
    """
    every = chunks(results)
    return every[0].values() if len(every) == 1 else _Values(every)


class _Values(Mapping[str, "Sequence[MetricValue]"]):
    """The values of a large set; those of the chunks that were asked for last are in memory."""

    def __init__(self, every: Sequence[Chunk]) -> None:
        self._every = every
        self._place = {folder.name: place for place, chunk in enumerate(every) for folder in chunk.folders}
        self._held: dict[int, Mapping[str, Sequence[MetricValue]]] = {}

    def __getitem__(self, folder: str) -> Sequence[MetricValue]:
        place = self._place[folder]
        if place not in self._held:
            for old in [*self._held][: max(0, len(self._held) - HELD + 1)]:
                del self._held[old]
            self._held[place] = self._every[place].values()
        return self._held[place][folder]

    def __iter__(self) -> Iterator[str]:
        return iter(self._place)

    def __len__(self) -> int:
        return len(self._place)


def factors_of(results: ResultSet) -> set[str]:
    """The factors of all cells: every file of an index has them all, so that the files are one data set."""
    from rushhour.record.record import Record  # noqa: PLC0415 - its door leads here

    cells = results.about.cells
    if cells:
        return {name for cell in cells for name in cell.factors}
    return {name for folder in results.folders() for name in Record.open(folder).factors}


def is_written(results: ResultSet) -> bool:
    """Whether the set has an index, be it of these records or not."""
    return any(chunk.file.is_file() for chunk in chunks(results))


def known(results: ResultSet) -> list[Table] | None:
    """The index of a set by its files, if all are as they were written, and of the records that are there.

    Raises:
        RecordError: one is damaged or of another version, or a record cannot be read.
    """
    found = []
    for chunk in chunks(results):
        table = None if results.is_part else chunk.known()
        if table is None:
            return None
        found.append(table)
    return found


def files(results: ResultSet) -> list[Path]:
    """The files of the index of a set, each looked through and found to be of these records.

    Raises:
        RecordError: there is none, or one is damaged or of other records.
    """
    every = chunks(results)
    for chunk in every:
        if chunk.known() is None:
            hint = "ResultSet.write_index() writes it, as every `rushhour run` of the set does"
            raise RecordError("the set has no index of its records", where=str(chunk.file), hint=hint)
    return [chunk.file for chunk in every]


def _of_records(folders: Sequence[Path]) -> str:
    """What tells these records from others: their folders and manifests."""
    try:
        told = [f"{folder.name} {checksum(folder / MANIFEST)}\n" for folder in folders]
    except OSError as error:
        raise RecordError(
            f"cannot read the manifest: {error.strerror}",
            where=str(error.filename),
            hint="run the cell again with --fresh",
        ) from error
    return hashlib.sha256("".join(told).encode("utf-8", "surrogateescape")).hexdigest()


class _Content:
    """The checksum of all cells, column by column; the file's bytes change with the library."""

    def __init__(self) -> None:
        self._sum, self._before = hashlib.sha256(b"{"), ""

    def take(self, name: str, cells: Sequence[Any]) -> None:
        """Take a column in; together they are one JSON object."""
        self._sum.update(f"{self._before}{json.dumps(name)}: {_spelled(name, cells)}".encode())
        self._before = ", "

    def seal(self, records: str) -> str:
        """Of which records they are, and their checksum."""
        whole = self._sum.copy()
        whole.update(b"}")
        return json.dumps({"records": records, "content": whole.hexdigest()})


class _Words(dict[object, str]):
    """Cells as JSON, each spelled once."""

    def __missing__(self, cell: object) -> str:
        self[cell] = json.dumps(cell)
        return self[cell]


def _spelled(name: str, cells: Sequence[Any]) -> str:
    """A column as JSON: all but one have few words in very many rows."""
    if name == "value":
        return json.dumps(cells)
    if isinstance(cells, Coded):
        return cells.spelled()
    return f"[{', '.join(map(_Words().__getitem__, cells))}]"


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
    """Measure every run and write the index (zstd), atomically; its file, or the folder with its files.

    Raises:
        RecordError: a record cannot be read, or the index cannot be written.
    """
    every = chunks(results)
    if len(every) == 1:
        _write(every[0], every[0].file)
        rooms.remove(results.path / PARTS)
        return every[0].file
    factors = factors_of(results)
    try:
        with rooms.room(results.path) as room:
            new = room / PARTS
            new.mkdir()
            for chunk in every:
                _write(chunk, new / chunk.file.name, factors)
            new.chmod(0o777 & ~rooms.umask())
            rooms.take_place(new, results.path / PARTS)
        (results.path / INDEX).unlink(missing_ok=True)
    except OSError as error:
        raise _unwritten(results.path / PARTS, error) from error
    return results.path / PARTS


def _write(chunk: Chunk, path: Path, factors: Iterable[str] = ()) -> None:
    put([of_run(record) for record in chunk.records()], path, _of_records(chunk.folders), factors)


def put(found: Iterable[Part], path: Path, records: str = "", factors: Iterable[str] = ()) -> None:
    """Write an index to `path` (Parquet, zstd; equal rows give equal bytes), atomically.

    `records` says of which records it is; for `factors` see `table`.

    Raises:
        RecordError: it cannot be written.
    """
    from arro3.io import write_parquet  # noqa: PLC0415 - as above

    # In memory first: on a full disk the library would panic, and say so on standard error.
    buffer = io.BytesIO()
    content = _Content()

    def taken() -> Iterator[tuple[str, str, Sequence[Any]]]:
        for name, kind, cells in rows.columns(found, factors):
            content.take(name, cells)
            yield name, kind, cells

    whole = rows.table_in(taken())
    # The format is in the schema; the library writes several notes in any order.
    write_parquet(whole, buffer, compression="zstd(3)", key_value_metadata={"seal": content.seal(records)})
    try:
        rooms.put(path, buffer.getbuffer())
    except OSError as error:
        raise _unwritten(path, error) from error


def _unwritten(path: Path, error: OSError) -> RecordError:
    return RecordError(
        f"cannot write the index: {error.strerror}", where=str(path), hint="is there space left?"
    )


def _look(path: Path) -> None:
    """Refuse what is no whole Parquet file; the library panics at it, and says so on standard error."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        end = file.read()
    if size < 12 or end[4:] != _MAGIC or int.from_bytes(end[:4], "little") > size - 12:
        raise ValueError("it is not a complete Parquet file")

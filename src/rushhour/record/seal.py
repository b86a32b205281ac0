"""Sealing: a finished run folder becomes a record, whole or not at all.

Takes a folder with the files of a run, gives a record at its final name. The manifest is written last and the
folder renamed after that, so whoever sees a record sees all of it; afterwards nothing in it changes.
"""

from __future__ import annotations

import hashlib
import json
import os
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from rushhour.errors import LabError, RecordError
from rushhour.files import rooms
from rushhour.files.durable import sync, sync_all
from rushhour.files.regular import checksum
from rushhour.plain import harmless, may_speak

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from types import TracebackType

FORMAT = "rushhour-record/1"
MANIFEST = "manifest.json"
SET_FILE = "set.json"
METRICS = "metrics.json"
"""The file that a slim record has instead of its tables."""
SEALED = "sealed"
RAW = "raw/"
"""How the names of tables, and of what tools report, begin."""
_WORDS = 1 << 16
"""Words of JSON that are in memory one by one."""


def raw_digests(files: Mapping[str, str]) -> dict[str, str]:
    """Of the checksums of a record's files those of its tables and of what tools report, by name, sorted."""
    return {name: value for name, value in sorted(files.items()) if name.startswith(RAW)}


def unwritten(error: OSError, place: Path) -> LabError:
    """What is said of a record that cannot be written to its place."""
    return LabError(
        f"the run cannot be written: {error.strerror}",
        where=str(error.filename2 or error.filename or place),
        hint="check that the folder is writable and that there is space left",
    )


class RecordWriter:
    """A place to put a run together: a temporary folder beside `destination` that is sealed, or vanishes.

    Use it as a context manager; write into `folder` (and `raw`), then call `seal`. Leaving the block unsealed
    removes the folder.
    """

    def __init__(self, destination: Path) -> None:
        self.destination = destination
        try:
            destination.parent.mkdir(parents=True, exist_ok=True)
            self._room, self._lock = rooms.make(destination.parent)
            self.folder = self._room / "record"
            self.raw = self.folder / "raw"
            self.raw.mkdir(parents=True)
        except OSError as error:
            raise _cannot("make a folder for the run", destination, error) from error

    def __enter__(self) -> Self:
        """Enter the block that fills the folder."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove what was not sealed."""
        rooms.remove(self._room)
        os.close(self._lock)

    def seal(self, manifest: Mapping[str, object]) -> Path:
        """Seal the folder under its final name; see `seal`."""
        return seal(self.folder, manifest, self.destination)


def sums_of(folder: Path) -> dict[str, str]:
    """The checksum of every file of a record but its manifest.

    Raises:
        RecordError: the folder holds what is no plain file, or one cannot be read.
    """
    try:
        paths = {str(path.relative_to(folder)): path for path in _files(folder)}
        return {name: checksum(path) for name, path in paths.items()}
    except OSError as error:
        raise _cannot("seal the record", folder, error) from error


def seal(
    folder: Path,
    manifest: Mapping[str, object],
    destination: Path | None = None,
    sums: Mapping[str, str] | None = None,
    *,
    durable: bool = True,
) -> Path:
    """Add checksums of every file, write the manifest, make it durable, rename the folder to `destination`.

    Without `destination` the folder keeps its name. A record that is already there is replaced. `sums` are
    the checksums (`sums_of`), where they are known already. One that is not `durable` is as whole for whoever
    reads it; a power cut may take it.

    Returns:
        The folder of the record.

    Raises:
        RecordError: the folder holds what is no plain file, or cannot be written.
    """
    try:
        whole = sealed({**manifest, "format": FORMAT, "files": sums or sums_of(folder)})
        files = _files(folder)
        if durable:
            sync_all(files)
        if destination is None:
            write_json(folder / MANIFEST, whole)
        else:
            write_unseen(folder / MANIFEST, whole, durable=durable)
        if durable:
            sync(folder)
        return folder if destination is None else _rename(folder, destination, durable=durable)
    except OSError as error:
        raise _cannot("seal the record", folder, error) from error


def sealed(manifest: Mapping[str, object]) -> dict[str, object]:
    """The manifest with its own checksum, under `sealed`: that of what is read again."""
    return {**manifest, SEALED: manifest_sum(json.loads(json.dumps(manifest)))}


def manifest_sum(manifest: Mapping[str, Any]) -> str:
    """The SHA-256 of all that a manifest says, in one spelling."""
    rest = {name: value for name, value in manifest.items() if name != SEALED}
    text = _spelled(rest)
    if may_speak(text):  # whoever reads it gets it made harmless
        text = _spelled(harmless(rest))
    return hashlib.sha256(text).hexdigest()


def _spelled(value: Mapping[str, object]) -> bytes:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def write_json(path: Path, value: Mapping[str, object]) -> None:
    """Write JSON beside `path`, then rename it into place, durably: nobody ever sees half of it."""
    rooms.put(path, b"".join(_pieces(value)), durable=True)


def write_unseen(path: Path, value: Mapping[str, object], *, durable: bool = True) -> None:
    """Write JSON into a folder that nobody looks into yet: it need not appear at once.

    Raises:
        OSError: it cannot be written, or something is there.
    """
    with path.open("xb") as file:
        file.writelines(_pieces(value))
        file.flush()
        if durable:
            os.fsync(file.fileno())


def _pieces(value: Mapping[str, object]) -> Iterator[bytes]:
    """Indented JSON: word by word is slow, and all words of a large document take many times its text."""
    words = json.JSONEncoder(indent=1, ensure_ascii=False).iterencode(value)
    while piece := "".join(islice(words, _WORDS)):
        yield piece.encode("utf-8", "surrogateescape")
    yield b"\n"


def _rename(folder: Path, destination: Path, *, durable: bool) -> Path:
    destination.parent.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o777 & ~rooms.umask())
    rooms.take_place(folder, destination)
    if durable:
        sync(destination.parent)
    return destination


def _files(folder: Path) -> list[Path]:
    files = [path for path in sorted(folder.rglob("*")) if not path.is_dir() and path != folder / MANIFEST]
    for path in files:
        _check_plain(path)
    return files


def _check_plain(path: Path) -> None:
    if path.is_symlink() or not path.is_file():
        raise RecordError(
            "a record has regular files only, and this is not one",
            where=str(path),
            hint="remove it; something other than the agent wrote into the run's folder",
        )


def _cannot(what: str, path: Path, error: OSError) -> RecordError:
    return RecordError(
        f"cannot {what}: {error.strerror}",
        where=str(error.filename2 or error.filename or path),
        hint="check that the folder is writable and that there is space left",
    )

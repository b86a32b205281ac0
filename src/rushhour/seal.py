"""Sealing: a finished run folder becomes a record, whole or not at all.

Takes a folder with the files of a run, gives a record at its final name. The manifest is written last and the
folder renamed after that, so whoever sees a record sees all of it; afterwards nothing in it changes.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rushhour.errors import RecordError
from rushhour.regular import open_regular

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

FORMAT = "rushhour-record/1"
MANIFEST = "manifest.json"
# Files made durable at once.
_SYNCS = 8


class RecordWriter:
    """A place to put a run together: a temporary folder beside `destination` that is sealed, or vanishes.

    Use it as a context manager; write into `folder` (and `raw`), then call `seal`. Leaving the block unsealed
    removes the folder.
    """

    def __init__(self, destination: Path) -> None:
        self.destination = destination
        try:
            destination.parent.mkdir(parents=True, exist_ok=True)
            self.folder = Path(tempfile.mkdtemp(prefix=f".{destination.name}.", dir=destination.parent))
            self.raw = self.folder / "raw"
            self.raw.mkdir()
        except OSError as error:
            raise _cannot("make a folder for the run", destination, error) from error

    def __enter__(self) -> Self:
        """Enter the block that fills the folder."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove what was not sealed."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def seal(self, manifest: Mapping[str, Any]) -> Path:
        """Seal the folder under its final name; see `seal`."""
        return seal(self.folder, manifest, self.destination)


def seal(folder: Path, manifest: Mapping[str, Any], destination: Path | None = None) -> Path:
    """Add checksums of every file, write the manifest, make it durable, rename the folder to `destination`.

    Without `destination` the folder keeps its name. If a record is already there it wins (records of the
    same key are equal) and `folder` is removed.

    Returns:
        The folder of the record.

    Raises:
        RecordError: the folder holds what is no plain file, or cannot be written.
    """
    try:
        files = {
            str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if not path.is_dir()
        }
        files.pop(MANIFEST, None)
        for path in files.values():
            _check_plain(path)
        whole = {
            **manifest,
            "format": FORMAT,
            "files": {name: checksum(path) for name, path in files.items()},
        }
        # Together: the file system then writes its journal once instead of once a file.
        with ThreadPoolExecutor(_SYNCS) as pool:
            list(pool.map(_sync, files.values()))
        write_json(folder / MANIFEST, whole)
        _sync(folder)
        return folder if destination is None else _rename(folder, destination)
    except OSError as error:
        raise _cannot("seal the record", folder, error) from error


def checksum(path: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write JSON beside `path`, then rename it into place, durably: nobody ever sees half of it."""
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, prefix=f".{path.name}.", delete=False, encoding="utf-8"
    ) as file:
        try:
            # In one piece: json.dump would write word by word.
            file.write(json.dumps(value, indent=1, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).chmod(0o644)
            Path(file.name).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(file.name).unlink()
            raise


def _rename(folder: Path, destination: Path) -> Path:
    destination.parent.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    try:
        folder.rename(destination)
    except OSError:
        # Another process finished the same run first.
        if not (destination / MANIFEST).is_file():
            raise
        shutil.rmtree(folder, ignore_errors=True)
    _sync(destination.parent)
    return destination


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _check_plain(path: Path) -> None:
    if path.is_symlink() or not path.is_file():
        raise RecordError(
            "a record holds plain files only, and this is none",
            where=str(path),
            hint="remove it; something other than the agent wrote into the run's folder",
        )


def _cannot(what: str, path: Path, error: OSError) -> RecordError:
    return RecordError(
        f"cannot {what}: {error.strerror}",
        where=str(error.filename2 or error.filename or path),
        hint="check that the folder is writable and that there is space left",
    )

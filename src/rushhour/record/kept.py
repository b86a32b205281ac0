"""Results by content: a run that is known is not run again.

A record is kept under the hash of all that determines it, and shared with result sets by hard links; its
files are read-only, for the links share their content. Who writes into one nevertheless changes what is
kept, so it is verified at each use: what is not as it was sealed is not known, and is run again.
"""

from __future__ import annotations

import errno
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from rushhour.errors import LabError, RecordError
from rushhour.files import rooms
from rushhour.files.cache import HINT, folder
from rushhour.record.seal import MANIFEST, SEALED

if TYPE_CHECKING:
    from pathlib import Path

# Another file system, too many links, links forbidden: then a copy serves as well.
_NO_LINK = (errno.EXDEV, errno.EMLINK, errno.EPERM, errno.EACCES, errno.ENOTSUP)


def find(key: str) -> Path | None:
    """The record with this key, if it is known and as it was sealed."""
    path = _place(key)
    return path if is_whole(path, key) else None


def is_whole(path: Path, key: str) -> bool:
    """Whether the record in this folder is the run with this key, every byte of it."""
    from rushhour.record.record import Record  # noqa: PLC0415 - readers of records are slow to import

    if not (path / MANIFEST).is_file():
        return False
    try:
        record = Record.verified(path)
    except RecordError:
        return False
    return SEALED in record.manifest and record.key == key


def keep(key: str, record: Path) -> None:
    """Keep a sealed record under its key; the newer one replaces an older.

    Raises:
        LabError: it cannot be written.
    """
    place = _place(key)
    try:
        with rooms.room(place.parent) as room:
            new = room / "record"
            new.mkdir()
            share(record, new, with_manifest=True)
            with suppress(FileNotFoundError):  # another process may be doing the same
                rooms.take_place(new, place)
    except OSError as error:
        raise LabError(
            f"the run cannot be kept in the cache: {error.strerror}", where=str(place), hint=HINT
        ) from error


def share(record: Path, target: Path, *, with_manifest: bool) -> None:
    """Put the files of a record into the folder `target`, by hard links where that is possible."""
    for path in sorted(record.rglob("*")):
        name = path.relative_to(record)
        if path.is_dir():
            (target / name).mkdir(exist_ok=True)
        elif with_manifest or str(name) != MANIFEST:
            _link(path, target / name)


def _link(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        shutil.copy2(source, target)


def _place(key: str) -> Path:
    return folder("runs", key[:2], key)

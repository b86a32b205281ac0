"""Results by content: a run that is known is not run again.

A record is kept under the hash of all that determines it, and shared with result sets by hard links; its
files are read-only, for the links share their content. Who writes into one nevertheless changes what is
kept, so it is verified at each use: what is not as it was sealed is not known, and is run again.

A run that another process removes meanwhile, for room, is not known either.
"""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from itertools import count
from threading import Lock
from typing import TYPE_CHECKING

from rushhour.errors import LabError, RecordError
from rushhour.files import bounded, rooms
from rushhour.files.cache import HINT, folder
from rushhour.record.seal import MANIFEST, METRICS, SEALED, unwritten
from rushhour.record.slim import WHOLE

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.record.slim import Wanted

# Another file system, too many links, links forbidden: then a copy serves as well.
_NO_LINK = (errno.EXDEV, errno.EMLINK, errno.EPERM, errno.EACCES, errno.ENOTSUP)


def find(key: str, wanted: Wanted = WHOLE) -> Path | None:
    """The record with this key, if it is known, as it was sealed, and what is wanted."""
    path = _place(key)
    bounded.use(path)
    return path if is_whole(path, key, wanted) else None


def has(key: str) -> bool:
    """Whether anything is kept under this key, be it as it was sealed or not."""
    return (_place(key) / MANIFEST).is_file()


def is_whole(path: Path, key: str, wanted: Wanted = WHOLE) -> bool:
    """Whether the record in this folder is the run with this key, every byte of it that is wanted."""
    from rushhour.record.record import Record  # noqa: PLC0415 - readers of records are slow to import

    if not (path / MANIFEST).is_file():
        return False
    try:
        record = Record.verified(path)
        served = wanted.is_served_by(record)
    except RecordError:
        return False
    return served and SEALED in record.manifest and record.key == key


def keep(key: str, record: Path) -> None:
    """Keep a sealed record under its key; the newer one replaces an older, but no slim one a whole one.

    Raises:
        LabError: it cannot be written.
    """
    keeper = Keeper()
    try:
        keeper.keep(key, record)
    finally:
        keeper.close()


class Keeper:
    """Keeps records, of several threads; they are put together in one room of its own."""

    def __init__(self) -> None:
        """A keeper.

        Raises:
            UsageError: `RUSHHOUR_CACHE_SIZE` is no size.
        """
        self._room: tuple[Path, int] | None = None
        self._numbers = count()
        self._lock = Lock()
        self._most = bounded.most()

    def close(self) -> None:
        """Remove the room."""
        with self._lock:
            self._leave()

    def keep(self, key: str, record: Path) -> None:
        """See `keep`."""
        place = _place(key)
        if (record / METRICS).is_file() and is_whole(place, key):
            return
        try:
            new = self._new()
            share(record, new, with_manifest=True)
            with suppress(FileNotFoundError):  # another process may be doing the same
                rooms.take_place(new, place)
            bounded.shrink(place.parent, self._most)
        except OSError as error:
            raise LabError(
                f"the run cannot be kept in the cache: {error.strerror}", where=str(place), hint=HINT
            ) from error

    def _new(self) -> Path:
        """A new folder in the room, which is made anew where someone has emptied the cache."""
        with self._lock:
            if self._room is not None:
                with suppress(FileNotFoundError):
                    return self._folder()
                self._leave()
            self._room = rooms.make(folder("runs", "room").parent)
            return self._folder()

    def _folder(self) -> Path:
        assert self._room is not None
        new = self._room[0] / str(next(self._numbers))
        new.mkdir()
        return new

    def _leave(self) -> None:
        if self._room is not None:
            room, lock = self._room
            self._room = None
            rooms.remove(room)
            os.close(lock)


def make_slim(record: Path, content: bytes) -> None:
    """Let a whole record of this folder be a slim one, at once; `content` is its `metrics.json`.

    Raises:
        LabError: it cannot be written.
    """
    try:
        with rooms.room(record.parent) as room:
            new = room / "record"
            new.mkdir()
            for path in sorted(record.iterdir()):
                if path.is_file():
                    _link(path, new / path.name)
            (new / METRICS).write_bytes(content)
            (new / METRICS).chmod(0o444 & ~rooms.umask())
            new.chmod(0o777 & ~rooms.umask())
            rooms.take_place(new, record)
    except OSError as error:
        raise unwritten(error, record) from error


def share(record: Path, target: Path, *, with_manifest: bool) -> None:
    """Put the files of a record into the folder `target`, by hard links where that is possible.

    Raises:
        OSError: they cannot be put there, or are there no more.
    """

    def gone(error: OSError) -> None:
        raise error

    # As texts: of a sweep with many runs this is a tenth of what a run costs here, and as paths twice that.
    for place, folders, names in os.walk(record, onerror=gone):
        inner = f"{target}{place.removeprefix(str(record))}"
        for name in folders:
            os.makedirs(f"{inner}/{name}", exist_ok=True)  # noqa: PTH103 - as said
        for name in names:
            if with_manifest or name != MANIFEST or inner != str(target):
                _link(f"{place}/{name}", f"{inner}/{name}")


def _link(source: str | Path, target: str | Path) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        shutil.copy2(source, target)


def _place(key: str) -> Path:
    return folder("runs", key[:2], key)

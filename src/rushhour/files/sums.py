"""Sums of files: a file is read once, and again only when it may have changed.

A SHA-256 is remembered by the file's device, inode, size and times; of larger files also in the cache, for
the next command. No program that edits a file can set its time of change, so what is remembered is true.
Without a cache every command reads once.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import stat
import time
from contextlib import suppress
from itertools import count, islice
from threading import Lock
from typing import TYPE_CHECKING

from rushhour.errors import LabError
from rushhour.files import shelf

if TYPE_CHECKING:
    from pathlib import Path

_FILE = "sums.sqlite"
# Smaller files are read faster than looked up.
_LARGE = 1 << 20
# Rows of files that are gone pile up; then all are forgotten.
_MOST = 200_000
# A file that changed within this time could change again without a trace in its times.
_RACY_NS = 100_000_000
_SCHEMA = "CREATE TABLE IF NOT EXISTS sums (file TEXT PRIMARY KEY, state TEXT, sha256 TEXT) WITHOUT ROWID"
_COUNT = "SELECT count(*) FROM sums"

# Files remembered by a process; of more the older half is forgotten.
_HELD = 50_000
_known: dict[str, tuple[str, str]] = {}
_kept = count()
_lock = Lock()


def sum_of(path: Path | str) -> str:
    """The SHA-256 of a regular file, in hexadecimal.

    Raises:
        OSError: it is not there, cannot be read, or is a link, a device or whatever else is no regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    # As system calls: a sweep has ten small files for each of very many runs.
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise OSError(0, "it is not a regular file", str(path))
        name, state = f"{before.st_dev}:{before.st_ino}", _state(before)
        found = _recall(name, state, before.st_size)
        if found is None:
            found = _digest(descriptor, before.st_size)
            settled = time.time_ns() - max(before.st_ctime_ns, before.st_mtime_ns) > _RACY_NS
            if settled and _state(os.fstat(descriptor)) == state:
                _remember(name, state, before.st_size, found)
    finally:
        os.close(descriptor)
    return found


def _digest(descriptor: int, size: int) -> str:
    """Of what is there, be it more or less than the size that was told."""
    whole, room = hashlib.sha256(), min(size, _LARGE) + 1
    while part := os.read(descriptor, room):
        whole.update(part)
    return whole.hexdigest()


def _state(about: os.stat_result) -> str:
    return f"{about.st_size}:{about.st_mtime_ns}:{about.st_ctime_ns}"


def _recall(name: str, state: str, size: int) -> str | None:
    with _lock:
        if name in _known:
            return _known[name][1] if _known[name][0] == state else None
        if size < _LARGE:
            return None
        with suppress(sqlite3.Error, LabError):
            row = _store().execute("SELECT state, sha256 FROM sums WHERE file = ?", (name,)).fetchone()
            if row is not None and row[0] == state:
                _known[name] = (state, str(row[1]))
                return _known[name][1]
    return None


def _remember(name: str, state: str, size: int, digest: str) -> None:
    with _lock:
        _known[name] = (state, digest)
        if len(_known) > _HELD:
            for old in [*islice(_known, _HELD // 2)]:
                del _known[old]
        if size < _LARGE:
            return
        with suppress(sqlite3.Error, LabError):
            store = _store()
            # To count takes the longer the more there are: seldom.
            if next(_kept) % 1000 == 0 and store.execute(_COUNT).fetchone()[0] > _MOST:
                store.execute("DELETE FROM sums")
            store.execute("INSERT OR REPLACE INTO sums VALUES (?, ?, ?)", (name, state, digest))


def _store() -> sqlite3.Connection:
    return shelf.connection(_FILE, _SCHEMA)

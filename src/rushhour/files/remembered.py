"""What was worked out of records, remembered in the cache: bytes by key, each with its own checksum.

Losing it costs nothing but time, so every fault here (no cache, a full disk, a damaged file, another process
that writes) means that nothing is known, and nothing is kept.
"""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING

from rushhour.errors import LabError
from rushhour.files import shelf

if TYPE_CHECKING:
    from collections.abc import Sequence

_FILE = "metrics.sqlite"
_SUM = 32
# Of more values the older half is forgotten.
_MOST = 400_000
_SCHEMA = "CREATE TABLE IF NOT EXISTS remembered (number INTEGER PRIMARY KEY, key TEXT UNIQUE, value BLOB)"
_KEEP = "INSERT OR REPLACE INTO remembered (key, value) VALUES (?, ?)"

_lock = Lock()


def recall(key: str) -> bytes | None:
    """What was kept under this key; None where nothing is, or what is there is damaged."""
    with suppress(sqlite3.Error, LabError, OSError), _lock:
        row = _store().execute("SELECT value FROM remembered WHERE key = ?", (key,)).fetchone()
        if row is not None and isinstance(row[0], bytes):
            found, value = row[0][:_SUM], row[0][_SUM:]
            return value if found == _sum(key, value) else None
    return None


def keep(key: str, value: bytes) -> None:
    """Keep a value under this key, instead of what is there."""
    keep_all([(key, value)])


def keep_all(values: Sequence[tuple[str, bytes]]) -> None:
    """Keep values by their keys, all at once: each time that something is written costs more than a value."""
    if not values:
        return
    with suppress(sqlite3.Error, LabError, OSError), _lock:
        store = _store()
        store.execute("BEGIN IMMEDIATE")
        try:
            for key, value in values:
                whole = (key, _sum(key, value) + value)
                number = store.execute(_KEEP, whole).lastrowid
                if number is not None and number % 1000 == 0:
                    _forget(store, number)
            store.execute("COMMIT")
        except BaseException:  # also of who only wants to stop: the next one begins anew
            with suppress(sqlite3.Error):
                store.execute("ROLLBACK")
            raise


def _forget(store: sqlite3.Connection, newest: int) -> None:
    oldest = store.execute("SELECT min(number) FROM remembered").fetchone()[0]
    if newest - oldest > _MOST:
        store.execute("DELETE FROM remembered WHERE number <= ?", (newest - _MOST // 2,))


def _sum(key: str, value: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\n" + value).digest()


def _store() -> sqlite3.Connection:
    return shelf.connection(_FILE, _SCHEMA)

"""Tables in the cache: an SQLite file for each, opened once by a process.

Losing one costs nothing but time. So no write waits for the disk, and a file that is damaged is begun anew.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from rushhour.files import cache

if TYPE_CHECKING:
    from pathlib import Path

_open: dict[tuple[Path, int], sqlite3.Connection] = {}


def connection(name: str, schema: str) -> sqlite3.Connection:
    """The file of this name with the table that `schema` makes. Threads have to take turns at it.

    Raises:
        sqlite3.Error: it cannot be used now.
        LabError: there is no folder for the cache.
    """
    path = cache.folder(name)
    # A process that was forked has no part in its parent's connection.
    where = (path, os.getpid())
    if where not in _open or not path.exists():
        _open[where] = _connect(path, schema)
    return _open[where]


def _connect(path: Path, schema: str) -> sqlite3.Connection:
    for _ in range(2):
        store = sqlite3.connect(path, timeout=1, isolation_level=None, check_same_thread=False)
        try:
            store.execute("PRAGMA synchronous = OFF")
            # The journal's file stays: of files that come and go each other new one takes longer (ext4).
            store.execute("PRAGMA journal_mode = PERSIST")
            store.execute(schema)
        except sqlite3.OperationalError:
            store.close()
            raise
        except sqlite3.DatabaseError:  # it is no database, or a damaged one
            with closing(store):
                path.unlink(missing_ok=True)
        else:
            return store
    raise sqlite3.DatabaseError(str(path))

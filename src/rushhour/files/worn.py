"""What lies in a folder of the cache and nobody has used for a month goes, when something new comes there.

An entry's last use is noted beside it, in `.used`: its own times may be part of what it is.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from rushhour.files import rooms

if TYPE_CHECKING:
    from pathlib import Path

DAYS = 30
"""For how long what nobody uses stays."""
_MARKS = ".used"
# What is kept by its content. Nothing else is removed.
_HASH = re.compile(r"[0-9a-f]{16,64}(\.tar)?")


def use(entry: Path) -> None:
    """Note that an entry is used now. A cache that cannot be written is used as it is."""
    mark = _mark(entry)
    with suppress(OSError):
        mark.parent.mkdir(exist_ok=True)
        mark.touch()


def clear(folder: Path) -> None:
    """Remove the entries of a folder that have not been used for long; those that cannot be removed stay."""
    before = time.time() - DAYS * 86400
    with suppress(OSError):
        found = [one for one in sorted(folder.iterdir()) if _HASH.fullmatch(one.name)]
        for entry in [one for one in found if _last(one) < before]:
            _remove(entry, before)
        for mark in (folder / _MARKS).iterdir():
            if mark.stat().st_mtime < before:
                mark.unlink()


def _mark(entry: Path) -> Path:
    # An entry may be several things of one name: a folder, and the archive that it is made of.
    return entry.parent / _MARKS / entry.name.partition(".")[0]


def _last(entry: Path) -> float:
    """When it was last used; one without a note, when it came there."""
    try:
        return _mark(entry).stat().st_mtime
    except OSError:
        return entry.lstat().st_ctime


def _remove(entry: Path, before: float) -> None:
    with suppress(OSError), rooms.room(entry.parent) as room:
        entry.rename(room / entry.name)
        # Whoever began to use it at this moment has said so before looking for it.
        mark = _mark(entry)
        if mark.exists() and mark.stat().st_mtime >= before:
            (room / entry.name).rename(entry)

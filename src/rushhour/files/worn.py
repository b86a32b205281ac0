"""What lies in a folder of the cache and is used no more goes, when something new comes there.

That is what nobody has used for a month, and, where a folder may take so many bytes only, what was used
longest ago. An entry's last use is noted beside it, in `.used`: its own times may be part of what it is. The
note is locked as long as a process lives that uses the entry, and so long the entry stays.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from rushhour.files import rooms
from rushhour.files.size import on_disk

if TYPE_CHECKING:
    from pathlib import Path

DAYS = 30
"""For how long what nobody uses stays."""
_MARKS = ".used"
# What is kept by its content. Nothing else is removed.
_HASH = re.compile(r"[0-9a-f]{16,64}(\.tar)?")

# The notes that this process holds, by their paths.
_held: dict[Path, int] = {}


def use(entry: Path) -> None:
    """Note that this process uses an entry from now on. A cache that cannot be written is used as it is."""
    mark = _mark(entry)
    with suppress(OSError):
        mark.parent.mkdir(exist_ok=True)
        mark.touch()
        if mark not in _held:
            _held[mark] = os.open(mark, os.O_RDONLY | os.O_CLOEXEC)
            fcntl.flock(_held[mark], fcntl.LOCK_SH)


def clear(folder: Path, most: int | None = None, *, before: float | None = None) -> None:
    """Remove what has not been used for long, and what the folder has beyond `most` bytes.

    What a process uses stays, and so does what cannot be removed. With `before` (s since 1970) what was used
    last before that time was not used for long.
    """
    before = time.time() - DAYS * 86400 if before is None else before
    with suppress(OSError):
        found = sorted((_last(one), one) for one in folder.iterdir() if _HASH.fullmatch(one.name))
        sizes = {one: on_disk(one) for _, one in found} if most is not None else {}
        room = (most or 0) - sum(sizes.values())
        for last, entry in found:
            if last >= before and (most is None or room >= 0):
                break
            if _remove(entry, last):
                room += sizes.get(entry, 0)
        for mark in (folder / _MARKS).iterdir():
            if mark.stat().st_mtime < before and not _is_held(folder / mark.name):
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


def _remove(entry: Path, last: float) -> bool:
    """Remove an entry that was last used then, unless it is in use; whether it is gone."""
    with suppress(OSError), rooms.room(entry.parent) as room:
        if _is_held(entry):
            return False
        entry.rename(room / entry.name)
        # Whoever began to use it at this moment has said so before looking for it.
        mark = _mark(entry)
        if mark.exists() and mark.stat().st_mtime > last:
            (room / entry.name).rename(entry)
            return False
        return True
    return False


def _is_held(entry: Path) -> bool:
    """Whether a process uses it; also where a lock says nothing, for a file system may have none."""
    try:
        mark = os.open(_mark(entry), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(mark)
    return False

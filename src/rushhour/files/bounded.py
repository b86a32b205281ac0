"""A folder of the cache that is kept to a size: what was used longest ago makes room for what is new.

Its entries are folders named by a hash, in 256 parts by the hash's beginning. So each part has about the
same share of all, and it is enough to look through the one that something new comes to, once an hour. A file
that a folder of results has, too, takes no room in the cache, and removing it would give none: it does not
count.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from rushhour.errors import UsageError
from rushhour.files import rooms
from rushhour.files.size import alone

if TYPE_CHECKING:
    from pathlib import Path

VARIABLE = "RUSHHOUR_CACHE_SIZE"
USUAL = 10_000_000_000
"""Bytes that runs take at most, where `RUSHHOUR_CACHE_SIZE` says nothing."""
PARTS = 256
EVERY_S = 3600
# Whose time is that of the last look.
_MARK = ".looked"
# Room for the runs of the next hours, so that not each look has to remove something.
_SPARE = 8


def most() -> int:
    """Bytes that the runs in the cache may take together.

    Raises:
        UsageError: `RUSHHOUR_CACHE_SIZE` is no size.
    """
    told = os.environ.get(VARIABLE)
    if not told:
        return USUAL
    from rushhour.quantities.units import Size, UnitError  # noqa: PLC0415 - pydantic

    try:
        return Size.parse(told).bytes
    except UnitError as error:
        raise UsageError(f"{VARIABLE}: {error}") from None


def use(entry: Path) -> None:
    """Note that an entry is used now: the time of its folder says when it was."""
    with suppress(OSError):
        os.utime(entry)


def shrink(part: Path, whole: int) -> None:
    """Let a part have its share of `whole` bytes, unless somebody looked within the last hour.

    It never has more than half of what would be free on the disk without it.
    """
    mark = part / _MARK
    with suppress(OSError):
        # A look in the future was one of before the clock was set back.
        if mark.exists() and 0 <= time.time() - mark.stat().st_mtime < EVERY_S:
            return
        mark.touch()
        found = _found(part)
        held = sum(size for _, size, _ in found)
        disk = os.statvfs(part)
        share = min(whole // PARTS, (disk.f_bavail * disk.f_frsize // PARTS + held) // 2)
        if held > share:
            _remove(part, found, held - share + share // _SPARE)


def clear(part: Path, before: float) -> None:
    """Remove the entries of a part that were not used since that time (s since 1970)."""
    _remove(part, [one for one in _found(part) if one[0] < before])


def _found(part: Path) -> list[tuple[float, int, Path]]:
    """Last use, bytes and folder of each entry, the one used longest ago first."""
    found = []
    for entry in part.iterdir():
        if not entry.name.startswith("."):
            with suppress(OSError):
                found.append((entry.stat().st_mtime, alone(entry), entry))
    return sorted(found)


def _remove(part: Path, found: list[tuple[float, int, Path]], enough: int | None = None) -> None:
    """Remove entries, in this order, `enough` bytes of them or all."""
    removed = 0
    with rooms.room(part) as room:
        for number, (last, size, entry) in enumerate(found):
            if enough is not None and removed >= enough:
                return
            with suppress(OSError):
                # Whoever uses it now has said so before reading it.
                if (enough is None or size) and entry.stat().st_mtime == last:
                    entry.rename(room / str(number))
                    removed += size

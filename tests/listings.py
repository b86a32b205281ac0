"""Folders that list what they hold in an order of their own, for a file system lists it in any.

Tests of one machine see one order: that of its ext4 or of its tmpfs. What depends on it fails on another.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

VARIABLE = "RUSHHOUR_TEST_ORDER"
"""Whatever it says, folders list in another order."""


def shuffle(order: str = "") -> Callable[[], None]:
    """Let `os.scandir` and `os.listdir` of this process list in one order on every machine.

    Args:
        order: Any word; another one makes another order.

    Returns:
        What takes it back.
    """
    scan, names = os.scandir, os.listdir

    def by(name: str | bytes) -> bytes:
        return hashlib.sha256(order.encode() + os.fsencode(name)).digest()

    def scandir(*place: Any) -> _Entries:
        with scan(*place) as entries:
            return _Entries(sorted(entries, key=lambda entry: by(entry.name)))

    def listdir(*place: Any) -> list[Any]:
        return sorted(names(*place), key=by)

    # Who can list what is open asks whether these are among those that can.
    os.supports_fd.update({scandir, listdir})
    return _put(scandir, listdir)


def _put(scandir: Any, listdir: Any) -> Callable[[], None]:
    before = os.scandir, os.listdir
    os.scandir, os.listdir = scandir, listdir

    def back() -> None:
        os.scandir, os.listdir = before

    return back


class _Entries:
    """As the iterator that `os.scandir` gives."""

    def __init__(self, entries: Iterable[os.DirEntry[Any]]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[os.DirEntry[Any]]:
        return self

    def __next__(self) -> os.DirEntry[Any]:
        return next(self._entries)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._entries = iter(())

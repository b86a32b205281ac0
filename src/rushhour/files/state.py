"""What tells whether anything in a folder was changed: the state of all that it holds."""

from __future__ import annotations

import hashlib
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

Entry = tuple[str, os.stat_result]


def entries(folder: Path) -> Iterator[Entry]:
    """Everything below a folder, by its path from there, in order; links are not followed.

    Raises:
        OSError: something of it cannot be looked at.
    """
    waiting = [""]
    while waiting:
        name = waiting.pop()
        for entry in sorted(os.scandir(folder / name), key=lambda one: one.name):
            about = entry.stat(follow_symlinks=False)
            below = f"{name}/{entry.name}" if name else entry.name
            if stat.S_ISDIR(about.st_mode):
                waiting.append(below)
            yield below, about


def hashed(found: Iterable[Entry]) -> str:
    """A hash that is another one when anything was changed: no program can set a file's time of change."""
    whole = hashlib.sha256()
    for name, about in found:
        told = (about.st_mode, about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino)
        whole.update(os.fsencode(f"{name} {told}\0"))
    return whole.hexdigest()

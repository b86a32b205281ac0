"""What has been written, made durable: on the disk when the call comes back."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# Files at once; more save no time.
_AT_ONCE = 4


def sync(path: Path) -> None:
    """Make a file or a folder durable.

    Raises:
        OSError: it cannot be opened, or not be written.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_all(paths: Iterable[Path]) -> None:
    """Make files durable together: the file system then writes its journal once instead of once a file.

    Raises:
        OSError: as of `sync`.
    """
    list(_threads(os.getpid()).map(sync, paths))


@cache
def _threads(_process: int) -> ThreadPoolExecutor:
    # Kept, for to start new ones costs more than what they do; a process that was forked has none of them.
    return ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="sync")

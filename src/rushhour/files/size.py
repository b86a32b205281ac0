"""How much of a disk something takes."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def on_disk(place: Path) -> int:
    """Bytes of a file, or of a folder with all in it; of a file with several names, its part by one of them.

    What is not there, or goes meanwhile, takes nothing.
    """
    # The links of a folder are the folders in it.
    return sum(
        512 * one.st_blocks // (1 if stat.S_ISDIR(one.st_mode) else one.st_nlink) for one in _all(place)
    )


def alone(place: Path) -> int:
    """Bytes that would be free without a folder: of its files that have no other name."""
    files = (one for one in _all(place) if not stat.S_ISDIR(one.st_mode))
    return sum(512 * one.st_blocks for one in files if one.st_nlink == 1)


def _all(place: Path) -> Iterator[os.stat_result]:
    """What the system says of a file, or of a folder and all in it."""
    paths = (
        os.path.join(above, name)  # noqa: PTH118 - Path objects cost seconds
        for above, folders, names in os.walk(place)
        for name in (*folders, *names)
    )
    for path in chain((os.fspath(place),), paths):
        with suppress(OSError):
            yield os.lstat(path)

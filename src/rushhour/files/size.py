"""How much of a disk something takes."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def on_disk(place: Path) -> int:
    """Bytes of a file, or of a folder with all in it; of a file with several names, its part by one of them.

    What is not there, or goes meanwhile, takes nothing.
    """
    total = _bytes(place)
    for above, folders, names in os.walk(place):
        for name in (*folders, *names):
            total += _bytes(os.path.join(above, name))  # noqa: PTH118 - Path objects cost seconds
    return total


def _bytes(path: str | Path) -> int:
    try:
        about = os.lstat(path)
    except OSError:
        return 0
    # The links of a folder are the folders in it.
    return 512 * about.st_blocks // (1 if stat.S_ISDIR(about.st_mode) else about.st_nlink)

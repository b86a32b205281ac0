"""A private copy of a person's source tree, brought up to date by content.

A build goes by dates, and dates can only be set in a copy: so a tree that was never built begins with its
nearest neighbour's (`seed`), and of a tree that was, what is rewritten is what differs. The tree itself is
only read.
"""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_BATCH = 500


def bring(tree: Path, copy: Path, names: Iterable[str]) -> None:
    """Make `copy` hold exactly these files of `tree`.

    Files that are the same keep their date; those that differ are new files, for the old one may be shared
    with other trees by a hard link.

    Raises:
        OSError: a file cannot be read or written.
    """
    wanted = sorted(names)
    copy.mkdir(exist_ok=True)
    _drop(copy, set(wanted))
    batches = [wanted[start : start + _BATCH] for start in range(0, len(wanted), _BATCH)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        differing = pool.map(lambda batch: [name for name in batch if not _same(tree, copy, name)], batches)
        for name in (name for batch in differing for name in batch):
            _put(tree / name, copy / name)


def _drop(copy: Path, wanted: set[str]) -> None:
    for folder, below, names in os.walk(copy):
        inside = os.path.relpath(folder, copy)
        # A link to a folder is a file to us.
        links = [name for name in below if os.path.islink(os.path.join(folder, name))]  # noqa: PTH114, PTH118
        for name in names + links:
            if (name if inside == "." else f"{inside}/{name}") not in wanted:
                Path(folder, name).unlink()


def _same(tree: Path, copy: Path, name: str) -> bool:
    # 30 000 times: Path objects cost seconds.
    mine, other = os.path.join(tree, name), os.path.join(copy, name)  # noqa: PTH118
    try:
        if os.path.islink(mine) or os.path.islink(other):  # noqa: PTH114
            return os.readlink(mine) == os.readlink(other)  # noqa: PTH115
        one, two = os.stat(mine), os.stat(other)  # noqa: PTH116
    except OSError:
        return False
    if (one.st_size, one.st_mode & 0o100) != (two.st_size, two.st_mode & 0o100):
        return False
    with open(mine, "rb", buffering=0) as first, open(other, "rb", buffering=0) as second:  # noqa: PTH123
        return first.read() == second.read()


def _put(source: Path, target: Path) -> None:
    """A new file or link in place of whatever is there; what is interrupted is put right the next time."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    target.unlink(missing_ok=True)
    if source.is_symlink():
        target.symlink_to(source.readlink())
    else:
        shutil.copyfile(source, target)
        target.chmod(0o755 if source.stat().st_mode & 0o100 else 0o644)

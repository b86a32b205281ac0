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

from rushhour.lab import cpus
from rushhour.lab.kernel import store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rushhour.lab.kernel.diff import Edit

_BATCH = 500


def clone(tree: Path, target: Path) -> None:
    """The same tree by hard links: `git` and `bring` never write into a file that is there."""
    with store.scratch(target) as room:
        shutil.copytree(tree, room / "tree", symlinks=True, copy_function=_link)
        (room / "tree").rename(target)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or more links than it allows
        shutil.copy2(source, target)


def bring(tree: Path, copy: Path, names: Iterable[str], edits: Mapping[str, Edit] | None = None) -> None:
    """Make `copy` hold exactly these files of `tree`, some of them otherwise.

    Files that are the same keep their date; those that differ are new files, for the old one may be shared
    with other trees by a hard link.

    Args:
        tree: what is copied; only read.
        copy: what becomes like it.
        names: the files, relative to both.
        edits: what files hold that are not as in `tree`.

    Raises:
        OSError: a file cannot be read or written.
    """
    edits = edits or {}
    wanted = sorted({*names} - edits.keys())
    copy.mkdir(exist_ok=True)
    _drop(copy, {*wanted, *(name for name, edit in edits.items() if edit.data is not None)})
    for name, edit in edits.items():
        _write(tree / name, copy / name, edit)
    batches = [wanted[start : start + _BATCH] for start in range(0, len(wanted), _BATCH)]
    with ThreadPoolExecutor(len(cpus.own())) as pool:
        differing = pool.map(lambda batch: [name for name in batch if not _same(tree, copy, name)], batches)
        for name in (name for batch in differing for name in batch):
            _put(tree / name, copy / name)


def every(tree: Path) -> Iterator[str]:
    """All files and links of a tree that is in the cache."""
    for folder, below, names in os.walk(tree):
        inside = os.path.relpath(folder, tree)
        links = [name for name in below if os.path.islink(os.path.join(folder, name))]  # noqa: PTH114, PTH118
        yield from (name if inside == "." else f"{inside}/{name}" for name in names + links)


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
    if (one.st_dev, one.st_ino) == (two.st_dev, two.st_ino):
        return True
    if (one.st_size, one.st_mode & 0o100) != (two.st_size, two.st_mode & 0o100):
        return False
    with open(mine, "rb", buffering=0) as first, open(other, "rb", buffering=0) as second:  # noqa: PTH123
        return first.read() == second.read()


def _write(before: Path, target: Path, edit: Edit) -> None:
    """The file as it is to be, unless it is so already: make goes by dates."""
    if edit.data is None:
        return
    executable = edit.executable
    if executable is None:
        executable = before.is_file() and bool(before.stat().st_mode & 0o100)
    mode = 0o755 if executable else 0o644
    if target.is_file() and not target.is_symlink():
        if target.read_bytes() == edit.data and bool(target.stat().st_mode & 0o100) == executable:
            return
        target.unlink()
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(edit.data)
    target.chmod(mode)


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

"""Rooms: folders with a dot before their name, in which something is made before it takes its place.

A room is locked as long as its process lives, so one that a killed process left is known as such, and whoever
makes the next one beside it removes it. Removed is only what carries a name that was made here, is a folder
and no link to one, and belongs to this user: folders of results come from strangers, too.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import stat
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

NEW = ".rushhour-"
# What tempfile puts behind a prefix.
_RANDOM = "[a-z0-9_]{8}"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
# File systems that lock nothing, or no folders (NFS).
_NO_LOCKS = (errno.EBADF, errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS)


def make(parent: Path, prefix: str = NEW) -> tuple[Path, int]:
    """A new, empty, locked folder in `parent`, and the descriptor that holds its lock.

    What killed processes left beside it under the same prefix is removed first.

    Raises:
        OSError: it cannot be made.
    """
    with locked(parent):  # a new folder that is not locked yet looks abandoned
        _sweep(parent, prefix)
        room = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        lock = os.open(room, _FOLDER)
        _lock(lock)
    return room, lock


@contextmanager
def room(parent: Path, prefix: str = NEW) -> Iterator[Path]:
    """A room for a while; what is still in it at the end goes with it."""
    folder, lock = make(parent, prefix)
    try:
        yield folder
    finally:
        remove(folder)
        os.close(lock)


def sweep(parent: Path, prefix: str = NEW) -> None:
    """Remove the rooms in `parent` whose processes are gone."""
    if parent.is_dir():
        with locked(parent):
            _sweep(parent, prefix)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Wait for the lock of a folder, and hold it; nothing is held where locks are unknown."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _lock(lock)
        yield
    finally:
        os.close(lock)


def remove(folder: Path) -> None:
    """Remove a folder that was made here, also one that a guest made unreadable."""

    def open_up(_function: object, path: str, _error: object) -> None:
        failed = Path(path)
        # The folder that holds the room is not ours to change.
        if failed == folder:
            return
        with suppress(OSError):
            failed.parent.chmod(stat.S_IRWXU)
            if failed.is_dir() and not failed.is_symlink():
                failed.chmod(stat.S_IRWXU)
                shutil.rmtree(failed, ignore_errors=True)
            else:
                failed.unlink(missing_ok=True)

    for _ in range(2):  # what was opened up is gone the second time
        if not _is_ours(folder):
            return
        with suppress(OSError):
            folder.chmod(stat.S_IRWXU)
        if sys.version_info >= (3, 12):
            shutil.rmtree(folder, onexc=open_up)
        else:
            shutil.rmtree(folder, onerror=open_up)


def _sweep(parent: Path, prefix: str) -> None:
    name = re.compile(re.escape(prefix) + _RANDOM)
    with os.scandir(parent) as entries:
        found = [Path(entry.path) for entry in entries if name.fullmatch(entry.name)]
    for folder in found:
        if not _is_ours(folder):
            continue
        with suppress(OSError):
            lock = os.open(folder, _FOLDER)
            try:
                if _lock(lock, wait=False):
                    remove(folder)
            finally:
                os.close(lock)


def _is_ours(folder: Path) -> bool:
    try:
        about = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid()


def _lock(descriptor: int, *, wait: bool = True) -> bool:
    """Whether the lock is held now."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (*_NO_LOCKS, errno.EAGAIN):
            raise
        return False
    return True

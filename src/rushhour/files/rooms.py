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

from rushhour.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RESULTS = Path("results")
"""Where results go if no other folder is named: below the folder that the user is in."""
NEW = ".rushhour-"
SANDBOX = ".sandbox-"
_PREFIXES = (NEW, SANDBOX)
_UNLOCKED = "~"
# What tempfile puts behind a prefix.
_RANDOM = "[a-z0-9_]{8}"
# The first name, too: who was killed between two calls left a room that has no other.
_NAME = re.compile(f"({'|'.join(map(re.escape, _PREFIXES))}){_UNLOCKED}?{_RANDOM}")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
# File systems that lock nothing, or no folders (NFS).
_NO_LOCKS = (errno.EBADF, errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS)

# A folder of 100 000 runs is not looked through for each of them: of how many entries one makes a room wait.
_PER_ENTRY = 100
_due: dict[Path, int] = {}


def make(parent: Path, prefix: str = NEW) -> tuple[Path, int]:
    """A new, empty, locked folder in `parent`, and the descriptor that holds its lock.

    What killed processes left beside it is removed first; in a folder of very many entries not each time.

    Raises:
        OSError: it cannot be made.
    """
    if _due.get(parent, 0) > 0:
        _due[parent] -= 1
    else:
        sweep(parent)
    while True:
        # Locked under another name first: a room that is not locked looks abandoned, and may be swept.
        new = Path(tempfile.mkdtemp(prefix=f"{prefix}{_UNLOCKED}", dir=parent))
        room = new.with_name(new.name.replace(_UNLOCKED, ""))
        lock = None
        try:
            lock = os.open(new, _FOLDER)
            _lock(lock)
            new.rename(room)
        except OSError as error:
            if lock is not None:
                os.close(lock)
            if error.errno != errno.ENOENT:
                raise
        else:
            return room, lock


def unused(folder: Path, used: Callable[[Path], bool] = Path.exists) -> Path:
    """The folder if nothing uses its name yet, else the first of `folder-2`, `folder-3` … that is unused."""
    free, number = folder, 1
    while used(free):
        number += 1
        free = folder.with_name(f"{folder.name}-{number}")
    return free


@contextmanager
def room(parent: Path, prefix: str = NEW) -> Iterator[Path]:
    """A temporary folder; it is removed at the end with all that is in it."""
    folder, lock = make(parent, prefix)
    try:
        yield folder
    finally:
        remove(folder)
        os.close(lock)


def put(path: Path, data: bytes | memoryview, *, durable: bool = False) -> None:
    """Write a file whole or not at all, in place of one that is there; its mode is the umask's.

    Raises:
        OSError: it cannot be written.
    """
    with room(path.parent) as folder:
        new = folder / "file"
        with new.open("xb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        new.replace(path)


def take_place(folder: Path, target: Path) -> None:
    """Give a folder its final name; what is there is removed as soon as the new one has taken its place.

    Until then it comes back, whatever happens: a refusal, or an interrupt between both steps.

    Raises:
        OSError: it cannot be renamed.
    """
    try:
        folder.rename(target)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        with room(target.parent) as old:
            try:
                target.rename(old / "old")
                folder.rename(target)
            except BaseException:
                if (old / "old").exists() and not target.exists():
                    (old / "old").rename(target)
                raise


def open_results(folder: Path, *, unseen: bool = False) -> None:
    """Make a folder for results, and those above it; git does not see `results/` if it is made now.

    The user may be in a clone of something else, of the kernel for example. A `results/` that is there is
    the user's, and stays as it is.

    Args:
        folder: The folder.
        unseen: Git does not see the folder either, wherever it is.

    Raises:
        OSError: it cannot be made.
    """
    new = folder.parts[:1] == RESULTS.parts and not RESULTS.exists()
    folder.mkdir(parents=True, exist_ok=True)
    for place in ([RESULTS] if new else []) + ([folder] if unseen else []):
        if not (place / ".gitignore").exists():
            put(place / ".gitignore", b"*\n")


@contextmanager
def alone(folder: Path, what: str, *inside: str) -> Iterator[None]:
    """Make a folder and keep others out of it; the lock is the folder's own and leaves nothing.

    What killed processes left in it is removed: a process that finds all its work done there makes no room,
    so nothing else would remove it.

    Args:
        folder: The folder.
        what: What the process does there.
        inside: Folders below it in which rooms are made, too; they need not be there.

    Raises:
        UsageError: another process holds it.
        OSError: the folder cannot be made.
    """
    open_results(folder)
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            hint = "wait for it, or choose another place with --out"
            raise UsageError(f"another {what} is writing there", where=str(folder), hint=hint) from error
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
        for place in (folder, *(folder / name for name in inside)):
            sweep(place)
        yield
    finally:
        os.close(lock)


def umask() -> int:
    """The permission bits that the umask takes from new files."""
    try:
        with open("/proc/self/status", "rb", buffering=0) as file:  # noqa: PTH123 - for each of very many runs
            told = file.read(1 << 12)
        return int(told.partition(b"\nUmask:")[2].split(None, 1)[0], 8)
    except (OSError, IndexError, ValueError):
        # For a moment other threads create without it.
        mask = os.umask(0o077)
        os.umask(mask)
        return mask


def sweep(parent: Path) -> None:
    """Remove the rooms in `parent` whose processes are gone."""
    try:
        with os.scandir(parent) as entries:
            names = [entry.name for entry in entries]
    except OSError:
        return
    _due[parent] = len(names) // _PER_ENTRY
    for folder in (parent / one for one in names if _NAME.fullmatch(one)):
        if not _is_ours(folder):
            continue
        with suppress(OSError):
            lock = os.open(folder, _FOLDER)
            try:
                if _lock(lock, wait=False):
                    remove(folder)
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


def point(link: Path, target: str) -> None:
    """Let the symbolic link lead to `target`, at once, wherever it led before.

    Raises:
        OSError: links cannot be made there.
    """
    new = link.with_name(f".{link.name}-{os.getpid()}")
    new.symlink_to(target)
    new.replace(link)

"""Results by content: a run that is known is not run again.

A record is kept under the hash of all that determines it, and shared with result sets by hard links; its
files are read-only, for the links share their content.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from rushhour.errors import LabError
from rushhour.seal import MANIFEST

HINT = "make room there, or set XDG_CACHE_HOME to a folder of yours"
# Another file system, too many links, links forbidden: then a copy serves as well.
_NO_LINK = (errno.EXDEV, errno.EMLINK, errno.EPERM, errno.EACCES, errno.ENOTSUP)


def folder(*parts: str) -> Path:
    """A path below `$XDG_CACHE_HOME/rushhour` or `~/.cache/rushhour`; the folder above it exists."""
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        path = (Path(base) if base else Path.home() / ".cache").joinpath("rushhour", *parts)
        path.parent.mkdir(parents=True, exist_ok=True)
    except RuntimeError as error:  # a user whom the machine does not know
        raise LabError(f"there is no place for the cache: {error}", hint=HINT, machine=True) from error
    except OSError as error:
        raise LabError(
            f"the cache cannot be written: {error.strerror}", where=str(path.parent), hint=HINT, machine=True
        ) from error
    return path


def find(key: str) -> Path | None:
    """The record with this key, if it is known."""
    path = _place(key)
    return path if (path / MANIFEST).is_file() else None


def keep(key: str, record: Path) -> None:
    """Keep a sealed record under its key; the newer one replaces an older.

    Raises:
        LabError: it cannot be written.
    """
    place = _place(key)
    try:
        new = Path(tempfile.mkdtemp(prefix=".new-", dir=place.parent))
        try:
            share(record, new, with_manifest=True)
            with suppress(OSError):
                place.rename(new.with_name(new.name + ".old"))
            with suppress(OSError):  # another process may have kept the same run meanwhile
                new.rename(place)
        finally:
            shutil.rmtree(new, ignore_errors=True)
            shutil.rmtree(new.with_name(new.name + ".old"), ignore_errors=True)
    except OSError as error:
        raise LabError(
            f"the run cannot be kept in the cache: {error.strerror}", where=str(place), hint=HINT
        ) from error


def share(record: Path, target: Path, *, with_manifest: bool) -> None:
    """Put the files of a record into the folder `target`, by hard links where that is possible."""
    for path in sorted(record.rglob("*")):
        name = path.relative_to(record)
        if path.is_dir():
            (target / name).mkdir(exist_ok=True)
        elif with_manifest or str(name) != MANIFEST:
            _link(path, target / name)


def _link(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        shutil.copy2(source, target)


def _place(key: str) -> Path:
    return folder("runs", key[:2], key)

"""The files of a record: those that lie in its folder, and nothing that they lead to.

A folder is listed, not trusted: only regular files count, links are not followed, and a name that is asked
for is looked for in the list.
"""

from __future__ import annotations

import io
import os
import stat
import zipfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHUNK = 1 << 18
MOST = 4096
_DEEP = 4
# The earliest a zip file can say: the same record gives the same bytes.
_TIME = (1980, 1, 1, 0, 0, 0)
_PACKED = (".zst", ".gz", ".xz")


@dataclass(frozen=True)
class Entry:
    """A file of a record: its name below the folder, and its size in bytes."""

    name: str
    size: int


def listed(folder: Path) -> list[Entry]:
    """The regular files of a folder, sorted by name; an unreadable folder has none."""
    found: list[Entry] = []
    with suppress(OSError):
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            for place, _folders, names, descriptor in os.fwalk(".", dir_fd=top, follow_symlinks=False):
                if place.count("/") >= _DEEP or len(found) > MOST:
                    break
                for name in names:
                    facts = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                    if stat.S_ISREG(facts.st_mode) and _plain(name):
                        found.append(Entry(f"{place}/{name}"[2:], facts.st_size))
        finally:
            os.close(top)
    return sorted(found, key=lambda one: ("/" in one.name, one.name))


def _plain(name: str) -> bool:
    return name.isprintable() and not name.startswith(".")


@contextmanager
def opened(folder: Path, name: str) -> Iterator[BinaryIO]:
    """Open a file that `listed` gives, without following a link on the way.

    Raises:
        FileNotFoundError: there is no such file in this folder.
    """
    if name not in {entry.name for entry in listed(folder)}:
        raise FileNotFoundError(name)
    *folders, last = name.split("/")
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        for part in folders:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=place)
            os.close(place)
            place = inner
        descriptor = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=place)
    except OSError as error:
        raise FileNotFoundError(name) from error
    finally:
        os.close(place)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FileNotFoundError(name)
        yield file


def content(folder: Path, name: str) -> Iterator[bytes]:
    """A file in pieces; it is opened before the first is asked for."""
    with opened(folder, name) as file:
        yield b""
        while piece := file.read(CHUNK):
            yield piece


def zipped(folder: Path, top: str) -> Iterator[bytes]:
    """All files of a folder as a zip file in pieces, below a folder `top`; equal files give equal bytes."""
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for entry in listed(folder):
            about = zipfile.ZipInfo(f"{top}/{entry.name}", _TIME)
            packed = entry.name.endswith(_PACKED)
            about.compress_type = zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED
            with archive.open(about, "w", force_zip64=entry.size > 1 << 31) as target:
                for piece in content(folder, entry.name):
                    target.write(piece)
                    yield sink.take()
    yield sink.take()


class _Sink(io.RawIOBase):
    """What was written and not yet taken; it cannot be sought in, so an archive is written in one go."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: bytes, /) -> int:  # type: ignore[override]
        self._parts.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        """What has come since."""
        taken = b"".join(self._parts)
        self._parts.clear()
        return taken

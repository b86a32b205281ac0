"""What a counting kernel leaves in a record: the counters of each object, as gcov reads them.

The file `coverage.gz` of a record is gzip of `RUSHCOV1`, then of each object `u32` bytes of its name and
`u32` bytes of its data (little-endian), name, data (`.gcda`).
"""

from __future__ import annotations

import gzip
import struct
import zlib
from typing import TYPE_CHECKING

from rushhour.errors import RecordError
from rushhour.files.zipped import zipped
from rushhour.record.json_file import AGAIN
from rushhour.record.manifest import COUNTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAGIC = b"RUSHCOV1"
FILE = COUNTS
LEFT = "coverage"
"""What the kernel calls it, before it is compressed."""
_HEAD = struct.Struct("<II")
_MOST = 1 << 28


def read(path: Path) -> dict[str, bytes]:
    """The counters of a run, by object: `net/ipv4/tcp_input`.

    Raises:
        RecordError: the file is damaged.
    """
    try:
        with gzip.open(path) as file:
            data = file.read(_MOST)
        return dict(_objects(data))
    except (OSError, EOFError, zlib.error, ValueError, struct.error) as error:
        raise RecordError(f"the counters are damaged: {error}", where=str(path), hint=AGAIN) from error


def left(folder: Path) -> dict[str, bytes]:
    """The counters that a kernel left in the folder of its run, by object.

    Raises:
        RecordError: it left none, or they are damaged.
    """
    try:
        return dict(_objects((folder / LEFT).read_bytes()))
    except (OSError, ValueError, struct.error) as error:
        raise RecordError(f"the kernel left no counters: {error}", where=str(folder / LEFT)) from error


def pack(folder: Path) -> None:
    """Compress what a kernel left in the folder of its run; the same counts give the same bytes."""
    left = folder / LEFT
    if left.is_file() and not left.is_symlink():
        (folder / FILE).write_bytes(zipped(left.read_bytes(), 6))
        left.unlink()


def _objects(data: bytes) -> Iterator[tuple[str, bytes]]:
    if not data.startswith(MAGIC):
        raise ValueError("they do not begin with RUSHCOV1")
    place = len(MAGIC)
    while place < len(data):
        name_bytes, data_bytes = _HEAD.unpack_from(data, place)
        begin = place + _HEAD.size + name_bytes
        place = begin + data_bytes
        if place > len(data):
            raise ValueError("they end in the middle of an object")
        yield _name(data[begin - name_bytes : begin].decode()), data[begin:place]


def _name(written: str) -> str:
    """`./net#ipv4#tcp_input.gcda`, as the compiler spells a path, is `net/ipv4/tcp_input`."""
    name = written.removeprefix("./").replace("#", "/").removesuffix(".gcda")
    if ".." in name.split("/") or name.startswith("/"):
        raise ValueError(f"an object is called {written[:80]!r}")
    return name

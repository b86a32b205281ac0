"""A profile: how often each line was executed, as the compiler's `-fprofile-use` reads it.

Of each object the kernel leaves what gcov reads (`.gcda`, from gcc 12 on): four words of head, then records
of a tag, a length in bytes, a content. Here the counters of several runs are added up, and written again with
two differences. The compiler wants a summary of the object, which the library that turns counters into a file
does not write; without it they are ignored in silence. And nothing tells any more where the source lay: the
same source, compiler and runs give the same profile anywhere.
"""

from __future__ import annotations

import hashlib
import struct
import zipfile
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.errors import KernelError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

_HEAD = struct.Struct("<4sIII")  # magic, version, stamp, checksum
_RECORD = struct.Struct("<Ii")
_FUNCTION = struct.Struct("<III")  # number, checksum of its lines, of its paths
_MAGIC = b"adcg"
_SUMMARY, _OF_FUNCTION, _ARCS = 0xA1000000, 0x01000000, 0x01A10000
_MOST = 0xFFFFFFFF
_FIRST = 12
_DATE = (2026, 1, 1, 0, 0, 0)
FILE = "profile.zip"
"""What a profile is called where it is kept: an archive of `.gcda` files, by the objects' names."""


@dataclass
class Function:
    """A function's counters, with the checksum of its paths."""

    paths: int
    counts: array[int]


@dataclass
class Counters:
    """An object's counters: the compiler's version as it writes it, and the functions by number."""

    version: int
    functions: dict[int, Function]

    def add(self, other: Counters) -> None:
        """Add those of another run.

        Raises:
            ValueError: they are of another object.
        """
        if other.functions.keys() != self.functions.keys():
            raise ValueError("the counters of two runs are of other functions")
        for number, mine in self.functions.items():
            theirs = other.functions[number]
            if theirs.paths != mine.paths or len(theirs.counts) != len(mine.counts):
                raise ValueError(f"the counters of two runs differ in the paths of function {number}")
            mine.counts = array("q", map(sum, zip(mine.counts, theirs.counts, strict=True)))


def read(data: bytes) -> Counters:
    """The counters of an object.

    Raises:
        ValueError: they are none, or of a compiler that is not known here.
    """
    try:
        return _read(data)
    except struct.error as fault:
        raise ValueError("the counters end too early") from fault


def _read(data: bytes) -> Counters:
    magic, version, _, _ = _HEAD.unpack_from(data)
    if magic != _MAGIC:
        raise ValueError("these are no counters of gcc")
    if (major := _major(version)) < _FIRST:
        raise ValueError(f"the counters are of gcc {major}; from {_FIRST} on they can be read")
    functions: dict[int, Function] = {}
    now: Function | None = None
    for tag, length, begin in _records(data):
        if tag == _OF_FUNCTION:
            now = None
            if length:  # none: of a function that the linker took from elsewhere
                number, _, paths = _FUNCTION.unpack_from(data, begin)
                now = functions[number] = Function(paths, array("q"))
        elif tag == _ARCS and now is not None:
            # A length below 0: so many zeros, which are not written.
            now.counts = array("q", data[begin : begin + length] if length > 0 else bytes(-length))
    return Counters(version, functions)


def _records(data: bytes) -> Iterator[tuple[int, int, int]]:
    place = _HEAD.size
    while place + 4 <= len(data):
        if data[place : place + 4] == bytes(4):
            return
        tag, length = _RECORD.unpack_from(data, place)
        place += _RECORD.size
        end = place + max(length, 0)
        if end > len(data):
            raise ValueError("the counters end in the middle of a record")
        yield tag, length, place
        place = end


def _major(version: int) -> int:
    """The compiler's: 12.2 writes `B22*`, 9.4 `A94*`."""
    ten, one = (version >> 24) & 0xFF, (version >> 16) & 0xFF
    return (ten - ord("A")) * 10 + one - ord("0")


class Profile:
    """The counters of all objects, of several runs together."""

    def __init__(self, runs: Iterable[Mapping[str, bytes]]) -> None:
        """Add up runs; of each the counters of every object, by its name without `.o`.

        Raises:
            KernelError: they cannot be read.
        """
        self._objects: dict[str, Counters] = {}
        for run in runs:
            for name, data in run.items():
                try:
                    self._take(name, read(data))
                except ValueError as fault:
                    raise KernelError(str(fault), where=name) from fault

    def _take(self, name: str, counters: Counters) -> None:
        if name in self._objects:
            self._objects[name].add(counters)
        else:
            self._objects[name] = counters

    def files(self) -> dict[str, bytes]:
        """What the compiler reads, by name: `net#ipv4#tcp.gcda`."""
        return {
            f"{name.replace('/', '#')}.gcda": _written(self._objects[name]) for name in sorted(self._objects)
        }


def _written(counters: Counters) -> bytes:
    # What is executed a ten-thousandth as often is compiled for size: of each object by itself, for a queue
    # discipline sees fewer packets than the lines that all go through.
    most = max((max(one.counts, default=0) for one in counters.functions.values()), default=0)
    parts = [
        _HEAD.pack(_MAGIC, counters.version, 0, 0),
        _RECORD.pack(_SUMMARY, 8) + struct.pack("<II", 1, min(most, _MOST)),
    ]
    for number, one in sorted(counters.functions.items()):
        parts += [_RECORD.pack(_OF_FUNCTION, _FUNCTION.size), _FUNCTION.pack(number, 0, one.paths)]
        data = one.counts.tobytes()
        parts += [_RECORD.pack(_ARCS, len(data)), data] if any(data) else [_RECORD.pack(_ARCS, -len(data))]
    return b"".join([*parts, bytes(4)])


def sha256(files: Mapping[str, bytes]) -> str:
    """Hash of a profile."""
    total = hashlib.sha256()
    for name, data in sorted(files.items()):
        total.update(f"{name} {hashlib.sha256(data).hexdigest()}\n".encode())
    return total.hexdigest()


def pack(files: Mapping[str, bytes], path: Path) -> None:
    """Keep a profile as one file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)


def unpack(path: Path) -> dict[str, bytes]:
    """A profile that was kept.

    Raises:
        KernelError: the file is damaged.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except (OSError, zipfile.BadZipFile) as fault:
        raise KernelError(f"the kernel's profile is damaged: {fault}", where=str(path)) from fault

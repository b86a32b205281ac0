"""A profile: how often each branch was taken, as the compiler's `-fprofile-use` reads it.

Of each object the kernel leaves what gcov reads (`.gcda`, from gcc 12 on): four words of head, then records
of a tag, a length in bytes, a content. Here the counters of several runs are added up, and written again with
two differences. The compiler wants a summary of the object, which the library that turns counters into a file
does not write; without it they are ignored in silence. And nothing tells any more where the source lay, nor
which line a function stood at: a function is known by its name, and has its counters as long as its paths
are those that were counted.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import struct
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.errors import KernelError
from rushhour.lab.kernel.training import notes

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
FILE = "profile.json.xz"
"""What a profile is called where it is kept."""


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
    if (found := major(version)) < _FIRST:
        raise ValueError(f"the counters are of gcc {found}; from {_FIRST} on they can be read")
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


def major(version: int) -> int:
    """The compiler's: 12.2 writes `B22*`, 9.4 `A94*`."""
    ten, one = (version >> 24) & 0xFF, (version >> 16) & 0xFF
    return (ten - ord("A")) * 10 + one - ord("0")


@dataclass(frozen=True)
class Known:
    """A function by its name; `file` is in the tree, and empty where other objects see the function."""

    name: str
    file: str
    paths: int
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Profile:
    """What was executed: the compiler's major version, and the functions of each object, by its name."""

    gcc: int
    objects: Mapping[str, tuple[Known, ...]]

    def files(self, tree: str, version: int) -> dict[str, bytes]:
        """What the compiler reads, by name: `net#ipv4#tcp.gcda`.

        Args:
            tree: where the source lies, as the compiler is told.
            version: the compiler's, as it writes it.
        """
        return {
            f"{name.replace('/', '#')}.gcda": _written(name, functions, tree, version)
            for name, functions in self.objects.items()
        }

    def text(self) -> str:
        """The profile as it is kept."""
        objects = {
            name: [[one.name, one.file, one.paths, " ".join(map(str, one.counts))] for one in functions]
            for name, functions in self.objects.items()
        }
        return json.dumps({"gcc": self.gcc, "objects": objects}, indent=0, sort_keys=True) + "\n"

    def sha256(self) -> str:
        """Hash of what it says."""
        return hashlib.sha256(self.text().encode()).hexdigest()


def added(runs: Iterable[Mapping[str, bytes]], noted: Mapping[str, bytes], tree: str) -> Profile:
    """The counters of all runs together.

    Args:
        runs: of each the counters of every object, by its name without `.o`.
        noted: the compiler's notes of these objects.
        tree: where the source lies.

    Raises:
        KernelError: they cannot be read, or the compiler numbers its functions in a way not known here.
    """
    sums: dict[str, Counters] = {}
    for run in runs:
        for name, data in run.items():
            try:
                counters = read(data)
                if name in sums:
                    sums[name].add(counters)
                else:
                    sums[name] = counters
            except ValueError as fault:
                raise KernelError(str(fault), where=name) from fault
    if not sums:
        raise KernelError("no object of this kernel counted")
    objects = {name: _known(name, sums[name], noted.get(name, b""), tree) for name in sorted(sums)}
    return Profile(major(next(iter(sums.values())).version), objects)


def _known(name: str, counters: Counters, noted: bytes, tree: str) -> tuple[Known, ...]:
    known = []
    try:
        for one in notes.read(noted):
            mine = counters.functions.get(one.number)
            if mine is None:
                continue
            inner = notes.number_of(one.name, one.file, name) == one.number
            if not inner and notes.number_of(one.name, "", name) != one.number:
                raise KernelError(f"the compiler's number of {one.name} is not known", where=name)
            file = one.file.removeprefix(f"{tree}/") if inner else ""
            known.append(Known(one.name, file, mine.paths, tuple(mine.counts)))
    except ValueError as fault:
        raise KernelError(str(fault), where=name) from fault
    return tuple(sorted(known, key=lambda one: (one.file, one.name)))


def _written(name: str, functions: tuple[Known, ...], tree: str, version: int) -> bytes:
    # What is executed a ten-thousandth as often is compiled for size: of each object by itself, for a queue
    # discipline sees fewer packets than the lines that all go through.
    most = max((max(one.counts, default=0) for one in functions), default=0)
    parts = [
        _HEAD.pack(_MAGIC, version, 0, 0),
        _RECORD.pack(_SUMMARY, 8) + struct.pack("<II", 1, min(most, _MOST)),
    ]
    for one in functions:
        number = notes.number_of(one.name, _given(one.file, tree), name)
        parts += [_RECORD.pack(_OF_FUNCTION, _FUNCTION.size), _FUNCTION.pack(number, 0, one.paths)]
        data = array("q", one.counts).tobytes()
        parts += [_RECORD.pack(_ARCS, len(data)), data] if any(data) else [_RECORD.pack(_ARCS, -len(data))]
    return b"".join([*parts, bytes(4)])


def _given(file: str, tree: str) -> str:
    """A file as the compiler is given it: what is made in the build directory begins with a dot."""
    return f"{tree}/{file}" if file and not file.startswith(("./", "/")) else file


def pack(one: Profile, path: Path) -> None:
    """Keep a profile."""
    path.write_bytes(lzma.compress(one.text().encode(), preset=9 | lzma.PRESET_EXTREME))


def unpack(data: bytes, where: str) -> Profile:
    """A profile that was kept.

    Raises:
        KernelError: it is damaged.
    """
    try:
        facts = json.loads(lzma.decompress(data))
        objects = {
            name: tuple(
                Known(str(word), str(file), int(paths), tuple(map(int, counts.split())))
                for word, file, paths, counts in functions
            )
            for name, functions in facts["objects"].items()
        }
        return Profile(int(facts["gcc"]), objects)
    except (lzma.LZMAError, ValueError, KeyError, TypeError, AttributeError) as fault:
        raise KernelError(f"the kernel's profile is damaged: {fault}", where=where) from fault

"""Whose counters are whose: the functions of an object, by the numbers that the compiler gives them.

What the compiler notes of an object that counts (`.gcno`, from gcc 12 on) has each function's number, name
and file. The number of a function that other objects see follows from its name alone; that of another one
from its file as the compiler was given it, its name and the object's name. So it can be told for any folder,
and what was counted in one is of use in another.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = struct.Struct("<4s4sII")  # magic, version, stamp, checksum
_RECORD = struct.Struct("<II")
_FUNCTION = struct.Struct("<III")
_WORD = struct.Struct("<I")
_MAGIC, _OF_FUNCTION = b"oncg", 0x01000000
_POLYNOMIAL, _ALL, _TOP = 0x04C11DB7, 0xFFFFFFFF, 0x80000000


@dataclass(frozen=True)
class Noted:
    """A function as the compiler notes it; `file` as the compiler was given it."""

    number: int
    name: str
    file: str


def version(data: bytes) -> int:
    """The version that the compiler writes into what it reads of profiles.

    Raises:
        ValueError: these are no notes.
    """
    if len(data) < _HEAD.size or data[:4] != _MAGIC:
        raise ValueError("these are no notes of gcc")
    return int(_WORD.unpack_from(data, 4)[0])


def read(data: bytes) -> Iterator[Noted]:
    """The functions of an object.

    Raises:
        ValueError: these are no notes.
    """
    version(data)
    try:
        _, place = _text(data, _HEAD.size)
        place += _WORD.size
        while place + _RECORD.size <= len(data):
            tag, length = _RECORD.unpack_from(data, place)
            place += _RECORD.size
            if tag == _OF_FUNCTION:
                number, _, _ = _FUNCTION.unpack_from(data, place)
                name, after = _text(data, place + _FUNCTION.size)
                yield Noted(number, name, _text(data, after + _WORD.size)[0])
            place += length
    except struct.error as fault:
        raise ValueError("the notes end too early") from fault


def _text(data: bytes, place: int) -> tuple[str, int]:
    (length,) = _WORD.unpack_from(data, place)
    begin = place + _WORD.size
    return data[begin : begin + length].rstrip(b"\0").decode(errors="surrogateescape"), begin + length


def number_of(name: str, file: str, known_as: str) -> int:
    """The compiler's number of a function.

    Args:
        name: its name.
        file: its file as the compiler is given it; empty if other objects see the function.
        known_as: the object's name as the compiler is given it, without `.o`.
    """
    total = _summed(_summed(_summed(0, file), name), known_as) if file else _summed(0, name)
    return total & (_TOP - 1) or 1


def _step(value: int) -> int:
    for _ in range(8):
        value = (value << 1) ^ (_POLYNOMIAL if value & _TOP else 0)
    return value & _ALL


_STEPS = tuple(_step(byte << 24) for byte in range(256))


@lru_cache(1 << 14)
def _summed(total: int, text: str) -> int:
    for byte in (*text.encode(errors="surrogateescape"), 0):
        total = ((total << 8) & _ALL) ^ _STEPS[(total >> 24) ^ byte]
    return total

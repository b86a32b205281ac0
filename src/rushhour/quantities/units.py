"""Quantities with units: `Rate`, `Duration`, `Size`, `Buffer`, `Probability`, `Frequency`.

Each is frozen, compares by value, is read from one word (`parse`) and written back as one (`str`), so that
`parse(str(x)) == x`. Words are tc's where tc's are unambiguous; where tc and the rest of the world disagree
(`bps`, `kb`, `m`) the word is refused with the two spellings that say what is meant. Inside are integers:
bit/s, nanoseconds, bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar

from pydantic_core import PydanticCustomError, core_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue

T = TypeVar("T")

# Units as they are accepted, in the order in which formatting tries them: the first that divides is taken.
RATE_UNITS = {
    "tbit": 10**12, "gbit": 10**9, "mbit": 10**6, "kbit": 10**3,
    "tibit": 2**40, "gibit": 2**30, "mibit": 2**20, "kibit": 2**10, "bit": 1,
}  # fmt: skip
SIZE_UNITS = {
    "TB": 10**12, "GB": 10**9, "MB": 10**6, "kB": 10**3,
    "TiB": 2**40, "GiB": 2**30, "MiB": 2**20, "KiB": 2**10, "B": 1,
}  # fmt: skip
TIME_UNITS = {"h": 3600 * 10**9, "min": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}

_WORD = re.compile(r"\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,2})?)\s*([A-Za-zµμ%/]*)\s*")
_LONGEST_WORD = 40  # no quantity needs more; keeps hostile input cheap


class UnitError(ValueError):
    """A word that is not the quantity it should be; the message says what to write instead."""


def _quote(word: object) -> str:
    """Show a word as it stands in a file."""
    return f'"{word}"' if isinstance(word, str) else str(word)


def _split(word: object, what: str, example: str) -> tuple[Decimal, str]:
    """Split `1.5mbit` into number and unit."""
    if isinstance(word, bool) or not isinstance(word, str | int | float):
        raise UnitError(f"{what} is a text with a unit, for example {example}")
    if isinstance(word, int | float):
        raise UnitError(f"{_quote(word)} has no unit: write a unit, for example {example}")
    match = _WORD.fullmatch(word) if len(word) <= _LONGEST_WORD else None
    if match is None:
        shown = _quote(word[:_LONGEST_WORD])
        raise UnitError(f"{shown} is not a {what}: write a number and a unit, for example {example}")
    number = Decimal(match[1])
    if match[2] == "":
        raise UnitError(f"{_quote(word)} has no unit: write a unit, for example {example}")
    if number.is_signed() and number != 0:
        raise UnitError(f"{_quote(word)} is negative: a {what} is zero or more")
    return abs(number), match[2]


def _whole(number: Decimal, factor: int, word: object, *, smallest: str, most: str, largest: int) -> int:
    """Give `number * factor` as an integer within `largest`."""
    value = number * factor
    if value > largest:
        raise UnitError(f"{_quote(word)} is too large: at most {most}")
    if value != value.to_integral_value():
        raise UnitError(f"{_quote(word)} is finer than 1 {smallest}")
    return int(value)


def _format(value: int, units: Mapping[str, int]) -> str:
    """Write `value` in the largest unit that divides it."""
    unit = next(u for u, factor in units.items() if (value and value % factor == 0) or factor == 1)
    return f"{value // units[unit]}{unit}"


def parsed(kind: type[T], parse: Callable[[object], T]) -> core_schema.CoreSchema:
    """How pydantic reads what has units, by `parse`, and writes it back, by `str`."""

    def validate(value: object) -> T:
        if isinstance(value, kind):
            return value
        try:
            return parse(value)
        except UnitError as error:
            raise PydanticCustomError("unit", "{message}", {"message": str(error)}) from error

    return core_schema.no_info_plain_validator_function(
        validate, serialization=core_schema.plain_serializer_function_ser_schema(str, when_used="json")
    )


class _Quantity:
    """What pydantic needs to know of a quantity: read by `parse`, written by `str`."""

    example: ClassVar[str]
    pattern: ClassVar[str]
    description: ClassVar[str]
    number: ClassVar[JsonSchemaValue | None] = None  # what a bare number must be, where one is allowed

    @classmethod
    def parse(cls, word: object) -> Self:
        raise NotImplementedError

    @classmethod
    def __get_pydantic_core_schema__(
        cls, _source: object, _handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return parsed(cls, cls.parse)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, _schema: core_schema.CoreSchema, _handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        text: JsonSchemaValue = {"type": "string", "pattern": cls.pattern, "examples": [cls.example]}
        return {"anyOf": [text, cls.number]} if cls.number else text


@dataclass(frozen=True, slots=True, order=True)
class Rate(_Quantity):
    """A rate in bit/s: `100mbit`, `1.5gbit`, `64kibit`."""

    bps: int
    example: ClassVar[str] = "100mbit"
    pattern: ClassVar[str] = r"^[0-9.]+ ?([kmgt]i?)?bit$"
    description: ClassVar[str] = (
        "bit, kbit, mbit, gbit, tbit (powers of 1000), kibit, mibit, … (powers of 1024)"
    )

    @classmethod
    def parse(cls, word: object) -> Self:
        """Read a rate as tc writes it, in either case; `bps`, which means bytes in tc, is refused."""
        number, unit = _split(word, "rate", '"100mbit"')
        factor = RATE_UNITS.get(unit.lower())
        if factor is not None:
            return cls(_whole(number, factor, word, smallest="bit/s", most='"10tbit"', largest=10**13))
        low = unit.lower()
        if low.endswith("bps"):
            prefix = low.removesuffix("bps")
            bits = f"{number}{prefix}bit"
            raise UnitError(
                f'{_quote(word)}: "bps" means bytes per second in tc, bits elsewhere; write "{bits}" for bits'
            )
        if low in ("k", "m", "g", "t", "b") or low.endswith(("b/s", "bit/s", "bits")):
            prefix = low[0] if low[0] in "kmgt" else ""
            raise UnitError(f'{_quote(word)} is not a rate: write "{number}{prefix}bit"')
        raise UnitError(f"{_quote(word)}: {unit!r} is not a unit of rate; there are {cls.description}")

    def __str__(self) -> str:
        return _format(self.bps, RATE_UNITS)


@dataclass(frozen=True, slots=True, order=True)
class Duration(_Quantity):
    """A time in nanoseconds: `20ms`, `1.5s`, `250us`, `2min`."""

    ns: int
    example: ClassVar[str] = "20ms"
    pattern: ClassVar[str] = r"^[0-9.]+ ?(ns|us|µs|ms|s|min|h)$"
    description: ClassVar[str] = "ns, us, ms, s, min, h"

    @classmethod
    def parse(cls, word: object) -> Self:
        """Read a duration."""
        number, unit = _split(word, "duration", '"20ms"')
        name = unit.replace("µ", "u").replace("μ", "u")
        factor = TIME_UNITS.get(name)
        if factor is None:
            alias = {"m": "min (or ms)", "sec": "s", "secs": "s", "msec": "ms", "usec": "us", "nsec": "ns"}
            meant = f"; write {alias[unit.lower()]}" if unit.lower() in alias else ""
            raise UnitError(
                f"{_quote(word)}: {unit!r} is not a unit of time{meant}; there are {cls.description}"
            )
        return cls(
            _whole(number, factor, word, smallest="ns", most='"1000h"', largest=1000 * TIME_UNITS["h"])
        )

    @property
    def seconds(self) -> float:
        return self.ns / 1e9

    def __str__(self) -> str:
        return (
            _format(self.ns, {u: f for u, f in TIME_UNITS.items() if u not in ("h", "min")})
            if self.ns
            else "0s"
        )


@dataclass(frozen=True, slots=True, order=True)
class Size(_Quantity):
    """A number of bytes: `1500B`, `500kB`, `64KiB`."""

    bytes: int
    example: ClassVar[str] = "500kB"
    pattern: ClassVar[str] = r"^[0-9.]+ ?([kMGT]?B|[KMGT]iB)$"
    description: ClassVar[str] = "B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (powers of 1024)"

    @classmethod
    def parse(cls, word: object) -> Self:
        """Read a size; `kb` and `KB`, which mean 1000 here and 1024 there, are refused."""
        number, unit = _split(word, "size", '"500kB"')
        factor = SIZE_UNITS.get(unit)
        if factor is not None:
            return cls(_whole(number, factor, word, smallest="byte", most='"1000TB"', largest=10**15))
        if unit.lower() in (
            "k",
            "kb",
            "m",
            "mb",
            "g",
            "gb",
            "t",
            "tb",
            "kib",
            "mib",
            "gib",
            "tib",
            "b",
            "byte",
            "bytes",
        ):
            prefix = unit[0].upper()
            if prefix == "B":
                raise UnitError(f'{_quote(word)} is not a size: write "{number}B"')
            si = f"{number}{'k' if prefix == 'K' else prefix}B"
            raise UnitError(
                f'{_quote(word)} is ambiguous: write "{si}" (1000) or "{number}{prefix}iB" (1024)'
            )
        raise UnitError(f"{_quote(word)}: {unit!r} is not a unit of size; there are {cls.description}")

    def __str__(self) -> str:
        return _format(self.bytes, SIZE_UNITS)


@dataclass(frozen=True, slots=True)
class Buffer(_Quantity):
    """The limit of a queue, in exactly one of four ways: bytes, packets, time at the rate, or BDPs."""

    bytes: int | None = None
    packets: int | None = None
    time: Duration | None = None
    bdp: float | None = None
    example: ClassVar[str] = "500kB"
    pattern: ClassVar[str] = r"^[0-9.]+ ?(([kMGT]?B|[KMGT]iB)|p|(ns|us|µs|ms|s)|bdp)$"
    description: ClassVar[str] = (
        "a size (500kB), packets (100p), a time at the link's rate (20ms), or BDPs (1bdp)"
    )

    def __post_init__(self) -> None:
        if sum(way is not None for way in (self.bytes, self.packets, self.time, self.bdp)) != 1:
            raise UnitError("a buffer is given in exactly one of bytes, packets, time, bdp")

    @classmethod
    def parse(cls, word: object) -> Self:
        """Read a buffer in any of its four ways."""
        number, unit = _split(word, "buffer", '"500kB", "100p", "20ms" or "1bdp"')
        if unit.lower() == "bdp":
            if number and not Decimal("0.001") <= number <= 10**4:
                raise UnitError(f'{_quote(word)} is not between "0.001bdp" and "10000bdp"')
            return cls(bdp=float(number))
        if unit.lower() in ("p", "packets", "pkts"):
            return cls(
                packets=_whole(number, 1, word, smallest="packet", most='"1000000000p"', largest=10**9)
            )
        if unit.replace("µ", "u").replace("μ", "u") in TIME_UNITS:
            return cls(time=Duration.parse(word))
        if unit in SIZE_UNITS or unit.lower().endswith(("b", "byte", "bytes")):
            return cls(bytes=Size.parse(word).bytes)
        raise UnitError(f"{_quote(word)}: {unit!r} is not a unit of a buffer; write {cls.description}")

    def __str__(self) -> str:
        if self.bytes is not None:
            return str(Size(self.bytes))
        if self.packets is not None:
            return f"{self.packets}p"
        return str(self.time) if self.time is not None else f"{_plain(Decimal(repr(self.bdp)))}bdp"


@dataclass(frozen=True, slots=True, order=True)
class Probability(_Quantity):
    """A share of packets: `1%`, or the number 0.01."""

    p: float
    example: ClassVar[str] = "1%"
    pattern: ClassVar[str] = r"^[0-9.]+([eE]-[0-9]+)? ?%$"
    description: ClassVar[str] = "a percentage (1%), or a number below 1 (0.01)"
    number: ClassVar[JsonSchemaValue | None] = {"type": "number", "minimum": 0, "exclusiveMaximum": 1}

    @classmethod
    def parse(cls, word: object) -> Self:
        """Read a percentage or a fraction; a bare number of 1 or more is refused: 1 % or everything?"""
        if isinstance(word, int | float) and not isinstance(word, bool):
            if not 0 <= word < 1:
                text = f"{word} is no fraction from 0 to below 1"
                raise UnitError(f'{text}: write a percentage, for example "1%"')
            return cls(_likely(float(word), word))
        number, unit = _split(word, "percentage", '"1%"')
        if unit != "%":
            raise UnitError(f'{_quote(word)}: write a percentage, for example "1%"')
        if number > 100:
            raise UnitError(f"{_quote(word)} is more than 100 %")
        return cls(_likely(float(number / 100), word))

    def __str__(self) -> str:
        return f"{_plain(Decimal(repr(self.p)) * 100)}%"


@dataclass(frozen=True, slots=True, order=True)
class Frequency(_Quantity):
    """How often something happens: `50/s`, `3/ms`, `10/min`."""

    per_s: float
    example: ClassVar[str] = "50/s"
    pattern: ClassVar[str] = r"^[0-9.]+ ?/ ?(ns|us|µs|ms|s|min|h)$"
    description: ClassVar[str] = "how many in a time: 50/s, 3/ms, 10/min"

    @classmethod
    def parse(cls, word: object) -> Self:
        """Read a number of events in one unit of time."""
        number, unit = _split(word, "frequency", '"50/s"')
        name = unit.removeprefix("/").replace("µ", "u").replace("μ", "u")
        if not unit.startswith("/") or name not in TIME_UNITS:
            raise UnitError(f'{_quote(word)}: {unit!r} is no "/" and a unit of time; write "{number}/s"')
        per_s = float(number * 10**9 / TIME_UNITS[name])
        if not (per_s == 0 or 1e-4 <= per_s <= 1e9):
            raise UnitError(f'{_quote(word)} is not between "0.0001/s" and "1000000000/s"')
        return cls(per_s)

    def __str__(self) -> str:
        return f"{_plain(Decimal(repr(self.per_s)))}/s"


def _likely(p: float, word: object) -> float:
    """Refuse a probability that no experiment could tell from zero."""
    if 0 < p < 1e-12:
        raise UnitError(f"{_quote(word)} would not happen once in 10^12 packets: write 0")
    return p


def _plain(number: Decimal) -> str:
    """Write a decimal without exponent and trailing zeros."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text

"""Units of numbers that others published: `Mbit/s`, `ms`, `%`, `kB`; from one to another of the same kind.

Scenario files say quantities as words (`units`); documents print numbers under a unit. This is the table of
the latter, with the units of metrics among them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.quantities.units import UnitError, parsed

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import core_schema

KINDS: dict[str, dict[str, float]] = {
    "rate": {
        "bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9,
        "B/s": 8.0, "kB/s": 8e3, "MB/s": 8e6, "GB/s": 8e9, "KiB/s": 8 * 2.0**10, "MiB/s": 8 * 2.0**20,
    },
    "time": {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0},
    "size": {
        "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30,
    },
    "ratio": {"1": 1.0, "%": 1e-2, "%-point": 1e-2, "‰": 1e-3},
    "frequency": {"1/s": 1.0, "1/min": 1 / 60},
}  # fmt: skip
"""Units by what they measure, each worth so much of the kind's first."""

_ALIASES = {
    "us": "µs", "μs": "µs", "bps": "bit/s", "kbps": "kbit/s", "Mbps": "Mbit/s", "Gbps": "Gbit/s",
    "bytes": "B", "byte": "B", "pct": "%", "": "1", "%-points": "%-point",
}  # fmt: skip
_TOLERANCE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(\S.*?)?\s*")


def worth(unit: str) -> tuple[str, float]:
    """What kind a unit is of and what it is worth; a word of no kind (`packets`) is a kind of its own."""
    name = _ALIASES.get(unit, unit)
    for kind, known in KINDS.items():
        if name in known:
            return kind, known[name]
    return name, 1.0


def convert(value: float, unit: str, to: str) -> float:
    """A value of one unit in another.

    Raises:
        UnitError: they measure different things.
    """
    (kind, factor), (wanted, target) = worth(unit), worth(to)
    if kind != wanted:
        raise UnitError(f'"{unit}" cannot be converted to "{to}"')
    return value * factor / target


def kin(unit: str) -> list[str]:
    """The units that can be converted to this one."""
    return list(KINDS.get(worth(unit)[0], {unit: 1.0}))


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far from a published value a measured one lies: `5%` of it, or an amount: `2ms`, `1 %-point`."""

    amount: float
    unit: str

    @property
    def relative(self) -> bool:
        """Whether it is a share of the published value."""
        return self.unit == "%"

    @classmethod
    def parse(cls, word: object) -> Tolerance:
        """Read a number and a unit.

        Raises:
            UnitError: it is not a tolerance, or has no unit.
        """
        match = _TOLERANCE.fullmatch(word) if isinstance(word, str) and len(word) <= 40 else None
        if match is None or match[2] is None:
            shown = f'"{word}"' if isinstance(word, str) else str(word)
            hint = 'write for example "5%" of the value, "2 ms", or "1 %-point"'
            raise UnitError(f"{shown} is not a tolerance: {hint}")
        return cls(float(match[1]), _ALIASES.get(match[2], match[2]))

    def around(self, value: float, unit: str) -> float:
        """The half width of what agrees with a value in `unit`.

        Raises:
            UnitError: an amount of something else.
        """
        return abs(value) * self.amount / 100 if self.relative else convert(self.amount, self.unit, unit)

    def __str__(self) -> str:
        """As it is written in a file."""
        return f"{self.amount:g}%" if self.relative else f"{self.amount:g} {self.unit}"

    @classmethod
    def __get_pydantic_core_schema__(
        cls, _source: object, _handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """How pydantic reads one from a file and writes it back."""
        return parsed(cls, cls.parse)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, _schema: core_schema.CoreSchema, _handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"type": "string", "pattern": _TOLERANCE.pattern, "examples": ["5%", "2 ms"]}

"""Numbers in words: one scale for a column or an axis, and units."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NONE = "\N{EN DASH}"
"""What stands for a value that is not there."""


def capital(text: str) -> str:
    """A phrase as a sentence begins."""
    return text[:1].upper() + text[1:]


def plural(count: int, noun: str) -> str:
    """A number with its noun: `1 packet`, `2 packets`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def least_to_most(values: Iterable[float], unit: str) -> str:
    """What all of several are, a range where they differ: `10 s`, `4 to 60 s`."""
    ends = sorted(set(values))
    return f"{ends[0]:g} {unit}" if len(ends) == 1 else f"{ends[0]:g} to {ends[-1]:g} {unit}"


def every(count: int, noun: str) -> str:
    """All of several: `both runs`, `all 3 runs`."""
    return f"{'both' if count == 2 else f'all {count}'} {noun}s"


def joined(parts: Sequence[str]) -> str:
    """Several in a sentence: `a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def happened(count: int, noun: str, done: str) -> str:
    """To how many something happened: `1 packet was dropped`, `2 packets were dropped`."""
    return f"{plural(count, noun)} {'was' if count == 1 else 'were'} {done}"


_STEPS: dict[str, tuple[tuple[float, str], ...]] = {
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    "µs": ((1e6, "s"), (1e3, "ms"), (1.0, "µs")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "bytes": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
}
_ALIASES = {
    "bps": "bit/s",
    "us": "µs",
    "byte": "bytes",
    "B": "bytes",
    "1": "",
    "ratio": "",
    "fraction": "",
    "pct": "%",
}
_COUNTS = frozenset(
    {
        "packets",
        "segments",
        "retransmits",
        "drops",
        "marks",
        "datagrams",
        "count",
        "events",
        "flows",
        "queries",
    }
)

_SINGULAR = {"queries": "query", "count": "count"}

_NOTHING = 1e-12
"""What is below this in a column's unit is a rounding of zero."""
_LOST = 0.01
"""Part of a value that a column's decimals may hide."""
_TINY = 1e-5
_SMALL = 0.1
"""A ratio whose three decimals would show less than three significant digits."""


@dataclass(frozen=True)
class Scale:
    """What a column of values is divided by, the unit then, and how many decimals are shown."""

    divisor: float
    unit: str
    decimals: int

    def text(self, value: float | None) -> str:
        """The value in this scale; a dash where there is none.

        A value so small beside the others that its digits would be lost has a unit of its own, or more
        decimals.
        """
        if value is None or not math.isfinite(value):
            return NONE
        shown = value / self.divisor
        if abs(shown) < _NOTHING:
            return "0"
        said = f"{shown:.{self.decimals}f}"
        if abs(float(said) - shown) <= _LOST * abs(shown):
            return said
        family = next((steps for steps in _STEPS.values() if (self.divisor, self.unit) in steps), ())
        own = next((step for step in family if abs(value) >= step[0]), None)
        if own is not None and own[1] != self.unit:
            return f"{_digits(value / own[0])} {own[1]}"
        return _digits(shown)

    def with_unit(self, value: float | None) -> str:
        """The value followed by its unit."""
        text = self.text(value)
        if text == NONE or not self.unit or " " in text:
            return text
        return singular(f"{text}{'' if self.unit == '%' else ' '}{self.unit}")


def _digits(value: float) -> str:
    """A small number with three significant digits, without zeros at the end."""
    if abs(value) < _TINY:
        return f"{value:.2g}"
    text = f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def plain_unit(unit: str) -> str:
    """The unit by the one name used here (`us` becomes `µs`; ratios have none)."""
    return _ALIASES.get(unit, unit)


def scale_for(values: Iterable[float | None], unit: str) -> Scale:
    """The scale in which these values read best together: the largest decides."""
    known = [abs(value) for value in values if value is not None and math.isfinite(value)]
    unit = plain_unit(unit)
    whole = unit in _COUNTS and all(value == int(value) for value in known)
    return _scale(max(known, default=0.0), unit, whole=whole)


def _scale(largest: float, unit: str, *, whole: bool) -> Scale:
    divisor, name = _step(largest, unit)
    return Scale(divisor, name, 0 if whole else _decimals(largest / divisor, unit))


def quantity(value: float | None, unit: str) -> str:
    """One value with its unit: `95.64 Mbit/s`, `27.4 ms`, `500 kB`.

    Zeros at the end are dropped, except of ratios.
    """
    if value is None or not math.isfinite(value):
        return NONE
    unit = plain_unit(unit)
    scale = _scale(abs(value), unit, whole=unit in _COUNTS and value == int(value))
    text = scale.text(value)
    if " " in text:
        return text
    if "." in text and unit:
        text = text.rstrip("0").rstrip(".")
    if not scale.unit:
        return text
    return singular(f"{text}{'' if scale.unit == '%' else ' '}{scale.unit}")


def singular(text: str) -> str:
    """A count with its unit, of which one is no several: `1 packet`."""
    number, _, unit = text.partition(" ")
    if number != "1" or unit not in _COUNTS:
        return text
    return f"1 {_SINGULAR.get(unit, unit.removesuffix('s'))}"


def _step(largest: float, unit: str) -> tuple[float, str]:
    if unit in ("count", "events"):
        return 1.0, ""
    steps = _STEPS.get(unit)
    if steps is None:
        return 1.0, unit
    for divisor, name in steps:
        if largest >= divisor:
            return divisor, name
    return steps[-1] if unit != "s" or largest > 0 else steps[0]


def _decimals(largest: float, unit: str) -> int:
    """Four significant figures of the largest value; of a ratio three decimals, or three of a small one."""
    if unit == "":
        small = 0 < largest < _SMALL
        return min(6, 2 - math.floor(math.log10(largest))) if small else 3 if largest < 100 else 1
    if largest <= 0:
        return 0
    return min(4, max(0, 3 - math.floor(math.log10(largest))))


def shortened(name: str, letters: int) -> str:
    """A name in so many letters: its beginning and its end, where names of one kind differ."""
    if len(name) <= letters:
        return name
    end = (letters - 1) // 2
    return f"{name[: letters - 1 - end]}…{name[len(name) - end :]}"

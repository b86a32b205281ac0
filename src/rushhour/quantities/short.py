"""Quantities in three digits, for sentences and narrow columns: `18.3 Mbit/s`, `42.9 ms`, `6 MiB`."""

from __future__ import annotations

import math

_RATES = ((1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s"))
_SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))
_BINARY = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def rate(bps: float) -> str:
    """A rate in bits a second: `18.3 Mbit/s`."""
    return _scaled(bps, _RATES)


def size(count: float) -> str:
    """A number of bytes in powers of ten: `229 kB`."""
    return _scaled(count, _SIZES)


def binary(count: float) -> str:
    """A number of bytes in powers of two, as the kernel's memory is counted: `6 MiB`."""
    return _scaled(count, _BINARY)


def time(seconds: float) -> str:
    """A time in seconds: `42.9 ms`."""
    return _scaled(seconds, _TIMES)


def duration(ns: float) -> str:
    """A time in nanoseconds: `42.9 ms`."""
    return time(ns * 1e-9)


def percent(part: float) -> str:
    """A share in percent; small ones with as many digits as they need."""
    value = 100 * part
    if value == 0 or value >= 10:
        return f"{value:.0f} %"
    if value >= 1:
        return f"{value:.1f} %"
    # Where two digits would have an exponent, as many places as they need.
    text = f"{value:.2g}"
    return f"{value:.{1 - math.floor(math.log10(value))}f} %" if "e" in text else f"{text} %"


def rounded_up(value: float) -> int:
    """The next greater number with two significant digits."""
    if value <= 10:
        return max(1, math.ceil(value))
    step = 10 ** (math.floor(math.log10(value)) - 1)
    return int(math.ceil(value / step) * step)


def rounded_down(value: float) -> float:
    """The next number below that has three digits, as rates are said."""
    if value <= 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return math.floor(value / step) * step


def _scaled(value: float, steps: tuple[tuple[float, str], ...]) -> str:
    divisor, unit = next(((divisor, unit) for divisor, unit in steps if value >= divisor), steps[-1])
    scaled = value / divisor
    return f"{scaled:.3g} {unit}" if scaled < 999.5 else f"{scaled:.0f} {unit}"

"""Times and rates as tc writes them: a bare time is µs, a bare rate bit/s, `bps` bytes a second."""

from __future__ import annotations

import re

TIMES = {"s": 10**9, "sec": 10**9, "secs": 10**9, "ms": 10**6, "msec": 10**6, "msecs": 10**6}
TIMES |= {"us": 10**3, "usec": 10**3, "usecs": 10**3, "ns": 1, "nsec": 1, "nsecs": 1, "": 10**3}
RATES = {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9, "tbit": 10**12, "": 1}
RATES |= {"kibit": 2**10, "mibit": 2**20, "gibit": 2**30, "tibit": 2**40}
RATES |= {"bps": 8, "kbps": 8 * 10**3, "mbps": 8 * 10**6, "gbps": 8 * 10**9}
_NUMBER = re.compile(r"([0-9.]+(?:[eE][+-]?[0-9]+)?)([A-Za-z]*)")


def scaled(word: str | None, units: dict[str, int]) -> int | None:
    """Read a number and its unit, `TIMES` in ns or `RATES` in bit/s; None where it is no such thing."""
    match = _NUMBER.fullmatch(word) if word else None
    if match is None or match[2].lower() not in units:
        return None
    try:
        return round(float(match[1]) * units[match[2].lower()])
    except (ValueError, OverflowError):
        return None

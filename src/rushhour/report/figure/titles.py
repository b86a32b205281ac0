"""How quantities and factors are called along an axis."""

from __future__ import annotations

import re

from rushhour.metrics.catalog import METRICS
from rushhour.quantities.words import capital, quantity
from rushhour.report import shares
from rushhour.report.tables import TELLING
from rushhour.series.series import SERIES
from rushhour.spec.levels import worth
from rushhour.spec.sweep import LABEL

_UNIT = re.compile(r"_(bps|us|s|bytes|pct)$")
_STATISTICS = {
    "min": "least",
    "mean": "mean",
    "p50": "median",
    "p95": "95th percentile",
    "p99": "99th percentile",
    "max": "greatest",
}
_ACRONYMS = {"rtt": "RTT", "tcp": "TCP", "fct": "FCT"}


def title_of(quantity: str) -> str:
    """The title of a metric or series: `Goodput`, `Queue delay, 95th percentile`."""
    if quantity == shares.METRIC:
        return shares.TITLE
    known = [table[quantity] for table in (SERIES, METRICS) if quantity in table]
    if title := next((one.title for one in known if one.title), ""):
        return title
    if quantity in TELLING and quantity.count("_") < 2:
        return capital(TELLING[quantity].title)
    words = _UNIT.sub("", quantity).split("_")
    said = next((_STATISTICS[word] for word in words if word in _STATISTICS), "")
    stem = [word for word in words if word not in _STATISTICS]
    name = " ".join(_ACRONYMS.get(word, word) for word in stem)
    return capital(f"{name}, {said}" if said else name)


_NAMES = {"cc": "algorithm", "rtt": "base RTT", "rtts": "base RTTs", "mtu": "MTU", "ecn": "ECN", "mss": "MSS"}


def name_of(factor: str) -> str:
    """The short name of a factor: `topology.rtt` is `rtt`, `label.over-subscription` loses its `label`."""
    if factor.startswith(LABEL):
        return factor.removeprefix(LABEL).replace("_", " ")
    parts = factor.split(".")
    if parts[0] == "sysctl":
        return parts[-1]
    if len(parts) == 3 and parts[1] != "*":
        return f"{_NAMES.get(parts[2], parts[2])} of {parts[1]}"
    return _NAMES.get(parts[-1], parts[-1].replace("_", " "))


def spoken(level: str) -> str:
    """A factor's level with its unit as people write it: `10ms` is `10 ms`, `100mbit` is `100 Mbit/s`."""
    found = worth([level])
    if found is None or found.unit in ("", "1"):
        return level
    if found.unit in ("packets", "BDP"):
        return f"{found.values[0]:g} {found.unit}"
    return quantity(found.values[0], found.unit)

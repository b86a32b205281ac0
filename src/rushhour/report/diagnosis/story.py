"""What is told of a diagnosis, in words: the measured table and how a finding reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.diagnosis.case import DIRECTIONS
from rushhour.quantities.short import percent, rate, size, time
from rushhour.series.timeline import LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rushhour.diagnosis.case import Case
    from rushhour.diagnosis.diagnosis import Diagnosis
    from rushhour.diagnosis.measured import Cpu, Measured, Tcp

NONE = "-"
SHORT = {
    "handshake": "handshake",
    "path": "the path",
    "receiver": "receiver's window",
    "reader": "reader",
    "sndbuf": "send buffer",
    "application": "sender's program",
    "pacing": "pacing",
    "acks": "ACKs waiting",
    "slow_start": "slow start",
    "timeouts": "timeouts",
    "losses": "losses",
    "marks": "marks",
    "window": "congestion window",
}
assert SHORT.keys() == LIMITS.keys()


@dataclass(frozen=True)
class Line:
    """One row of the measured table: a name, and what holds in each direction."""

    name: str
    values: tuple[str, ...]


def place(case: Case, where: str) -> str:
    """An end with its place, `a (alice)`; a direction as it is."""
    return f"{where} ({case.facts(where).place})" if where in ("a", "b") else where


def counts(diagnosis: Diagnosis) -> list[tuple[str, int]]:
    """How many findings there are of each severity, without those of which there is none."""
    names = [finding.severity for finding in diagnosis.findings]
    return [(name, names.count(name)) for name in ("critical", "warning", "note") if name in names]


def many(severity: str, count: int) -> str:
    """A severity as so many findings have it: `2 notes`, `2 critical`."""
    return severity if count == 1 or severity == "critical" else f"{severity}s"


def measured(diagnosis: Diagnosis) -> list[Line]:
    """What was measured, both directions beside each other; rows of which neither is known are left out."""
    ways = [diagnosis.case.measured.get(way) for way in DIRECTIONS]
    lines = [
        Line(name, tuple(NONE if way is None else _shown(show, way) for way in ways)) for name, show in _ROWS
    ]
    return [line for line in lines if any(value != NONE for value in line.values)]


def _shown(show: Callable[[Measured], str | None], one: Measured) -> str:
    return show(one) or NONE


def _tcp(tcp: Tcp | None) -> str | None:
    if tcp is None:
        return None
    if tcp.error and not tcp.goodput_bps:
        return "no connection"
    return "stalled" if tcp.stalled else rate(tcp.goodput_bps)


def _resent(tcp: Tcp | None) -> str | None:
    return None if tcp is None or not tcp.segments else percent(tcp.retransmit_share)


def _ns(value: float | None) -> str | None:
    return None if value is None else time(value / 1e9)


def _limited(m: Measured) -> str | None:
    if m.single is None or not m.single.shares:
        return None
    greatest = sorted(m.single.shares.items(), key=lambda pair: -pair[1])[:2]
    return ", ".join(f"{SHORT[name]} {percent(share)}" for name, share in greatest if share >= 0.1)


def _udp(m: Measured) -> str | None:
    return None if m.udp is None else f"{percent(m.udp.loss)} at {rate(m.udp.rate_bps)}"


def _order(m: Measured) -> str | None:
    if m.udp is None or not m.udp.received:
        return None
    return f"{percent(m.udp.reordered)}, {percent(m.udp.duplicates / m.udp.received)}"


def _line(m: Measured) -> str | None:
    if m.train is None or m.train.rate_bps is None:
        return None
    lost = m.train.loss
    return rate(m.train.rate_bps) + (f", {percent(lost)} lost" if lost else "")


def _busy(cpu: Cpu | None) -> str | None:
    if cpu is None:
        return None
    soft = f" ({percent(cpu.softirq)} soft)" if cpu.softirq >= 0.05 else ""
    return percent(cpu.busiest) + soft


_ROWS: tuple[tuple[str, Callable[[Measured], str | None]], ...] = (
    ("round trip, idle", lambda m: _ns(m.idle_rtt_ns)),
    ("round trip under load", lambda m: _ns(m.loaded_rtt_ns)),
    ("longest wait under load", lambda m: _ns(m.queue_ns)),
    ("largest packet", lambda m: f"{m.path_mtu} B" if m.path_mtu else None),
    ("one TCP flow", lambda m: _tcp(m.single)),
    ("  sent again", lambda m: _resent(m.single)),
    ("  limited by", _limited),
    ("  congestion control", lambda m: m.single.cc if m.single else None),
    ("  window, in flight at most", lambda m: _sizes(m.single)),
    ("8 TCP flows", lambda m: _tcp(m.several)),
    ("both directions at once", lambda m: _tcp(m.both)),
    ("64 kB transfer", lambda m: time(m.short_s) if m.short_s else None),
    ("UDP lost", _udp),
    ("UDP late, twice", _order),
    ("UDP jitter", lambda m: _ns(m.udp.jitter_ns) if m.udp and m.udp.jitter_ns is not None else None),
    ("line, by packet trains", _line),
    ("sender's busiest CPU", lambda m: _busy(m.cpu.get(m.sender))),
    ("receiver's busiest CPU", lambda m: _busy(m.cpu.get(m.receiver))),
)


def _sizes(tcp: Tcp | None) -> str | None:
    if tcp is None or not tcp.window or not tcp.inflight:
        return None
    return f"{size(tcp.window)}, {size(tcp.inflight)}"


def rose(diagnosis: Diagnosis) -> Iterator[tuple[str, str, str]]:
    """Counters that tell of trouble and rose meanwhile: name, at a, at b."""
    risen = [_risen(diagnosis.case, end) for end in ("a", "b")]
    for name in sorted({*risen[0], *risen[1]}):
        if any(word in name.lower() for word in TROUBLE):
            a, b = (f"{one[name]:g}" if name in one else NONE for one in risen)
            yield name, a, b


TROUBLE = (
    "drop", "error", "err", "loss", "lost", "retrans", "prune", "overflow", "squeeze", "fail", "backlog",
    "csum", "missed", "fifo", "collision", "carrier", "timeout", "noports", "memory", "reject", "throttle",
)  # fmt: skip
"""What counts in such words is no harm alone, and is where to look."""


def _risen(case: Case, end: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for one in case.measured.values():
        found |= {name: by for name, by in one.counters.get(end, {}).items() if "." in name}
    return {name: by for name, by in found.items() if name.split(".")[0] in _WHOLE}


_WHOLE = ("snmp", "netstat", "snmp6", "softnet", "link", "driver", "qdisc", "udp", "vm")

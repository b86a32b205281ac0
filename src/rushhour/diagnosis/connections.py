"""Connections that were there already: what programs do with the path while nobody measures.

Takes two looks at the sockets of both ends (the agent's `sockets`), gives each connection over which
something moved in between. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rushhour.causes.thresholds import MOVED
from rushhour.record import decode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rushhour.lab.host.answers import Socket

    Look = Mapping[str, Sequence[Socket]]


@dataclass(frozen=True)
class Connection:
    """One direction of a connection between two looks; shares of that time, by the kernel's chronometer.

    `where` is the direction in which the data went. `unread` lay at the receiver, `unsent` at the sender.
    """

    where: str
    port: int
    peer_port: int
    cc: str
    seconds: float
    rate_bps: float
    rwnd: float
    sndbuf: float
    idle: float
    unread: int
    unsent: int
    retransmits: int

    @property
    def name(self) -> str:
        """Its ports, the sender's first."""
        return f"port {self.port} → {self.peer_port}"


def moving(before: Look, after: Look, seconds: float) -> list[Connection]:
    """Connections over which data went between two looks at both ends (`a`, `b`), `seconds` apart."""
    found = [one for end in ("a", "b") for one in _from(end, before, after, seconds)]
    return sorted(found, key=lambda one: -one.rate_bps)


def _from(end: str, before: Look, after: Look, seconds: float) -> Iterator[Connection]:
    far = "b" if end == "a" else "a"
    first = {(one.local, one.port): one for one in before.get(end, ()) if one.info}
    there = {(one.port, one.local): one for one in after.get(far, ())}
    for one in after.get(end, ()):
        ports = one.local, one.port
        if one.state != "established" or not one.info or ports not in first:
            continue
        then, now = _info(first[ports].info), _info(one.info)
        moved = _rise(then, now, "bytes_acked")
        if moved < MOVED:
            continue
        share = {name: min(1.0, _rise(then, now, name) * 1e-6 / seconds) for name in _CHRONO}
        yield Connection(
            where=f"{end}→{far}",
            port=one.local,
            peer_port=one.port,
            cc=one.cc,
            seconds=seconds,
            rate_bps=8 * moved / seconds,
            rwnd=share["rwnd_limited"],
            sndbuf=share["sndbuf_limited"],
            idle=1 - share["busy_time"],
            unread=there[ports].unread if ports in there else 0,
            unsent=one.unsent,
            retransmits=_rise(then, now, "total_retrans"),
        )


_CHRONO = ("busy_time", "rwnd_limited", "sndbuf_limited")


def _info(text: str) -> np.void:
    raw = bytes.fromhex(text)
    found: np.void = decode.tcp_info(np.frombuffer(raw, f"V{len(raw)}"))[0]
    return found


def _rise(before: np.void, after: np.void, name: str) -> int:
    if name not in (after.dtype.names or ()) or name not in (before.dtype.names or ()):
        return 0
    return max(0, int(after[name]) - int(before[name]))

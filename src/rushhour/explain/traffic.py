"""Who else is on a flow's way: other TCP flows, UDP, requests, pings, and arriving flows as a group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rushhour.causes.thresholds import SPOKEN_OF
from rushhour.series.readings import delivered
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rushhour.record.context import Flow
    from rushhour.record.record import Record


@dataclass(frozen=True)
class Beside:
    """Traffic across the same bottleneck that is no lasting TCP flow: what it takes on average.

    `kind`: udp, rr, crr, ping, arrivals, or tcp for flows that were there for less than half of the time.
    """

    name: str
    kind: str
    rate_bps: float


def beside(record: Record, flow: Flow, lasting: Iterable[str]) -> tuple[Beside, ...]:
    """What else crossed the flow's bottleneck while it was active, the greatest first.

    Rates are of payload that arrived, in bit/s; `lasting` are the names of TCP flows that are told of apart.
    """
    span, mine = flow.active_ns, {*flow.bottleneck_ends}
    if span is None or not mine:
        return ()
    seconds = (span[1] - span[0]) * 1e-9
    found: dict[tuple[str, str], float] = {}
    for other in record.context.flows.values():
        if other.id == flow.id or other.name in lasting or not mine & other.crossed:
            continue
        kind = "arrivals" if other.arrival is not None else other.kind
        name = other.group if kind == "arrivals" else other.name
        found[name, kind] = found.get((name, kind), 0.0) + 8 * arrived(record, other, span) / seconds
    named = (Beside(name, kind, rate) for (name, kind), rate in found.items())
    least = SPOKEN_OF * (flow.bottleneck_bps or 0)
    return tuple(sorted((one for one in named if one.rate_bps > least), key=lambda one: -one.rate_bps))


def arrived(record: Record, other: Flow, span: tuple[int, int]) -> float:
    """Payload of another flow that arrived in our time; where that is not told, as if it had come evenly."""
    if other.kind in kinds.TCP_STREAMS and other.arrival is None and record.has("tcp_info"):
        t_ns, count = delivered(record, other)
        if len(t_ns):
            begin, end = np.interp(span, t_ns, count)
            return float(end - begin)
    if other.kind in kinds.UDP_STREAMS and record.has("udp"):
        arrived = record.table("udp", flow=other.id)["rx_ns"]
        if len(arrived):
            ours = np.count_nonzero((arrived > span[0]) & (arrived <= span[1]))
            return float(ours) * (other.packet_bytes or 0)
    theirs = other.active_ns
    moved = other.outcome.bytes_received
    if not moved and other.outcome.packets_received:
        moved = other.outcome.packets_received * (other.packet_bytes or 0)
    if theirs is None or not moved:
        return 0.0
    common = min(span[1], theirs[1]) - max(span[0], theirs[0])
    return moved * max(0.0, common / (theirs[1] - theirs[0]))

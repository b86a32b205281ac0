"""Who else is on a flow's way: other TCP flows, UDP, requests, pings, and arriving flows as a group."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rushhour.causes.thresholds import LEAVES, SPOKEN_OF
from rushhour.record import courses
from rushhour.series.fullness import least
from rushhour.series.readings import delivered
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rushhour.record.context import Flow
    from rushhour.record.record import Record
    from rushhour.series.fullness import Ceiling


@dataclass(frozen=True)
class Beside:
    """Traffic across the same bottleneck that is no lasting TCP flow: what it takes on average.

    `kind`: udp, rr, crr, ping, arrivals, or tcp for flows that were there for less than half of the time.
    """

    name: str
    kind: str
    rate_bps: float


@dataclass(frozen=True)
class Room:
    """What a flow's bottleneck has room for: `by` a ceiling alone, or `bps` of payload for all that cross it.

    Neither where no ceiling is there.
    """

    by: Ceiling | None = None
    bps: float | None = None

    def has(self, other: Flow) -> bool:
        """Whether another flow takes from this one: of a ceiling that alone decides only whom it holds."""
        return self.by is None or self.by.holds(other)


def room(record: Record, flow: Flow) -> Room:
    """Whether a ceiling alone decides what a flow may have, because what others send leaves all of it."""
    one, span = least(record, flow), flow.active_ns
    if one is None or span is None or one.end.end not in flow.bottleneck_ends:
        return Room()
    most = one.mean_bps(span)
    if round(most) > round(courses.bottleneck_bps(flow, record.context.ends) or 0):
        return Room()  # a policer lets less pass
    seconds = (span[1] - span[0]) * 1e-9
    whole = courses.capacity_bits(one.end, *span) / seconds
    others = (other for other in record.context.flows.values() if one.end.end in other.crossed)
    taken = math.fsum(
        arrived(record, other, span) / payload_part(other) for other in others if not one.holds(other)
    )
    left = whole - 8 * taken / seconds
    return Room(by=one) if left >= LEAVES * most else Room(bps=whole * payload_part(flow))


def payload_part(flow: Flow) -> float:
    """The part of its full frames that is payload."""
    return (flow.payload_per_packet or 1) / (flow.frame_bytes or flow.payload_per_packet or 1)


def what(ceiling: Ceiling) -> str:
    """What is full where a ceiling is reached: `class gold at left → right`."""
    if ceiling.of_class:
        return f"class {ceiling.name} at {ceiling.end.label}"
    return f"the rate that {ceiling.name} at {ceiling.end.label} allows a flow"


def beside(record: Record, flow: Flow, lasting: Iterable[str], within: Room) -> tuple[Beside, ...]:
    """What else took from the flow's bottleneck while it was active, the greatest first.

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
        if not within.has(other):
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

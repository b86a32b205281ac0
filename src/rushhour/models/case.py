"""What formulas take of a flow in a run, and what they give: a number, or why they give none."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from rushhour.models.fluid import carried_bps
from rushhour.models.fragments import UDP_HEADER, fragment_header, fragments
from rushhour.quantities.units import Duration
from rushhour.record import classes, courses
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rushhour.record.context import End, Flow, LinkClass
    from rushhour.record.plan_file import PlanFlow
    from rushhour.record.record import Record

ETHERNET = 14
_STEP = 1514  # bytes between RED's thresholds that are no ramp any more


@dataclass(frozen=True, slots=True)
class Case:
    """One flow on its path, as it was asked for; None where the scenario leaves it open.

    Attributes:
        kind: `tcp`, `udp`, `ping`, `rr` or `crr`.
        cc: Congestion control of the sender; empty where there is none.
        mss_bytes: Payload of a full packet.
        frame_bytes: The same packet as a shaper counts it.
        rtt_s: Round-trip time of the idle path.
        loss: Probability that a packet of data is lost on the wires it crosses or at its host's INPUT.
        rate_bps: Rate of the bottleneck; of one that changes its mean.
        buffer_bytes: Queue limit there.
        flows: Flows of this kind whose bottleneck it is, this one included.
        offered_bps: What leaves the host of a UDP flow of given rate, in whole frames; 0 of others.
        carried_bps: What overload leaves of that (`models/fluid.py`).
        marks_s: How long a packet waits there at most without a mark, where the queue marks by a threshold.
        queue: The queue discipline of the bottleneck in tc's words.
        fragments: Packets that a datagram travels in.
        link_bytes: What a link carries for the payload of a full packet: all of its fragments' frames.
    """

    kind: str
    cc: str
    mss_bytes: int | None
    frame_bytes: int | None
    rtt_s: float | None
    loss: float
    rate_bps: float | None
    buffer_bytes: float | None
    flows: int
    offered_bps: float
    carried_bps: float
    marks_s: float | None = None
    queue: str = ""
    fragments: int = 1
    link_bytes: int | None = None


class Prediction(NamedTuple):
    """What theory says: a value in the unit of what it predicts, and a doubt where it leaves its range.

    No value: `doubt` says what is missing.
    """

    value: float | None
    doubt: str = ""


class Law(NamedTuple):
    """One prediction of a model, and what it says of several flows together (scope `total`).

    `sum`: each flow's adds up. `share`: their mean, each flow counted by what it offers. `same`: it is about
    the path, whatever the flows are.
    """

    of: Callable[[Case], Prediction]
    total: Literal["sum", "share", "same"] = "same"


@dataclass(frozen=True)
class Model:
    """A formula under the name by which scenarios ask for it.

    `laws` are its predictions by metric or series, in that quantity's unit; `title` stands in legends.
    """

    name: str
    title: str
    laws: Mapping[str, Law]
    meaning: str


def cases(record: Record) -> dict[str, Case]:
    """The case of each flow of a run, by its name."""
    flows = record.flows()
    rates = {number: float(end.rate_bps) for number, end in record.context.ends.items() if end.rate_bps}
    offered = _by_host(record, rates, [_offered(flow, record.asked(flow)) for flow in flows])
    carried = carried_bps([(rate, flow.ends) for rate, flow in zip(offered, flows, strict=True)], rates)
    sharing = Counter(_crowd(record, flow) for flow in flows)
    return {
        flow.name: _case(record, flow, record.asked(flow), load, sharing[_crowd(record, flow)])
        for flow, load in zip(flows, zip(offered, carried, strict=True), strict=True)
    }


def _crowd(record: Record, flow: Flow) -> tuple[int | None, str, str]:
    """What flows that share a queue have in common: the end, the class there, the kind."""
    _, entry = _bottleneck(record, flow)
    return flow.bottleneck_end, "" if entry is None else entry.name, flow.kind


def _bottleneck(record: Record, flow: Flow) -> tuple[End | None, LinkClass | None]:
    """The end that limits a flow, and the flow's class there."""
    end = None if flow.bottleneck_end is None else record.context.ends.get(flow.bottleneck_end)
    return end, None if end is None else classes.class_of(end, flow)


def _by_host(record: Record, rates: Mapping[int, float], offered: list[float]) -> list[float]:
    """What leaves the hosts: a host's own full queue holds its sockets back and loses nothing of them."""
    first = [flow.ends[0] if flow.ends else -1 for flow in record.flows()]
    load = dict.fromkeys(first, 0.0)
    for end, rate in zip(first, offered, strict=True):
        load[end] += rate
    return [
        rate * min(1.0, rates[end] / load[end]) if end in rates and load[end] else rate
        for end, rate in zip(first, offered, strict=True)
    ]


def _dropped_at(record: Record, host: str) -> float:
    return next((node.drop_input for node in record.plan.nodes if node.name == host), 0.0)


def _case(record: Record, flow: Flow, asked: PlanFlow, load: tuple[float, float], sharing: int) -> Case:
    ends = record.context.ends
    idle_ns = courses.mean_base_rtt_ns(flow, ends)
    kept = math.prod(1 - ends[end].loss for end in flow.ends if end in ends)
    kept *= 1 - _dropped_at(record, asked.to)
    end, entry = _bottleneck(record, flow)
    narrow = None if end is None else classes.held(end, entry)
    buffer = None
    if narrow is not None:
        packets = narrow.buffer_packets and narrow.buffer_packets * (flow.frame_bytes or 0)
        buffer = narrow.buffer_bytes or packets or None
    return Case(
        kind=flow.kind,
        cc=asked.cc or "",
        mss_bytes=flow.payload_per_packet,
        frame_bytes=flow.frame_bytes,
        rtt_s=idle_ns / 1e9 if idle_ns else None,
        loss=1 - kept,
        rate_bps=float(flow.bottleneck_bps) if flow.bottleneck_bps else None,
        buffer_bytes=None if buffer is None else float(buffer),
        flows=sharing,
        offered_bps=load[0],
        carried_bps=load[1],
        marks_s=marks_s(narrow.queue or "", flow.bottleneck_bps) if narrow is not None else None,
        queue=(narrow.queue if narrow is not None else None) or "",
        fragments=_fragments(flow, asked),
        link_bytes=_link_bytes(flow, asked),
    )


def _fragments(flow: Flow, asked: PlanFlow) -> int:
    payload, frame = flow.payload_per_packet, flow.frame_bytes
    if flow.kind not in kinds.UDP_STREAMS or not payload or not frame:
        return 1
    return fragments(payload, frame - ETHERNET, ipv6=_ipv6(asked))


def _ipv6(asked: PlanFlow) -> bool:
    return ":" in asked.dst


def marks_s(words: str, rate_bps: float | None) -> float | None:
    """The wait from which a queue marks every packet, by its words in tc; None if it does not mark so.

    CoDel's `ce_threshold` is such a time; RED marks by a step where `max` is next to `min`.
    """
    found = words.split()
    after = dict(pairwise(found))
    try:
        if "ce_threshold" in after:
            return Duration.parse(after["ce_threshold"]).seconds
        if found[:1] == ["red"] and "ecn" in found and rate_bps:
            low, high = int(after["min"]), int(after["max"])
            return 8 * low / rate_bps if high - low <= _STEP else None
    except (KeyError, ValueError):
        return None  # words of tc's own making; the kernel read them, a figure need not
    return None


def _offered(flow: Flow, asked: PlanFlow) -> float:
    """Bits of whole frames a second that a UDP flow hands to its path."""
    rate = asked.rate_bps
    if flow.kind not in kinds.UDP_STREAMS or rate is None or not flow.payload_per_packet:
        return 0.0
    return rate * (_link_bytes(flow, asked) or 0) / flow.payload_per_packet


def _link_bytes(flow: Flow, asked: PlanFlow) -> int | None:
    """What a link carries for a full packet's payload."""
    count = _fragments(flow, asked)
    if count == 1 or flow.payload_per_packet is None:
        return flow.frame_bytes
    # Each fragment has an IP and an Ethernet header of its own.
    headers = ETHERNET + fragment_header(ipv6=_ipv6(asked))
    return flow.payload_per_packet + UDP_HEADER + count * headers

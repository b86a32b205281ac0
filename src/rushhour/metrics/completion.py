"""Flows that come and go: how long they took, how much longer than alone, and queries answered by many.

All flows of a group (one `[[flow]]` with its copies or arrivals) are judged together.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.value import Found, Metric, Telling, distribution, of_flow
from rushhour.record import courses
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from rushhour.metrics.value import Distribution
    from rushhour.record.context import End, Flow
    from rushhour.record.record import Record

_MINUTE_US = 60e6
SYN_OPTIONS = 8  # that a SYN has beside those of all segments: MSS and window scale
_CLASSES = ((10_000, "up to 10 kB"), (100_000, "10 to 100 kB"), (1_000_000, "100 kB to 1 MB"),
            (10_000_000, "1 to 10 MB"), (1 << 63, "over 10 MB"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Transfers:
    """TCP flows of one group that have a size, one entry each, in the order of the plan.

    `fct_ns` counts from the flow's start, when it connects, to its last byte at the receiver, and is nan
    where that did not come; `ideal_ns` see `ideal_ns`, nan where nothing limits the path.
    """

    start_ns: NDArray[np.int64]
    bytes: NDArray[np.int64]
    fct_ns: NDArray[np.float64]
    ideal_ns: NDArray[np.float64]


def ideal_ns(record: Record, flow: Flow) -> float:
    """The least a flow of this size can take on its idle path: handshake, way, and its frames at the rate.

    One round trip of SYN and SYN-ACK; then the time that the handshake's ACK and all frames of the data take
    at the bottleneck, the last frame's on the other links, and the way's delay. No slow start, no loss, no
    jitter: what pFabric (SIGCOMM 2013) and Homa (SIGCOMM 2018) divide by, with the handshake. A
    link that does not serialise lets as much as one frame pass at once. Where patterns change the path, it is
    the one that the flow finds at its start, and the rate that there is while its frames are sent.
    """
    if not (flow.bottleneck_bps and flow.payload_per_packet and flow.frame_bytes and flow.bytes):
        return float("nan")
    full, rest = divmod(flow.bytes, flow.payload_per_packet)
    headers = flow.frame_bytes - flow.payload_per_packet
    last = rest + headers if rest else flow.frame_bytes
    frames = headers + full * flow.frame_bytes + (last if rest else 0)
    every = record.context.ends
    there, back = ([courses.at(every[end], flow.start_ns) for end in way if end in every]
                   for way in (flow.ends, flow.reverse_ends))  # fmt: skip
    slowest = min((end.serial_bps for end in there if end.serial_bps), default=None)
    rate = courses.least_bps(flow, every, np.array([flow.start_ns * 1e-9]))
    narrow = slowest is not None and rate is not None and slowest <= rate[0]
    at_once = 0 if narrow else min(frames, flow.frame_bytes)
    alone = _way_ns(there, last) - (last * 8e9 / slowest if slowest and narrow else 0)
    handshake = _handshake_ns(record, flow, there, back, headers + SYN_OPTIONS)
    begin = flow.start_ns + handshake
    return handshake + alone + courses.sending_ns(flow, every, begin, (frames - at_once) * 8)


def _handshake_ns(record: Record, flow: Flow, there: Sequence[End], back: Sequence[End], size: int) -> float:
    """The base RTT, which is of a full frame and its ACK, of two frames of this size and without jitter."""
    base = courses.base_rtt_ns(flow, record.context.ends, np.array([flow.start_ns * 1e-9]))
    trip = 0.0 if base is None else float(base[0])
    for ends, counted in ((there, flow.request_frame_bytes), (back, flow.answer_frame_bytes)):
        trip += fsum(courses.sent_ns(end, size) - courses.sent_ns(end, counted) for end in ends)
        trip -= fsum(end.jitter_ns / 2 for end in ends if end.role == "wire")
    return trip


def _way_ns(ends: Sequence[End], size: int) -> float:
    """What a lone frame of so many bytes takes at least on a way."""
    return fsum(end.delay_ns + courses.sent_ns(end, size) for end in ends)


def _groups(flows: Sequence[Flow]) -> dict[str, list[Flow]]:
    groups: dict[str, list[Flow]] = defaultdict(list)
    for flow in flows:
        groups[flow.group].append(flow)
    return groups


def transfers(record: Record) -> dict[str, Transfers]:
    """Group → its transfers that started after the warm-up, of groups with arrivals or several such flows."""
    every = [
        flow
        for flow in record.context.flows.values()
        if flow.kind in kinds.TCP_STREAMS and flow.bytes is not None
    ]
    found = {}
    for group, flows in _groups(every).items():
        late = [flow for flow in flows if flow.start_ns >= record.context.warmup_ns]
        if len(flows) > 1 or flows[0].arrival is not None:
            found[group] = Transfers(
                np.array([flow.start_ns for flow in late], np.int64),
                np.array([flow.bytes for flow in late], np.int64),
                np.array([_fct_ns(flow) for flow in late], np.float64),
                np.array([ideal_ns(record, flow) for flow in late], np.float64),
            )
    return found


def _fct_ns(flow: Flow) -> float:
    done, received = flow.outcome.receiver_done_ns, flow.outcome.bytes_received
    whole = done is not None and received is not None and received >= (flow.bytes or 0)
    return float(done - flow.start_ns) if whole and done is not None else float("nan")


def _by_class(record: Record, value: Callable[[Transfers], NDArray[np.float64]]) -> Iterator[Distribution]:
    # Of each group, then of its size classes, if it has several.
    for group, flows in record.once(transfers).items():
        values = value(flows)
        yield f"group:{group}", values
        place = np.searchsorted([limit for limit, _ in _CLASSES], flows.bytes)
        there = np.unique(place)
        for number in there if len(there) > 1 else ():
            yield f"group:{group}, {_CLASSES[number][1]}", values[place == number]


def _times(record: Record) -> Iterator[Distribution]:
    return _by_class(record, lambda flows: flows.fct_ns / 1e3)


def _slowdowns(record: Record) -> Iterator[Distribution]:
    return _by_class(record, lambda flows: flows.fct_ns / flows.ideal_ns)


def _completed(record: Record) -> Iterator[Found]:
    for group, flows in record.once(transfers).items():
        yield Found(f"group:{group}", float(np.count_nonzero(~np.isnan(flows.fct_ns))))


def _unfinished(record: Record) -> Iterator[Found]:
    for group, flows in record.once(transfers).items():
        yield Found(f"group:{group}", float(np.count_nonzero(np.isnan(flows.fct_ns))))


def offered_load(record: Record) -> Iterator[Found]:
    """The share of the bottleneck that the flows of each arrival process ask for."""
    for group, flows in _groups(record.arrivals()).items():
        span = flows[0].arrival or (0, 0)
        begin = max(span[0], record.context.warmup_ns)
        late = [flow for flow in flows if flow.start_ns >= begin and flow.payload_per_packet]
        shares = [
            8e9 * (flow.bytes or 0) * (flow.frame_bytes or 0) / ((flow.payload_per_packet or 1) * rate)
            for flow in late
            if (rate := courses.bottleneck_bps(flow, record.context.ends, (begin, max(begin + 1, span[1]))))
        ]
        if span[1] > begin and all(flow.bottleneck_bps for flow in flows):
            yield Found(f"group:{group}", fsum(shares) / (span[1] - begin))
        else:
            yield Found(f"group:{group}", None, "nothing limits the path, or none arrived after the warm-up")


# Queries ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Queries:
    """Rounds of a group of `rr` or `crr` flows that ask at the same instants, [n]: those all answered.

    `took_ns` counts from the first request of a round to the last byte of its last response; `bits` are
    those of all its responses.
    """

    took_ns: NDArray[np.float64]
    bits: float
    unanswered: int


def queries(record: Record) -> dict[str, Queries]:
    """Group → its queries begun after the warm-up, of groups of several clients that ask on schedule."""
    if not record.has("transaction"):
        return {}
    found = {}
    for group, flows in _groups(record.flows(*kinds.CALLS)).items():
        asked = [record.plan.flow(flow.id) for flow in flows]
        if len(flows) > 1 and asked[0].interval_ns:
            bits = sum(8 * (one.response_bytes or 1) for one in asked)
            found[group] = _rounds(record, flows, asked[0].interval_ns, float(bits))
    return found


def _rounds(record: Record, flows: Sequence[Flow], interval_ns: int, bits: float) -> Queries:
    tables = [record.table("transaction", flow=flow.id) for flow in flows]
    rows = np.concatenate(tables)
    numbers, place, count = np.unique(rows["seq"], return_inverse=True, return_counts=True)
    begin = np.full(len(numbers), np.iinfo(np.int64).max)
    done = np.zeros(len(numbers), np.int64)
    np.minimum.at(begin, place, rows["start_ns"])
    np.maximum.at(done, place, rows["end_ns"])
    chosen = begin >= record.context.warmup_ns
    whole = chosen & (count == len(flows))
    first, stop = flows[0].start_ns, flows[0].stop_ns or record.context.duration_ns
    due = np.arange(first, stop, interval_ns)
    asked = int(np.count_nonzero(due >= record.context.warmup_ns))
    return Queries((done - begin)[whole].astype(np.float64), bits, asked - int(np.count_nonzero(whole)))


def _query_times(record: Record) -> Iterator[Distribution]:
    for group, rounds in record.once(queries).items():
        yield f"group:{group}", rounds.took_ns / 1e3


def _query_goodput(record: Record) -> Iterator[Found]:
    for group, rounds in record.once(queries).items():
        total = float(rounds.took_ns.sum())
        if total:
            yield Found(f"group:{group}", rounds.bits * len(rounds.took_ns) * 1e9 / total)
        else:
            yield Found(f"group:{group}", None, "no query was answered by all")


def _unanswered(record: Record) -> Iterator[Found]:
    for group, rounds in record.once(queries).items():
        yield Found(f"group:{group}", float(rounds.unanswered))


# Round trips under load ---------------------------------------------------------------------------------


def _round_trips(record: Record) -> Iterator[tuple[Flow, float | None]]:
    """Of each probe the mean time of one round trip in µs after the warm-up; a `crr` makes two of them."""
    for flow in record.flows(*kinds.ECHOES, *kinds.CALLS):
        if (record.plan.flow(flow.id).in_flight or 1) > 1:
            continue  # a request waits behind those before it: that is no round trip
        series = record.series("ping_rtt_us" if flow.kind in kinds.ECHOES else "transaction_us", flow=flow.id)
        values = series.values[series.t_s >= record.context.warmup_ns * 1e-9]
        values = values[~np.isnan(values)]
        trips = 2 if flow.kind in kinds.MANY_CONNECTIONS else 1
        yield flow, float(values.mean()) / trips if len(values) else None


def _rpm(record: Record) -> Iterator[Found]:
    for flow, trip in _round_trips(record):
        yield Found(of_flow(flow), _MINUTE_US / trip if trip else None, None if trip else "no round trip")


def _inflation(record: Record) -> Iterator[Found]:
    for flow, trip in _round_trips(record):
        idle_ns = courses.mean_base_rtt_ns(flow, record.context.ends)
        if trip and idle_ns:
            yield Found(of_flow(flow), trip * 1e3 / idle_ns)
        else:
            yield Found(of_flow(flow), None, "no round trip, or an idle path without delay")


DISTRIBUTIONS: dict[str, tuple[str, Callable[[Record], Iterator[Distribution]]]] = {
    "flow_completion_time_us": ("µs", _times),
    "slowdown": ("1", _slowdowns),
}
"""What a figure can show of each flow that has a size: unit, and (scope, values [n]); nan: not complete."""

_OF_GROUP = "of the TCP flows of a group that have a size and started after the warm-up"

METRICS = [
    *distribution(
        "flow_completion_time",
        ("group",),
        f"the flow completion time {_OF_GROUP}: from connect() to the last byte at the receiver; incomplete "
        "ones count in flows_unfinished. Also by size, where sizes differ.",
        _times,
        telling={"p50": Telling("completion median", 310), "p99": Telling("completion p99", 320)},
    ),
    *distribution(
        "slowdown",
        ("group",),
        f"the slowdown {_OF_GROUP}: completion time over the least on the idle path, which is a round trip "
        "of SYN and SYN-ACK, the time of its frames (and of the ACK before them) at the bottleneck's rate, "
        "of the last one on the other links, and one way (as in pFabric, SIGCOMM 2013, and Homa, SIGCOMM "
        "2018, there without a handshake). Without slow start, so a lone flow of more than the initial "
        "window is above 1.",
        _slowdowns,
        unit="1",
        telling={"p50": Telling("slowdown median", 330), "p99": Telling("slowdown p99", 340)},
    ),
    Metric(
        "flows_completed", "flows", "higher", ("group",), f"How many {_OF_GROUP} were complete at the end.",
        _completed,
    ),
    Metric(
        "flows_unfinished", "flows", "lower", ("group",),
        f"How many {_OF_GROUP} were not complete at the end.",
        _unfinished,
        telling=Telling("unfinished", 350, if_any=True),
    ),
    Metric(
        "offered_load",
        "1",
        "none",
        ("group",),
        "The frames of the data of all flows of an arrival process that started after the warm-up, over "
        "what the bottleneck carries while they arrive. Without retransmissions and handshakes.",
        offered_load,
    ),
    *distribution(
        "query_completion_time",
        ("group",),
        "the time from a query's first request (several rr or crr flows of a group ask at once) to the "
        "last byte of its last response; of queries begun after the warm-up and answered by all.",
        _query_times,
        telling={"p50": Telling("query median", 360), "p99": Telling("query p99", 370)},
    ),
    Metric(
        "query_goodput_bps",
        "bit/s",
        "higher",
        ("group",),
        "Bits of all responses of the queries answered by all over the sum of their completion times "
        "(incast goodput).",
        _query_goodput,
        telling=Telling("query goodput", 380),
    ),
    Metric(
        "queries_unanswered", "queries", "lower", ("group",),
        "Queries due after the warm-up that were not answered by all when the experiment ended.",
        _unanswered,
        telling=Telling("unanswered", 390, if_any=True),
    ),
    Metric(
        "responsiveness_rpm",
        "1/min",
        "higher",
        ("flow",),
        "Round trips per minute: 60 s over the mean round trip of a probe (ping; rr with one request at a "
        "time; crr counts two) after the warm-up, as draft-ietf-ippm-responsiveness has it for TCP, TLS "
        "and HTTP.",
        _rpm,
        telling=Telling("round trips per minute", 400),
    ),
    Metric(
        "latency_inflation",
        "1",
        "lower",
        ("flow",),
        "Mean round trip of a probe (as in responsiveness_rpm) after the warm-up over the round trip of the "
        "idle path.",
        _inflation,
    ),
]  # fmt: skip

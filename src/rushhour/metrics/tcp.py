"""What TCP did: retransmissions, timeouts, and the three metrics of RFC 6349."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.value import NO_READING, TOTAL, Found, Metric, Telling, of_flow, ratio
from rushhour.record import courses
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rushhour.record.context import Flow
    from rushhour.record.record import Record

_NO_SEGMENT = "no segment with payload arrived"


def last(record: Record, flow: Flow, field: str, side: int = 0) -> int | None:
    """A counter of the sender's `tcp_info` at its last sample; None if this kernel or record has none.

    `side` 1 is the receiver's, or of request and response the server's.
    """
    _, info = record.tcp_info(flow.id, side)
    if not len(info) or field not in (info.dtype.names or ()):
        return None
    return int(info[field][-1])


_ECN_MODE, _ACCURATE = 3, 2  # the two bits of tcpi_ecn_mode; TCPI_ECN_MODE_ACCECN of <linux/tcp.h>


def came_marked(record: Record, flow: Flow) -> int | None:
    """Segments that came to the receiver marked; None where ECN is not accurate, or the kernel is silent."""
    mode = last(record, flow, "ecn_bits") or 0
    return last(record, flow, "received_ce", 1) if mode & _ECN_MODE == _ACCURATE else None


def retransmitted(record: Record, flow: Flow) -> int | None:
    """Segments retransmitted: the greater of the events traced and the kernel's last count.

    Both can only fall short: an event may carry several segments, and the last sample of a flow may lie
    before its last retransmission.
    """
    counts = [last(record, flow, "total_retrans")]
    if record.has("tcp_retransmit_skb"):
        counts.append(len(record.table("tcp_retransmit_skb", flow=flow.id)))
    return max((count for count in counts if count is not None), default=None)


def _retransmits(record: Record) -> Iterator[Found]:
    counts = []
    for flow in record.flows(*kinds.TCP_STREAMS):
        count = retransmitted(record, flow)
        yield Found(of_flow(flow), count, None if count is not None else NO_READING)
        counts += [] if count is None else [count]
    short = [flow.id for flow in record.arrivals()]
    if short and record.has("tcp_retransmit_skb"):
        counts.append(int(np.count_nonzero(np.isin(record.table("tcp_retransmit_skb")["flow"], short))))
    if counts:
        yield Found(TOTAL, sum(counts))


def _fraction(record: Record) -> Iterator[Found]:
    from rushhour.series.handshake import syn_retransmits  # noqa: PLC0415 - it reads metrics

    retransmits, segments = 0, 0
    for flow in record.flows(*kinds.TCP_STREAMS):
        again, sent = last(record, flow, "total_retrans"), last(record, flow, "data_segs_out")
        if again is None or sent is None:
            yield Found(of_flow(flow), None, NO_READING)
            continue
        # What was sent again of the handshake is no segment with payload.
        again = max(0, again - syn_retransmits(record, flow))
        retransmits, segments = retransmits + again, segments + sent
        yield ratio(of_flow(flow), again, sent, "no segment was sent")
    if segments:
        yield Found(TOTAL, retransmits / segments)


def _segments_received(record: Record) -> Iterator[Found]:
    counts = []
    for flow in record.flows(*kinds.TCP_STREAMS):
        count = last(record, flow, "data_segs_in", side=1)
        yield Found(of_flow(flow), count, None if count is not None else NO_READING)
        counts += [] if count is None else [count]
    if counts:
        yield Found(TOTAL, sum(counts))


def _segments_share(record: Record) -> Iterator[Found]:
    found = [
        (of_flow(flow), last(record, flow, "data_segs_in", side=1))
        for flow in record.flows(*kinds.TCP_STREAMS)
    ]
    total = sum(count or 0 for _, count in found)
    for scope, count in found:
        yield Found(scope, None, NO_READING) if count is None else ratio(scope, count, total, _NO_SEGMENT)


def counter(field: str) -> Callable[[Record], Iterator[Found]]:
    """A metric's function: a counter of the sender's `tcp_info` at its last sample."""

    def function(record: Record) -> Iterator[Found]:
        for flow in record.flows(*kinds.TCP_STREAMS):
            count = last(record, flow, field)
            yield Found(of_flow(flow), count, None if count is not None else NO_READING)

    return function


def _timeouts(record: Record) -> Iterator[Found]:
    counts = []
    for flow in record.flows(*kinds.ONE_CONNECTION):
        # Who answers sends, too.
        sides = [
            last(record, flow, "total_rto", side)
            for side in ((0,) if flow.kind in kinds.TCP_STREAMS else (0, 1))
        ]
        known = [count for count in sides if count is not None]
        if flow.kind in kinds.TCP_STREAMS or known:
            yield Found(of_flow(flow), sum(known) if known else None, None if known else NO_READING)
        counts += known
    if counts:
        yield Found(TOTAL, sum(counts))


def _transfer_time_ratio(record: Record) -> Iterator[Found]:
    for flow in record.flows(*kinds.TCP_STREAMS):
        ideal, span = ideal_bps(record, flow), flow.active_ns
        moved = flow.outcome.bytes_received
        if ideal is None or span is None or not moved:
            yield Found(of_flow(flow), None, "no bottleneck rate, or the flow moved nothing")
            continue
        yield Found(of_flow(flow), (span[1] - span[0]) / (moved * 8e9 / ideal))


def ideal_bps(record: Record, flow: Flow) -> float | None:
    """The most payload the path can carry while a flow is active: rate · payload / frame, in bit/s."""
    rate = courses.bottleneck_bps(flow, record.context.ends)
    if not rate or not flow.payload_per_packet or not flow.frame_bytes:
        return None
    return rate * flow.payload_per_packet / flow.frame_bytes


def _efficiency(record: Record) -> Iterator[Found]:
    for flow in record.flows(*kinds.TCP_STREAMS):
        sent, again = last(record, flow, "bytes_sent"), last(record, flow, "bytes_retrans")
        if sent is None or again is None:
            yield Found(
                of_flow(flow), None, "the kernel counts no bytes sent and retransmitted (before 4.19)"
            )
            continue
        yield ratio(of_flow(flow), sent - again, sent, "nothing was sent", 100)


def _buffer_delay(record: Record) -> Iterator[Found]:
    for flow in record.flows(*kinds.TCP_STREAMS):
        rtt, queued = (
            record.series(name, flow=flow.id).values for name in ("srtt_us", "srtt_queue_delay_us")
        )
        known, waits = rtt[~np.isnan(rtt)], queued[~np.isnan(queued)]
        if not flow.base_rtt_ns or not len(known) or not len(waits):
            yield Found(of_flow(flow), None, "no RTT reading, or an idle path without delay")
            continue
        # A smoothed RTT follows a path that changes with delay: so does the baseline beside it.
        waited = float(waits.mean())
        yield Found(of_flow(flow), 100 * waited / (float(known.mean()) - waited))


METRICS = [
    Metric(
        "segments_received",
        "segments",
        "none",
        ("flow", "total"),
        "Segments with payload that reached the receiver, retransmissions and duplicates included "
        "(tcpi_data_segs_in). Total: of all TCP flows.",
        _segments_received,
    ),
    Metric(
        "segments_share",
        "1",
        "none",
        ("flow",),
        "Segments with payload that reached a flow's receiver over those of all TCP flows.",
        _segments_share,
    ),
    Metric(
        "retransmits",
        "segments",
        "lower",
        ("flow", "total"),
        "Segments that TCP sent again: the greater of the traced events (one may carry several segments) "
        "and tcpi_total_retrans at the last sample (which may come before the last event). Total: with "
        "those of arrival processes, by events.",
        _retransmits,
        telling=Telling("retransmits", 180),
    ),
    Metric(
        "retransmit_fraction",
        "1",
        "lower",
        ("flow", "total"),
        "Segments with payload sent again over all that were sent: (tcpi_total_retrans - SYNs sent again) "
        "/ tcpi_data_segs_out.",
        _fraction,
    ),
    Metric(
        "spurious_retransmits",
        "segments",
        "lower",
        ("flow",),
        "Duplicates that the receiver reported by DSACK (tcpi_dsack_dups; RFC 2883): needless "
        "retransmissions, and duplicates made by the network.",
        counter("dsack_dups"),
        telling=Telling("duplicates (DSACK)", 210, if_any=True),
    ),
    Metric(
        "timeouts",
        "1",
        "lower",
        ("flow", "total"),
        "Retransmission timeouts (tcpi_total_rto, since Linux 6.7), those of the handshake included; of rr "
        "those of both sides. Total: without arrivals.",
        _timeouts,
        telling=Telling("timeouts", 190, if_any=True, counts=True),
    ),
    Metric(
        "transfer_time_ratio",
        "1",
        "lower",
        ("flow",),
        "Actual over ideal transfer time (RFC 6349, section 4.1): the time the flow was active over bytes "
        "received / (bottleneck rate · payload / frame), of a rate that changes its mean over that time. "
        "Flows that share a bottleneck cannot come near 1.",
        _transfer_time_ratio,
    ),
    Metric(
        "tcp_efficiency_pct",
        "%",
        "higher",
        ("flow",),
        "TCP efficiency (RFC 6349, section 4.2): (tcpi_bytes_sent - tcpi_bytes_retrans) / tcpi_bytes_sent "
        "· 100.",
        _efficiency,
    ),
    Metric(
        "buffer_delay_pct",
        "%",
        "lower",
        ("flow",),
        "Buffer delay (RFC 6349, section 4.3): (average RTT - baseline RTT) / baseline RTT · 100; the "
        "average of the smoothed RTT at each ACK, the baseline of the idle path, smoothed likewise where it "
        "changes.",
        _buffer_delay,
    ),
]

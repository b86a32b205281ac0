"""What a TCP sender waited for: its window, the receiver, its buffer, or its application."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

from rushhour.metrics.growth import sampled
from rushhour.metrics.tcp import last
from rushhour.metrics.value import Found, Metric, of_flow
from rushhour.series.timeline import LIMITS, timelines
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rushhour.record.context import Flow
    from rushhour.record.record import Record


def limited_us(record: Record, flow: Flow) -> dict[str, float] | None:
    """Time in µs a sender was limited by `cwnd`, `rwnd`, `sndbuf` and `application` up to its last sample.

    The kernel keeps one chronometer (tcp_chrono_*): busy while data are outstanding or queued, within that
    limited by the peer's window or by a full send buffer. What is left of busy is the congestion window (and
    pacing); what is left of the time since the connection is the application, which had nothing to send. None
    where the kernel gave no reading.
    """
    t_ns, _ = record.tcp_info(flow.id)
    busy, rwnd, sndbuf = (
        last(record, flow, name) for name in ("busy_time", "rwnd_limited", "sndbuf_limited")
    )
    if busy is None or rwnd is None or sndbuf is None:
        return None
    connected = flow.start_ns if flow.outcome.connected_ns is None else flow.outcome.connected_ns
    active = (int(t_ns[-1]) - connected) / 1e3
    if active <= 0:
        return None
    # The chronometer counts whole ticks and may run one ahead of the clock.
    return {
        "cwnd": max(0.0, float(busy - rwnd - sndbuf)),
        "rwnd": float(rwnd),
        "sndbuf": float(sndbuf),
        "application": max(0.0, active - busy),
    }


def _share(limit: str) -> Callable[[Record], Iterator[Found]]:
    def function(record: Record) -> Iterator[Found]:
        for flow in record.flows(*kinds.TCP_STREAMS):
            times = limited_us(record, flow)
            total = fsum(times.values()) if times else 0.0
            if times is None or not total:
                yield Found(of_flow(flow), None, "no tcp_info of the sender while it was connected")
            else:
                yield Found(of_flow(flow), 100 * times[limit] / total)

    return function


def _held(limit: str) -> Callable[[Record], Iterator[Found]]:
    def function(record: Record) -> Iterator[Found]:
        known, rough = record.once(timelines), record.once(sampled)
        for flow in record.flows(*kinds.TCP_STREAMS):
            if flow.id in known:
                yield Found(of_flow(flow), 100 * known[flow.id].shares.get(limit, 0.0), rough)
            else:
                yield Found(of_flow(flow), None, "no tcp_info of the sender while it was connected")

    return function


def _part(limit: str, title: str = "") -> Metric:
    return Metric(
        f"limited_{limit}_pct",
        "%",
        "none",
        ("flow",),
        f"Share of the flow's time, from its start, in which {LIMITS[limit]}; found from queues, states and "
        "counters (docs/explain.md).",
        _held(limit),
        title=title,
    )


def _metric(limit: str, source: str, words: str, title: str = "") -> Metric:
    return Metric(
        f"limited_{limit}_pct",
        "%",
        "none",
        ("flow",),
        f"Share of the time from the connection to the last sample in which {words}: {source}, in ticks of "
        "1/HZ (RFC 4898: SndLimTime).",
        _share(limit),
        title=title,
    )


METRICS = [
    _metric(
        "cwnd",
        "tcpi_busy_time - tcpi_rwnd_limited - tcpi_sndbuf_limited",
        "the congestion window (or pacing) held the sender back",
    ),
    _metric(
        "rwnd",
        "tcpi_rwnd_limited",
        "the receiver's window held the sender back",
        "Time limited by the receiver's window",
    ),
    _metric(
        "sndbuf",
        "tcpi_sndbuf_limited",
        "a full send buffer held the sender back",
        "Time limited by the send buffer",
    ),
    _metric(
        "application",
        "the time since the connection - tcpi_busy_time",
        "the application had given the kernel nothing to send",
    ),
    _part("handshake"),
    _part("path", "Time with a full path"),
    _part("acks"),
    _part("slow_start", "Time in slow start"),
    _part("losses", "Time limited by losses"),
    _part("timeouts", "Time waiting for timeouts"),
]

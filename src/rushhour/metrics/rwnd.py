"""What the receiver's window allows: bytes advertised, the rate that they allow, how much of it came."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.metrics.value import Found, Metric, median, of_flow
from rushhour.metrics.windows import steady_window, within
from rushhour.models.bdp import goodput_bps, window_limited_bps
from rushhour.record import courses
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.record.context import Flow
    from rushhour.record.record import Record


def _windows(record: Record) -> dict[int, float | None]:
    return {flow.id: _window(record, flow) for flow in record.flows(*kinds.TCP_STREAMS)}


def _window(record: Record, flow: Flow) -> float | None:
    series = record.series("snd_wnd", flow=flow.id)
    values = series.values[within(series.t_s, steady_window(record, flow))]
    return median(values) if len(values) else None


def _limits(record: Record) -> dict[int, float | None]:
    return {flow.id: _limit(record, flow) for flow in record.flows(*kinds.TCP_STREAMS)}


def _limit(record: Record, flow: Flow) -> float | None:
    window = record.once(_windows)[flow.id]
    idle_ns = courses.mean_base_rtt_ns(flow, record.context.ends)
    if window is None or not idle_ns:
        return None
    allowed = window_limited_bps(window, idle_ns * 1e-9)
    rate = courses.bottleneck_bps(flow, record.context.ends)
    if not rate or not flow.payload_per_packet or not flow.frame_bytes:
        return allowed
    return min(allowed, goodput_bps(rate, flow.payload_per_packet, flow.frame_bytes))


def _rwnd(record: Record) -> Iterator[Found]:
    for flow in record.flows(*kinds.TCP_STREAMS):
        window = record.once(_windows)[flow.id]
        yield Found(of_flow(flow), window, None if window is not None else "no ACK reached the sender")


def _rwnd_limit(record: Record) -> Iterator[Found]:
    for flow in record.flows(*kinds.TCP_STREAMS):
        limit = record.once(_limits)[flow.id]
        yield Found(of_flow(flow), limit, None if limit is not None else "no window or no base RTT")


def _rwnd_efficiency(record: Record) -> Iterator[Found]:
    for flow in record.flows(*kinds.TCP_STREAMS):
        limit, span = record.once(_limits)[flow.id], flow.active_ns
        if not limit or span is None or flow.outcome.bytes_received is None:
            yield Found(of_flow(flow), None, "no window, or the flow did not run")
            continue
        goodput = flow.outcome.bytes_received * 8e9 / (span[1] - span[0])
        yield Found(of_flow(flow), goodput / limit)


METRICS = [
    Metric(
        "rwnd_bytes",
        "B",
        "none",
        ("flow",),
        "The receive window that the receiver advertised: the median over the ACKs that reached the sender "
        "after the warm-up (without per-ACK readings, over the samples).",
        _rwnd,
    ),
    Metric(
        "rwnd_limit_bps",
        "bit/s",
        "none",
        ("flow",),
        "What that window allows on the idle path, rwnd_bytes · 8 / base RTT, at most the payload that the "
        "bottleneck carries (RFC 6349, section 3.3.1).",
        _rwnd_limit,
    ),
    Metric(
        "rwnd_efficiency",
        "1",
        "higher",
        ("flow",),
        "Goodput over rwnd_limit_bps.",
        _rwnd_efficiency,
    ),
]

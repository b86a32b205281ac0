"""How much arrived, how much was sent, how full the bottleneck was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.value import TOTAL, Found, Metric, of_end, of_flow
from rushhour.series import delivered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.context import End, Flow
    from rushhour.record import Record

_NOT_ACTIVE = "the flow did not run, or its end is unknown"


def payload_flows(record: Record) -> list[Flow]:
    """The flows that carry payload one way: TCP and UDP."""
    return record.flows("tcp", "udp")


def _goodput(record: Record) -> Iterator[Found]:
    yield from _whole(record, "bytes_received")


def _send_rate(record: Record) -> Iterator[Found]:
    yield from _whole(record, "bytes_sent")


def _whole(record: Record, count: str) -> Iterator[Found]:
    # Bytes by the agent's own count over the time the flow was active; in total over the time any was.
    total, spans = 0, []
    for flow in payload_flows(record):
        moved, span = getattr(flow.outcome, count), flow.active_ns
        if moved is None or span is None:
            yield Found(of_flow(flow), None, flow.outcome.error or _NOT_ACTIVE)
            continue
        total += moved
        spans.append(span)
        yield Found(of_flow(flow), moved * 8e9 / (span[1] - span[0]))
    if spans:
        seconds = (max(end for _, end in spans) - min(begin for begin, _ in spans)) / 1e9
        yield Found(TOTAL, total * 8 / seconds)
    elif payload_flows(record):
        yield Found(TOTAL, None, "no flow ran")


def _steady(record: Record) -> Iterator[Found]:
    total, spans = 0.0, []
    for flow in payload_flows(record):
        span = steady_window(record, flow)
        moved = None if span is None else moved_within(record, flow, *span)
        if span is None or moved is None:
            yield Found(of_flow(flow), None, "the flow was not active for two samples after the warm-up")
            continue
        count, begin, done = moved
        total += count
        spans.append((begin, done))
        yield Found(of_flow(flow), count * 8e9 / (done - begin))
    if spans:
        seconds = (max(end for _, end in spans) - min(begin for begin, _ in spans)) / 1e9
        yield Found(TOTAL, total * 8 / seconds)
    elif payload_flows(record):
        yield Found(TOTAL, None, "no flow was active after the warm-up")


def steady_window(record: Record, flow: Flow) -> tuple[int, int] | None:
    """When the flow was sending after the warm-up and before the end, in ns; None if never."""
    active = flow.active_ns
    if active is None:
        return None
    context = record.context
    begin = max(active[0], context.warmup_ns)
    stops = [active[1], context.duration_ns, *([] if flow.stop_ns is None else [flow.stop_ns])]
    return (begin, min(stops)) if min(stops) > begin else None


def moved_within(record: Record, flow: Flow, begin: int, done: int) -> tuple[int, int, int] | None:
    """Bytes between the first reading from `begin` on and the last up to `done`, with their stamps.

    None where there are no two readings in the window.
    """
    t_ns, count = delivered(record, flow)
    first, last = int(np.searchsorted(t_ns, begin)), int(np.searchsorted(t_ns, done, side="right")) - 1
    if last <= first or t_ns[last] <= t_ns[first]:
        return None
    return int(count[last] - count[first]), int(t_ns[first]), int(t_ns[last])


def _utilization(record: Record) -> Iterator[Found]:
    for end in bottlenecks(record):
        scope = of_end(end)
        rate, span = end.rate_bps, busy_window(record, end)
        if not rate or span is None or not record.has("interface"):
            yield Found(scope, None, "no rate, no active flow or no interface readings")
            continue
        rows = record.table("interface", end=end.end)
        t_ns = rows["t_ns"]
        inside = rows[(t_ns >= span[0]) & (t_ns <= span[1])]
        if len(inside) < 2 or inside["t_ns"][-1] <= inside["t_ns"][0]:
            yield Found(scope, None, "fewer than two readings while the flows were active")
            continue
        bits = (int(inside["tx_bytes"][-1]) - int(inside["tx_bytes"][0])) * 8
        yield Found(scope, bits * 1e9 / (int(inside["t_ns"][-1]) - int(inside["t_ns"][0])) / rate)


def bottlenecks(record: Record) -> list[End]:
    """The bottleneck ends of the flows, each once."""
    ends = record.context.ends
    found = {flow.bottleneck_end for flow in record.flows() if flow.bottleneck_end in ends}
    return [end for number, end in ends.items() if number in found]


def busy_window(record: Record, end: End) -> tuple[int, int] | None:
    """From when the first flow across this end was active to when the last was, after the warm-up, in ns."""
    windows = [
        window
        for flow in payload_flows(record)
        if end.end in flow.ends and (window := steady_window(record, flow)) is not None
    ]
    return (min(begin for begin, _ in windows), max(done for _, done in windows)) if windows else None


METRICS = [
    Metric(
        "goodput_bps",
        "bit/s",
        "higher",
        ("flow", "total"),
        "Payload bits that reached the receiving application over the time the flow was active, from the "
        "connection to the last byte received (RFC 2647, section 3.17: what was forwarded, minus what was "
        "lost or retransmitted). Total: the bits of all flows over the time from the first connection to the "
        "last byte.",
        _goodput,
    ),
    Metric(
        "goodput_steady_bps",
        "bit/s",
        "higher",
        ("flow", "total"),
        "As goodput_bps, but of the bytes that arrived between the first reading after the warm-up and the "
        "last before the flow stops.",
        _steady,
    ),
    Metric(
        "send_rate_bps",
        "bit/s",
        "none",
        ("flow", "total"),
        "Payload bits that the sending application handed to the kernel over the time the flow was active.",
        _send_rate,
    ),
    Metric(
        "utilization",
        "1",
        "higher",
        ("end",),
        "Bits that left the bottleneck over what its rate allows, while flows were active after the warm-up. "
        "Bits are those of whole frames with the 14-byte Ethernet header and without preamble, checksum and "
        "gap: what the kernel's shapers count. Pings and acknowledgements that cross the same end are part "
        "of it.",
        _utilization,
    ),
]

"""How much arrived, how much was sent, how full the bottleneck was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.value import TOTAL, Found, Metric, Telling, of_end, of_flow, ratio
from rushhour.metrics.windows import bottlenecks, busy_window, moved_within, payload_flows, steady_window
from rushhour.quantities.netem_rate import netem_rate
from rushhour.record import courses
from rushhour.series.netem_bytes import as_counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rushhour.record.record import Record

_NOT_ACTIVE = "the flow did not run, or its end is unknown"


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
    for flow in record.arrivals():
        span = flow.active_ns
        total += getattr(flow.outcome, count) or 0
        spans += [] if span is None else [span]
    if spans:
        seconds = (max(end for _, end in spans) - min(begin for begin, _ in spans)) / 1e9
        yield Found(TOTAL, total * 8 / seconds)
    elif payload_flows(record) or record.arrivals():
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


def _utilization(record: Record) -> Iterator[Found]:
    for end in bottlenecks(record):
        scope = of_end(end)
        span = busy_window(record, end)
        if not end.rate_bps or span is None or not record.has("interface"):
            yield Found(scope, None, "no rate, no active flow or no interface readings")
            continue
        rows = record.table("interface", end=end.end)
        first, last, begin = _edges(record, rows["t_ns"], span)
        if last <= first or rows["t_ns"][last] <= begin:
            yield Found(scope, None, "fewer than two readings while the flows were active")
            continue
        sent = as_counted(rows["tx_bytes"], rows["tx_packets"], netem_rate(end.queue), so_far=True)
        bits = float(sent[last] - sent[first]) * 8
        could = courses.capacity_bits(end, begin, int(rows["t_ns"][last]))
        yield ratio(scope, bits, could, "the link carried nothing in this time")


def _edges(record: Record, t_ns: NDArray[np.int64], span: tuple[int, int]) -> tuple[int, int, int]:
    """The readings that begin and end a window, and from when what lies between them passed, in ns."""
    # The reading at the very end of the window is taken a moment after it.
    last = int(np.searchsorted(t_ns, span[1] + record.sample_ns // 100, side="right")) - 1
    first = int(np.searchsorted(t_ns, span[0]))
    if first and span[0] > record.context.warmup_ns:
        # The window begins with the first connection: since the reading before, only handshakes passed.
        return first - 1, last, span[0]
    return first, last, int(t_ns[first]) if first < len(t_ns) else span[1]


METRICS = [
    Metric(
        "goodput_bps",
        "bit/s",
        "higher",
        ("flow", "total"),
        "Payload bits that reached the receiving application over the time the flow was active (RFC 2647, "
        "section 3.17). Total: of all flows, from the first connection to the last byte.",
        _goodput,
        title="Goodput",
        telling=Telling("goodput", 10),
    ),
    Metric(
        "goodput_steady_bps",
        "bit/s",
        "higher",
        ("flow", "total"),
        "As goodput_bps, of the bytes that arrived between the first reading after the warm-up and the "
        "last before the flow stops, where possible at readings without a hole at the receiver. Without "
        "flows of arrival processes.",
        _steady,
        title="Goodput after warm-up",
        telling=Telling("goodput after warm-up", 20),
    ),
    Metric(
        "send_rate_bps",
        "bit/s",
        "none",
        ("flow", "total"),
        "Payload bits that the sending application handed to the kernel over the time the flow was active.",
        _send_rate,
        title="Sending rate",
    ),
    Metric(
        "utilization",
        "1",
        "higher",
        ("end",),
        "Bits that left the bottleneck over what its rate at each instant allows, from the first "
        "connection (or reading after the warm-up) to the last reading before the flows stop. Whole frames "
        "as shapers count them (with the 14-byte Ethernet header, without preamble, checksum and gap), "
        "pings and ACKs included, and what netem's `rate` counts besides. A full bucket at the first reading "
        "can bring it above 1 by a frame.",
        _utilization,
        telling=Telling("utilization", 40),
    ),
]

"""When a sender sends again, how long its repairs take, and how ACKs come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.growth import changes, sampled, state_at
from rushhour.metrics.tcp import last
from rushhour.metrics.value import Found, Metric, median, of_flow, ratio
from rushhour.series.handshake import SYN_SENT
from rushhour.series.readings import CA_RECOVERY
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from rushhour.record.context import Flow
    from rushhour.record.record import Record

_NONE_SENT_AGAIN = "nothing was sent again"
_NO_ACKS = "fewer than two ACKs reached the sender"


def _times(record: Record, flow: Flow, table: str) -> NDArray[np.float64]:
    """Stamps of a flow's rows in ms from the flow's start, ascending."""
    if not record.has(table):
        return np.zeros(0)
    stamps = np.sort(record.table(table, flow=flow.id)["t_ns"].astype(np.int64))
    return (stamps - flow.start_ns) / 1e6


def unprompted(record: Record, flow: Flow) -> int:
    """Retransmissions that no report of a hole prompted: loss probes, and what a timeout sent again.

    By the events: those outside of Recovery. 0 where they were not traced.
    """
    if not (record.has("tcp_retransmit_skb") and record.has("tcp_cong_state_set")):
        return 0
    again = record.table("tcp_retransmit_skb", flow=flow.id)
    sent_ns = again["t_ns"][again["state"] != SYN_SENT].astype(np.int64)
    # What enters Recovery sends at that very instant, afterwards.
    return int((state_at(record, flow, sent_ns, "right") != CA_RECOVERY).sum())


def _again(of: Callable[[NDArray[np.float64]], float | None]) -> Callable[[Record], Iterator[Found]]:
    def function(record: Record) -> Iterator[Found]:
        for flow in record.flows(*kinds.ONE_CONNECTION) if record.has("tcp_retransmit_skb") else ():
            value = of(_times(record, flow, "tcp_retransmit_skb"))
            yield Found(of_flow(flow), value, _NONE_SENT_AGAIN if value is None else None)

    return function


def _ack_gap(of: Callable[[NDArray[np.float64]], float]) -> Callable[[Record], Iterator[Found]]:
    def function(record: Record) -> Iterator[Found]:
        for flow in record.flows(*kinds.TCP_STREAMS) if record.has("tcp_probe") else ():
            gaps = np.diff(_times(record, flow, "tcp_probe"))
            yield Found(of_flow(flow), of(gaps)) if len(gaps) else Found(of_flow(flow), None, _NO_ACKS)

    return function


def _acks_per_segment(record: Record) -> Iterator[Found]:
    for flow in record.flows(*kinds.TCP_STREAMS) if record.has("tcp_probe") else ():
        rows = record.table("tcp_probe", flow=flow.id)
        segments = last(record, flow, "data_segs_in", side=1)
        yield ratio(of_flow(flow), len(rows), segments or 0, "no segment with payload arrived")


def _repairing(record: Record) -> Iterator[Found]:
    seen = record.has("tcp_cong_state_set") or record.has("tcp_info")
    for flow in record.flows(*kinds.TCP_STREAMS) if seen else ():
        t_ns, state = changes(record, flow)
        done = max(record.context.duration_ns, int(t_ns[-1]) if len(t_ns) else 0)
        held = np.diff(np.concatenate([t_ns, [done]]))
        yield Found(of_flow(flow), float(held[state >= CA_RECOVERY].sum()) / 1e6, sampled(record))


METRICS = [
    Metric(
        "retransmit_first_ms",
        "ms",
        "none",
        ("flow",),
        "When a flow first sent a segment again, from its start; probes for lost tails and the SYN count.",
        _again(lambda t_ms: float(t_ms[0]) if len(t_ms) else None),
    ),
    Metric(
        "retransmit_last_ms",
        "ms",
        "none",
        ("flow",),
        "When a flow last sent a segment again, from its start.",
        _again(lambda t_ms: float(t_ms[-1]) if len(t_ms) else None),
    ),
    Metric(
        "retransmit_gap_max_ms",
        "ms",
        "none",
        ("flow",),
        "The longest time between two segments sent again: of repeated timeouts the last back-off.",
        _again(lambda t_ms: float(np.diff(t_ms).max()) if len(t_ms) > 1 else None),
    ),
    Metric(
        "recovery_time_ms",
        "ms",
        "lower",
        ("flow",),
        "Time that a sender spent in the states Recovery and Loss.",
        _repairing,
    ),
    Metric(
        "ack_gap_p50_ms",
        "ms",
        "none",
        ("flow",),
        "The median time between two ACKs that reached the sender.",
        _ack_gap(median),
    ),
    Metric(
        "ack_gap_max_ms",
        "ms",
        "none",
        ("flow",),
        "The longest time between two ACKs that reached the sender: how long it heard nothing.",
        _ack_gap(lambda gaps: float(gaps.max())),
    ),
    Metric(
        "acks_per_segment",
        "1",
        "none",
        ("flow",),
        "ACKs that reached the sender over segments with payload that reached the receiver: 0.5 where "
        "every second one is acknowledged (RFC 9293, section 3.8.6.3).",
        _acks_per_segment,
    ),
]

"""What had arrived of datagrams, as others counted: stamps in ns [n], cumulative bytes [n]; their sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rushhour.record.context import Flow
    from rushhour.record.record import Record

Counted = tuple["NDArray[np.int64]", "NDArray[np.int64]"]
_ARRIVED = 1


def intervals(record: Record, flow: Flow) -> Counted:
    """What iperf3 reports of its intervals."""
    begin = flow.outcome.connected_ns
    if begin is None or flow.outcome.error is not None:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    told = record.iperf3(flow.id, "server").intervals
    ends = np.array([0.0, *(interval.end_s for interval in told)])
    counts = np.array([0, *(interval.bytes for interval in told)], np.int64)
    return begin + np.round(ends * 1e9).astype(np.int64), np.cumsum(counts)


def datagrams(record: Record, flow: Flow) -> Counted:
    """What was counted of datagrams that were found, from the first that left."""
    begin = flow.outcome.connected_ns
    if begin is None or not record.has("datagrams"):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    rows = record.table("datagrams", flow=flow.id)
    rows = rows[rows["side"] == _ARRIVED]
    t_ns = np.concatenate([[begin], rows["t_ns"].astype(np.int64)])
    return t_ns, np.concatenate([[0], rows["bytes"].astype(np.int64)])


def sizes(record: Record, flow: Flow, seq: NDArray[np.integer]) -> NDArray[np.int64]:
    """Payload bytes [n] of datagrams by their numbers [n]: the last of each burst may be shorter."""
    planned = record.plan.flow(flow.id)
    found = np.full(len(seq), flow.packet_bytes or 0, np.int64)
    if planned.last_bytes is not None and planned.burst:
        found[(seq.astype(np.int64) + 1) % planned.burst == 0] = planned.last_bytes
    return found

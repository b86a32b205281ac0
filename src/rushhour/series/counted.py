"""What had arrived of flows whose datagrams somebody else sent: stamps in ns [n], bytes [n], cumulative."""

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

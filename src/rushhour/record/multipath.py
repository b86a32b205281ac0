"""Connections of several paths (MPTCP), as the kernel tells of each of their two ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.record import decode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rushhour.record.record import Record


def mptcp_info(record: Record, flow: int, side: int = 0) -> tuple[NDArray[np.int64], decode.Rows]:
    """`struct mptcp_info` of a connection's sender (side 0) or receiver (1): stamps in ns [n], fields [n].

    Empty where the record has no such reading.
    """
    if not record.has("mptcp_info"):
        return np.zeros(0, np.int64), np.zeros(0, np.dtype([]))
    rows = record.table("mptcp_info", flow=flow)
    rows = rows[rows["side"] == side]
    return rows["t_ns"].astype(np.int64), decode.mptcp_info(rows["info"])

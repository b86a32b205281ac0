"""The handshake of a TCP flow: how long it took, and which of its SYNs were sent again."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rushhour.record.context import Flow
    from rushhour.record.record import Record

SYN_SENT = 2  # TCP_SYN_SENT of <net/tcp_states.h>
FIRST_S = 1.0
"""Initial retransmission timeout (RFC 6298, section 2; TCP_TIMEOUT_INIT)."""


def syn_retransmits(record: Record, flow: Flow) -> int:
    """How many SYNs a flow's sender sent again: by the traced events, else by what its first reading says.

    `tcpi_total_retrans` counts them among the data's.
    """
    if record.has("tcp_retransmit_skb"):
        return int((record.table("tcp_retransmit_skb", flow=flow.id)["state"] == SYN_SENT).sum())
    _, info = record.tcp_info(flow.id)
    waited = handshake_s(flow)
    if waited is None or not len(info) or "total_retrans" not in (info.dtype.names or ()):
        return 0
    # Each was waited for a timeout at least; what else that reading counts was sent since.
    return min(int(info["total_retrans"][0]), math.floor(waited / FIRST_S))


def handshake_s(flow: Flow) -> float | None:
    """Seconds from a flow's start to its connection; None where it never connected."""
    connected = flow.outcome.connected_ns
    return None if connected is None else max(0, connected - flow.start_ns) * 1e-9

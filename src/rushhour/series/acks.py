"""When a sender heard of its receiver: the ACKs that came, as far as a record has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rushhour.record.context import Flow
    from rushhour.record.record import Record

ESTABLISHED = 1  # TCP_ESTABLISHED of <net/tcp_states.h>


def heard_ns(record: Record, flow: Flow) -> NDArray[np.float64]:
    """Instants of a flow's ACKs in ns, ascending.

    The kernel traces them in the state ESTABLISHED only (tcp_probe, in tcp_rcv_established). Of a sender
    whose program has closed, or whose peer has, each reading tells when the last one came, to a tick of the
    kernel's clock.
    """
    t_ns, info = record.tcp_info(flow.id)
    known = [record.table("tcp_probe", flow=flow.id)["t_ns"].astype(np.float64)]
    if {"state", "last_ack_recv"} <= {*(info.dtype.names or ())}:
        untraced = info["state"] > ESTABLISHED
        heard = t_ns[untraced].astype(np.float64) - info["last_ack_recv"][untraced] * 1e6
        connected = flow.outcome.connected_ns or flow.start_ns
        known.append(heard[heard > connected])  # SYN_SENT (2) has heard nothing
    return np.unique(np.concatenate(known))

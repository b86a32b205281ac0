"""Series of connections of several paths; those of their subflows are TCP's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.record.multipath import mptcp_info
from rushhour.series.readings import delivered, empty, rate
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from rushhour.record.context import Flow
    from rushhour.record.record import Record
    from rushhour.series.readings import Samples


def goodput(record: Record, flow: Flow) -> Samples:
    """Payload rate at the receiver's application between samples, in bit/s."""
    return rate(*delivered(record, flow), record.sample_ns) if flow.kind in kinds.MPTCP_STREAMS else empty()


def subflows(record: Record, flow: Flow) -> Samples:
    """The subflows of a connection at each sample of its sender: the first, and those beside it."""
    t_ns, info = mptcp_info(record, flow.id)
    return (t_ns, info["subflows"].astype(np.float64) + 1) if len(t_ns) else empty()

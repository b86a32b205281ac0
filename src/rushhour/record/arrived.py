"""When the last data of a flow arrived whose receiver never came to an end, by samples of its socket.

A sender is done once the kernel has its data. What it handed over may be under way for long after that, and
where the path dies or the connection is reset no receiver ever says that all has arrived.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.traffic import kinds

if TYPE_CHECKING:
    from rushhour.record.context import Context, Flow
    from rushhour.record.record import Record

_MS = 1_000_000


def complete(record: Record, context: Context) -> Context:
    """The context, with `arrived_ns` of the flows whose sender was done before the experiment was."""
    if not (record.is_whole and record.has("tcp_info")):
        return context
    open_ones = [flow for flow in context.flows.values() if _is_open(flow, context.duration_ns)]
    if not open_ones:
        return context
    found = {flow.id: replace(flow, arrived_ns=_arrived_ns(record, flow)) for flow in open_ones}
    return replace(context, flows={**context.flows, **found})


def _is_open(flow: Flow, duration_ns: int) -> bool:
    outcome = flow.outcome
    done = outcome.sender_done_ns
    left = flow.kind in kinds.TCP_STREAMS and outcome.receiver_done_ns is None
    return left and bool(outcome.bytes_received) and done is not None and done < duration_ns


def _arrived_ns(record: Record, flow: Flow) -> int | None:
    """The instant of the last data that the receiver's last sample knows of (tcpi_last_data_recv, in ms)."""
    t_ns, info = record.tcp_info(flow.id, side=1)
    if not len(info):
        return None
    return int(t_ns[-1]) - int(info["last_data_recv"][-1]) * _MS

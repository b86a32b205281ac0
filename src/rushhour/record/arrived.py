"""When the last data of a flow arrived whose receiver never came to an end.

A sender is done once the kernel has its data. What it handed over may be under way for long after that, and
where the path dies or the connection is reset no receiver ever says that all has arrived; one of datagrams
never does. Stamps of datagrams tell it, and samples of the receiver's socket.
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
    open_ones = [flow for flow in context.flows.values() if _is_open(flow, context.duration_ns)]
    if not (open_ones and record.is_whole):
        return context
    found = {flow.id: replace(flow, arrived_ns=_arrived_ns(record, flow)) for flow in open_ones}
    return replace(context, flows={**context.flows, **found})


def _is_open(flow: Flow, duration_ns: int) -> bool:
    done = flow.outcome.sender_done_ns
    return bool(
        flow.kind in kinds.STREAMS
        and flow.outcome.bytes_received
        and flow.outcome.receiver_done_ns is None
        and done is not None
        and done < duration_ns
    )


def _arrived_ns(record: Record, flow: Flow) -> int | None:
    """By stamps of its datagrams, or by what the receiver's last sample knows (tcpi_last_data_recv, ms)."""
    if flow.kind in kinds.UDP_STREAMS:
        if not (flow.is_stamped and record.has("udp")):
            return None
        came = record.table("udp", flow=flow.id)["rx_ns"]
        return int(came.max()) if len(came) else None
    t_ns, info = record.tcp_info(flow.id, side=1)
    return int(t_ns[-1]) - int(info["last_data_recv"][-1]) * _MS if len(info) else None

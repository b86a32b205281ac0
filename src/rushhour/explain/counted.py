"""What a record counts of a flow and of its hosts, one number each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.tcp import last
from rushhour.record import decode

if TYPE_CHECKING:
    from rushhour.record.context import End, Flow, LinkClass
    from rushhour.record.decode import Rows
    from rushhour.record.record import Record

_CA_LOSS = 4  # TCP_CA_Loss of <linux/tcp.h>


def dropped(record: Record, host: str) -> float:
    """The share of what arrives at a host that its packet filter drops."""
    return next((node.drop_input for node in record.plan.nodes if node.name == host), 0.0)


def risen(record: Record, node: str, *counters: str) -> int:
    """By how much these counters of the stack rose at a node, together."""
    found = record.result.counters.get(node, {})
    return sum(found.get(counter, 0) for counter in counters)


def pressures(record: Record, host: str) -> int:
    """How often the memory of TCP ran short on the kernel of a host: several hosts may share one kernel."""
    real = record.manifest.lab == "hosts"
    hosts = [host] if real else [node.name for node in record.plan.nodes]
    return sum(risen(record, one, "TcpExt.TCPMemoryPressures") for one in hosts)


def algorithm(record: Record, flow: Flow) -> str:
    """The congestion control of its first reading."""
    rows = record.table("tcp_info", flow=flow.id)
    return bytes(rows["cc"][0]).decode(errors="replace") if len(rows) else ""


def median(record: Record, name: str, flow: Flow) -> float | None:
    """The median of a series in µs, in s."""
    values = record.series(name, flow=flow.id).values
    known = values[~np.isnan(values)]
    return float(np.median(known)) * 1e-6 if len(known) else None


def greatest(record: Record, name: str, flow: Flow) -> float | None:
    """The greatest value of a series."""
    values = record.series(name, flow=flow.id).values
    return float(np.nanmax(values)) if len(values) else None


def memory(record: Record, flow: Flow, side: int, name: str) -> float | None:
    """The most that a socket had of a kind of memory."""
    rows = record.socket(flow.id, side)
    return float(decode.skmem(rows["skmem"])[name].max()) if len(rows) else None


def struck(record: Record, flow: Flow, syns: int) -> int:
    """Timeouts after the handshake: by traced changes to Loss where the kernel counts none (before 6.7)."""
    counted = last(record, flow, "total_rto")
    if counted is not None or not record.has("tcp_cong_state_set"):
        return max(0, (counted or 0) - syns)
    begin = flow.outcome.connected_ns or 0
    return int(
        (_after(record.table("tcp_cong_state_set", flow=flow.id), begin)["cong_state"] == _CA_LOSS).sum()
    )


def _after(rows: Rows, t_ns: int) -> Rows:
    later: Rows = rows[rows["t_ns"] > t_ns]
    return later


def buffer(end: End | LinkClass, flow: Flow) -> float | None:
    """The limit of a queue in bytes."""
    if end.buffer_bytes is not None:
        return float(end.buffer_bytes)
    return None if end.buffer_packets is None else float(end.buffer_packets * (flow.frame_bytes or 1514))

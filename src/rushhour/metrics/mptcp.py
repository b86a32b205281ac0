"""Connections of several paths: what each subflow carried, what was sent again, how long nothing came."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.value import NO_READING, TOTAL, Found, Metric, Telling, of_flow, ratio
from rushhour.record.multipath import mptcp_info
from rushhour.series.readings import delivered
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.record.context import Flow
    from rushhour.record.record import Record


def subflows(record: Record, flow: Flow) -> list[Flow]:
    """The subflows of a connection, in the order of its paths."""
    return [one for one in record.flows(*kinds.SUBFLOWS) if record.asked(one).of == flow.id]


def arrived(record: Record, part: Flow) -> int | None:
    """Bytes of payload that came by a subflow; None where the kernel told nothing of it."""
    _, info = record.tcp_info(part.id, 1)
    known = len(info) and "bytes_received" in (info.dtype.names or ())
    return int(info["bytes_received"].max()) if known else None


def _share(record: Record) -> Iterator[Found]:
    for flow in record.flows(*kinds.MPTCP_STREAMS):
        parts = subflows(record, flow)
        came = {part.id: arrived(record, part) for part in parts}
        whole = sum(count or 0 for count in came.values())
        for part in parts:
            yield ratio(of_flow(part), came[part.id] or 0, whole, NO_READING)


def _used(record: Record) -> Iterator[Found]:
    # An acknowledged SYN and the end of the stream each count as a byte.
    for flow in record.flows(*kinds.MPTCP_STREAMS):
        came = [arrived(record, part) for part in subflows(record, flow)]
        none = all(count is None for count in came)
        yield Found(
            of_flow(flow),
            None if none else float(sum((count or 0) > 1 for count in came)),
            NO_READING if none else None,
        )


def _again(record: Record) -> Iterator[Found]:
    for flow in record.flows(*kinds.MPTCP_STREAMS):
        _, info = mptcp_info(record, flow.id, 0)
        if "bytes_retrans" not in (info.dtype.names or ()) or not len(info):
            yield Found(of_flow(flow), None, NO_READING)
            continue
        yield Found(of_flow(flow), float(info["bytes_retrans"].max()))


def _gap(record: Record) -> Iterator[Found]:
    longest = []
    for flow in record.flows(*kinds.MPTCP_STREAMS):
        t_ns, count = delivered(record, flow)
        _, info = mptcp_info(record, flow.id, 1)
        if len(t_ns) < 2 or "bytes_received" not in (info.dtype.names or ()):
            yield Found(of_flow(flow), None, flow.outcome.error or NO_READING)
            continue
        # A counter that goes back belongs to a socket that was being closed.
        comes = np.diff(np.maximum.accumulate(count), prepend=-1) > 0
        longest.append(float(np.diff(np.append(t_ns[comes], t_ns[-1])).max()) / 1e9)
        yield Found(of_flow(flow), longest[-1])
    if longest:
        yield Found(TOTAL, max(longest))


METRICS = [
    Metric(
        "subflow_share",
        "1",
        "none",
        ("flow",),
        "Share of an MPTCP connection's payload that came by this subflow: bytes_received of its receiver's "
        "tcp_info over the sum of all subflows'. What was sent again by another subflow counts in both.",
        _share,
        "0.05",
        "Share of the subflow",
        Telling("share of subflow", 64),
    ),
    Metric(
        "subflows_used",
        "1",
        "none",
        ("flow",),
        "Subflows of an MPTCP connection by which payload came, of its planned paths.",
        _used,
        None,
        "Subflows that carried data",
        Telling("subflows used", 63, counts=True),
    ),
    Metric(
        "mptcp_retransmitted_bytes",
        "B",
        "lower",
        ("flow",),
        "Payload that an MPTCP sender sent again on the level of the connection, mostly by another subflow "
        "than at first (mptcpi_bytes_retrans, Linux 6.5). What a subflow repeats itself is not in it.",
        _again,
        "10%",
        "Sent again by another subflow",
        Telling("sent again", 65, if_any=True),
    ),
    Metric(
        "silence_max_s",
        "s",
        "lower",
        ("flow", "total"),
        "The longest time in which nothing new reached the receiver of an MPTCP connection while it lived: "
        "how long a failover took. It is as exact as the interval of samples.",
        _gap,
        "10%",
        "Longest silence",
        Telling("longest silence", 62),
    ),
]

"""Sharing over time: how evenly flows share from one window of time to the next.

Takes a `Record`, gives stamps in ns [n] and values [n] of the run as a whole. `series` names them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.series import readings as read
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from rushhour.record.context import Flow
    from rushhour.record.record import Record
    from rushhour.series.readings import Samples

MOST_WINDOWS, LEAST_WINDOWS = 100, 10
"""Into how many windows an experiment is divided."""
PACKETS = 10
"""Packets that the slowest flow should have in a window: with fewer the index tells of single packets."""


def jain_index(shares: ArrayLike) -> float:
    """(Σx)² / (n Σx²) of n shares: 1 if all are equal, 1/n if one has all; nan if all are zero.

    Jain, Chiu, Hawe: A Quantitative Measure of Fairness, DEC TR-301, 1984.
    """
    values = np.asarray(shares, np.float64)
    squares = float(np.sum(values**2)) * len(values)
    return float(np.sum(values)) ** 2 / squares if squares else float("nan")


def jain_over_time(record: Record) -> Samples:
    """Jain's index of each window, stamped with the window's end.

    Over what reached the receivers of the payload flows (TCP and UDP alike) that were active in the whole
    window; nan where they were fewer than two or nothing arrived. Between two readings the bytes are taken
    to have come evenly. Empty with fewer than two flows, or where a flow's readings were switched off.
    """
    of_flows = list(moved(record).values())
    if not of_flows:
        return read.empty()
    return of_flows[0][0], np.array([_of_window(window) for window in np.array([m for _, m in of_flows]).T])


def sharing(record: Record) -> list[Flow]:
    """The payload flows that can take from each other: requests of programs are too brief for that."""
    return [flow for flow in record.flows(*kinds.STREAMS) if not flow.is_brief]


def moved(record: Record) -> dict[str, Samples]:
    """By flow the bytes that arrived in each window, stamped with its end; nan where it was not active.

    Of payload flows (TCP and UDP alike). Nothing with fewer than two, or where readings were switched off.
    """
    flows = sharing(record)
    if len(flows) < 2 or not all(_was_read(record, flow) for flow in flows):
        return {}
    edges = _edges(record, flows)
    return {flow.name: (edges[1:], _moved(record, flow, edges)) for flow in flows}


def _of_window(moved: NDArray[np.float64]) -> float:
    active = moved[~np.isnan(moved)]
    return jain_index(active) if len(active) > 1 else float("nan")


def _was_read(record: Record, flow: Flow) -> bool:
    if flow.kind in kinds.UDP_STREAMS:
        return not flow.is_stamped or record.has("udp")
    return record.has("tcp_info")


def _moved(record: Record, flow: Flow, edges: NDArray[np.int64]) -> NDArray[np.float64]:
    """Bytes that arrived in each window; nan where the flow was not active in all of it."""
    span = _active(record, flow)
    if span is None:
        return np.full(len(edges) - 1, np.nan)
    t_ns, count = read.delivered(record, flow)
    bytes_so_far = np.interp(edges, t_ns, count) if len(t_ns) else np.zeros(len(edges))
    whole = (edges[:-1] >= span[0]) & (edges[1:] <= span[1])
    return np.where(whole, np.diff(bytes_so_far), np.nan)


def _active(record: Record, flow: Flow) -> tuple[int, int] | None:
    """From the connection to when the flow stopped sending, in ns; None if it never did send."""
    if flow.active_ns is None:
        return None
    begin, done = flow.active_ns
    stops = [done, record.context.duration_ns, *([] if flow.stop_ns is None else [flow.stop_ns])]
    return (begin, min(stops)) if min(stops) > begin else None


def _edges(record: Record, flows: Sequence[Flow]) -> NDArray[np.int64]:
    """Where windows begin and end: as short as may be, whole sampling intervals, from 0 on.

    A hundredth of the experiment, or as long as the slowest flow needs for `PACKETS`, up to a tenth.
    """
    duration, sample = record.context.duration_ns, record.sample_ns
    needed = [_packets_ns(record, flow) for flow in flows]
    width = min(max(duration // MOST_WINDOWS, *needed), duration // LEAST_WINDOWS)
    width = max(1, -(-width // sample)) * sample
    return np.arange(0, duration + 1, width, dtype=np.int64)


def _packets_ns(record: Record, flow: Flow) -> int:
    """How long the flow takes for `PACKETS` at its mean rate, in ns; 0 if nothing arrived."""
    span, (_, count) = _active(record, flow), read.delivered(record, flow)
    packet = flow.payload_per_packet or flow.packet_bytes or 0
    if span is None or not len(count) or not count[-1]:
        return 0
    return int((span[1] - span[0]) * PACKETS * packet / int(count[-1]))

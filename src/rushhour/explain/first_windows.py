"""The first windows of a connection: what its sender may send, what its receiver offers, and who says so.

Routes can say both (`ip route … initcwnd`, `initrwnd`); whether that binds, the flow shows. Windows grow from
there, so a short transfer is over before they hold what the path does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rushhour.causes.thresholds import GROWN, GROWN_TRIPS
from rushhour.metrics.growth import initial_window
from rushhour.metrics.sockets import first_window

if TYPE_CHECKING:
    from rushhour.explain.evidence import RecordedFlow
    from rushhour.record.context import Flow
    from rushhour.record.record import Record
    from rushhour.series.series import Series


@dataclass(frozen=True)
class FirstWindows:
    """Of one flow; None: not known, of a route: it says nothing.

    Attributes:
        initcwnd: Segments that the sender's route says; `sent` how many were in flight at the first ACK.
        initrwnd: Segments that the receiver's route says; `offered` the bytes that the sender knew then.
        growing: Part of the time in which the receiver's window was full before it had grown to what the path
            holds, or near its greatest.
    """

    initcwnd: int | None = None
    sent: float | None = None
    initrwnd: int | None = None
    offered: float | None = None
    growing: float = 0.0


def first_windows(record: Record, flow: Flow, made: RecordedFlow) -> FirstWindows:
    """The first windows of a flow, of which all else is known."""
    routes = record.plan.routes
    initcwnd = next((one.initcwnd for one in routes if one.node == made.sender and one.initcwnd), None)
    initrwnd = next((one.initrwnd for one in routes if one.node == made.receiver and one.initrwnd), None)
    sent, offered = initial_window(record, flow), first_window(record, flow)
    return FirstWindows(initcwnd, sent, initrwnd, offered, _growing(record, flow, made))


def _growing(record: Record, flow: Flow, made: RecordedFlow) -> float:
    """Part of the time of the limit `receiver` that lies before the window had grown.

    A buffer that the kernel tunes grows at most once in a round trip: one that was near its greatest for less
    than some might have grown on.
    """
    found, series = made.timeline, record.series("snd_wnd", flow=flow.id)
    if found is None or not len(series.values) or not found.held_s["receiver"].sum():
        return 0.0
    tuned = made.setting(made.receiver, "net.ipv4.tcp_moderate_rcvbuf") != "0" and "rcvbuf" not in made.asked
    settled_s = GROWN_TRIPS * (made.base_rtt_s or 0.0) if tuned else 0.0
    most = GROWN * float(np.nanmax(series.values))
    since_s = min(_reached_s(series, most) + settled_s, _reached_s(series, made.bdp or np.inf))
    held, until = found.held_s["receiver"], np.searchsorted(found.edges_s[1:], since_s, side="right")
    return float(held[:until].sum() / held.sum())


def _reached_s(series: Series, least: float) -> float:
    """When a window was first so large, in s; infinite: never."""
    there = np.flatnonzero(series.values >= least)
    return float(series.t_s[there[0]]) if len(there) else np.inf

"""What a record says of a TCP measurement: one flow, or several at once.

The path's rate is not known on a real path. It is taken to be full when as much arrives as ever did, in any
of the measurements of that direction: `most_bps`.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from rushhour.causes.thresholds import FULL
from rushhour.diagnosis import echoes
from rushhour.diagnosis.measured import Tcp
from rushhour.metrics.tcp import last, retransmitted
from rushhour.record import decode
from rushhour.series.readings import delivered
from rushhour.series.timeline import LIMITS, timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rushhour.record.context import Flow
    from rushhour.record.record import Record

    Numbers = NDArray[np.float64]

STRETCH_S = 0.2
TRIPS = 4
"""The peak is taken over so long, or so many round trips: a burst out of a buffer is shorter."""
STALLED = 3
"""Segments below which a connected flow counts as stalled: what a black hole lets through."""
WINDOW_FULL = 0.9


def tcp(record: Record, end: str, most_bps: float, idle_rtt_ns: int | None) -> Tcp:
    """The TCP flows from an end (`a` or `b`) in a record; `most_bps` is what the path carried at best."""
    flows = flows_from(record, end)
    span = record.context.duration_ns * 1e-9
    errors = [flow.outcome.error for flow in flows if flow.outcome.error]
    began = [flow for flow in flows if flow.outcome.connected_ns is not None]
    if not began:
        return Tcp(len(flows), span, error=errors[0] if errors else "no connection was made")
    got = sum(flow.outcome.bytes_received or 0 for flow in began)
    # A sender that was kept waiting stops late: what arrived then had more time.
    stopped = max(flow.outcome.sender_done_ns or 0 for flow in began) * 1e-9
    segments = sum(last(record, flow, "data_segs_out") or 0 for flow in began)
    counted = _counted(record, began)
    trips = _trips(record, began)
    mss = last(record, began[0], "snd_mss")
    return Tcp(
        flows=len(flows),
        seconds=span,
        goodput_bps=8 * got / max(span, stopped),
        steady_bps=_between(record, began, 0.5, 1.0),
        peak_bps=_peak(record, began, idle_rtt_ns),
        kernel=_mean([_kernel(record, flow) for flow in began]),
        shares=_mean([_shares(record, flow, began, most_bps, idle_rtt_ns) for flow in began]),
        segments=segments,
        rtt_ns=trips,
        rtt_at_loss_ns=_at_loss(record, began),
        loaded_rtt_ns=_echo(record, end, 50),
        loaded_p95_ns=_echo(record, end, 95),
        ping_loss=echoes.lost(record, f"ping-{end}"),
        line_bps=_percentile(record, began, "delivery_rate", 90, 8.0),
        pacing_bps=_percentile(record, began, "pacing_rate", 50, 8.0),
        mss=mss,
        pmtu=last(record, began[0], "pmtu"),
        options=last(record, began[0], "options"),
        cc=_algorithm(record, began[0]),
        connect_ns=_connect(began),
        stalled=mss is not None and got < STALLED * len(began) * mss,
        error=errors[0] if errors else None,
        window_full=_window_full(record, began),
        **_windows(record, began),
        **counted,
    )


def flows_from(record: Record, end: str) -> list[Flow]:
    """The TCP flows that an end sends."""
    return [flow for flow in record.flows("tcp") if flow.name.split(".")[0] == f"tcp-{end}"]


def capacity_of(record: Record, end: str) -> float:
    """The most that TCP got through in a record over a stretch that lasted, in bit/s."""
    flows = [flow for flow in flows_from(record, end) if flow.outcome.connected_ns is not None]
    return max(_between(record, flows, 0.5, 1.0), _peak(record, flows, None)) if flows else 0.0


def _arrived(record: Record, flows: Sequence[Flow]) -> Callable[[Numbers], Numbers]:
    """Bytes that all flows together had got through at instants in s."""
    curves = [_delivered(record, flow) for flow in flows]

    def at(t_s: Numbers) -> Numbers:
        total = np.zeros(len(t_s))
        for t_ns, count in curves:
            if len(t_ns):
                total += np.interp(t_s, t_ns * 1e-9, count)
        return total

    return at


def _delivered(record: Record, flow: Flow) -> tuple[NDArray[np.int64], Numbers]:
    """Bytes that the sender knew to have arrived, in any order: stamps in ns [n], bytes [n].

    What the receiver could read jumps when a gap is filled, and would make a rate that no line has.
    """
    t_ns, info = record.tcp_info(flow.id)
    if not len(info) or "delivered" not in (info.dtype.names or ()):
        t_ns, count = delivered(record, flow)
        return t_ns, count.astype(np.float64)
    begin = flow.outcome.connected_ns or 0
    later = t_ns > begin
    count = info["delivered"][later].astype(np.float64) * info["snd_mss"][later]
    return np.concatenate([[begin], t_ns[later]]), np.concatenate([[0.0], count])


def _between(record: Record, flows: Sequence[Flow], first: float, last_part: float) -> float:
    span = record.context.duration_ns * 1e-9
    edges = np.array([first * span, last_part * span])
    return float(8 * np.diff(_arrived(record, flows)(edges))[0] / (edges[1] - edges[0]))


def _peak(record: Record, flows: Sequence[Flow], idle_rtt_ns: int | None) -> float:
    """The best stretch of `STRETCH_S` or `TRIPS` round trips."""
    span = record.context.duration_ns * 1e-9
    stretch = max(STRETCH_S, TRIPS * (idle_rtt_ns or 0) * 1e-9)
    if stretch >= span:
        return 0.0
    begins = np.linspace(0, span - stretch, 200)
    at = _arrived(record, flows)
    return float(8 * (at(begins + stretch) - at(begins)).max() / stretch)


def _full(
    record: Record, flows: Sequence[Flow], most_bps: float, rtt_s: float
) -> Callable[[Numbers], NDArray[np.bool_]]:
    """Whether all flows together got as much through around an interval as the path ever carried."""
    at = _arrived(record, flows)
    span = record.context.duration_ns * 1e-9

    def full(edges: Numbers) -> NDArray[np.bool_]:
        # A sender comes in bursts, one a round trip.
        half = np.maximum(np.diff(edges), max(rtt_s, 0.05)) / 2
        middle = (edges[1:] + edges[:-1]) / 2
        begin, done = np.maximum(middle - half, 0), np.minimum(middle + half, span)
        rate = 8 * (at(done) - at(begin)) / np.maximum(done - begin, 1e-9)
        enough: NDArray[np.bool_] = rate >= FULL * most_bps
        return enough

    return full


def _shares(
    record: Record, flow: Flow, flows: Sequence[Flow], most_bps: float, idle_rtt_ns: int | None
) -> dict[str, float]:
    seen = _full(record, flows, most_bps, (idle_rtt_ns or 0) * 1e-9) if most_bps else None
    found = timeline(record, flow, seen)
    return {} if found is None else dict(found.shares)


def _kernel(record: Record, flow: Flow) -> dict[str, float]:
    """The kernel's chronometer (tcp_chrono_*, net/ipv4/tcp_output.c) over the time since the connection."""
    t_ns, _ = record.tcp_info(flow.id)
    names = ("busy_time", "rwnd_limited", "sndbuf_limited")
    busy, rwnd, sndbuf = (last(record, flow, name) for name in names)
    if busy is None or rwnd is None or sndbuf is None or not len(t_ns):
        return {}
    whole = max(1.0, (float(t_ns[-1]) - (flow.outcome.connected_ns or 0)) * 1e-3, float(busy))
    parts = {"busy": busy, "rwnd": rwnd, "sndbuf": sndbuf, "cwnd": busy - rwnd - sndbuf, "idle": whole - busy}
    return {name: max(0.0, value / whole) for name, value in parts.items()}


def _mean(parts: Sequence[dict[str, float]]) -> dict[str, float]:
    known = [part for part in parts if part]
    names = [*LIMITS, "busy", "rwnd", "cwnd", "idle"]
    if not known:
        return {}
    mean = {name: fmean(part.get(name, 0.0) for part in known) for name in names}
    return {name: value for name, value in mean.items() if value > 0}


def _counted(record: Record, flows: Sequence[Flow]) -> dict[str, int]:
    def total(field: str) -> int:
        return sum(last(record, flow, field) or 0 for flow in flows)

    return {
        "retransmits": sum(retransmitted(record, flow) or 0 for flow in flows),
        "timeouts": total("total_rto"),
        "duplicates": total("dsack_dups"),
        "reorder_events": total("reord_seen"),
        "reordering": max((last(record, flow, "reordering") or 3 for flow in flows), default=3),
        "marked": total("delivered_ce"),
    }


def _trips(record: Record, flows: Sequence[Flow]) -> tuple[int, int, int] | None:
    values = np.concatenate([record.series("rtt_us", flow=flow.id).values for flow in flows])
    values = values[~np.isnan(values)]
    if not len(values):
        return None
    least = [last(record, flow, "min_rtt") for flow in flows]
    middle, far = np.percentile(values, [50, 95])
    known = [value for value in least if value and value < 2**32 - 1]
    return int(min(known, default=values.min()) * 1e3), int(middle * 1e3), int(far * 1e3)


def _at_loss(record: Record, flows: Sequence[Flow]) -> int | None:
    """Median smoothed RTT of the samples by which segments had been sent again."""
    found: list[float] = []
    for flow in flows:
        _, info = record.tcp_info(flow.id)
        if len(info) > 1:
            again = np.diff(info["total_retrans"].astype(np.int64)) > 0
            found += [float(value) for value in info["rtt"][1:][again] if value]
    return int(np.median(found) * 1e3) if found else None


def _echo(record: Record, end: str, rank: int) -> int | None:
    trips = echoes.round_trips(record, f"ping-{end}")
    known = trips[~np.isnan(trips)] if trips is not None else np.zeros(0)
    # The first quarter is before the flow has filled anything.
    known = known[len(known) // 4 :]
    return int(np.percentile(known, rank)) if len(known) else None


def _percentile(record: Record, flows: Sequence[Flow], field: str, rank: int, factor: float) -> float | None:
    total = 0.0
    for flow in flows:
        _, info = record.tcp_info(flow.id)
        if not len(info) or field not in (info.dtype.names or ()):
            return None
        values = info[field].astype(np.float64)
        known = values[(values > 0) & (values < 2.0**60)]
        total += float(np.percentile(known, rank)) * factor if len(known) else 0.0
    return total or None


def _windows(record: Record, flows: Sequence[Flow]) -> dict[str, Any]:
    """Windows, data in flight and buffers: the greatest of any flow."""
    made: dict[str, list[float]] = {}

    def put(name: str, value: float) -> None:
        made.setdefault(name, []).append(value)

    for flow in flows:
        _, info = record.tcp_info(flow.id)
        if len(info) and "unacked" in (info.dtype.names or ()):
            put("inflight", float(_flight(info).max()))
            put("cwnd", float((info["snd_cwnd"].astype(np.float64) * info["snd_mss"]).max()))
            put("window", float(info["snd_wnd"].max()) if "snd_wnd" in (info.dtype.names or ()) else 0)
        for side, name in ((0, "sndbuf"), (1, "rcvbuf")):
            rows = _sockets(record, flow, side)
            if rows is not None:
                put(name, float(decode.skmem(rows["skmem"])[name].max()))
                put("unread" if side else "unsent", float(rows["rqueue" if side else "wqueue"].max()))
    names = ("inflight", "cwnd", "window", "sndbuf", "rcvbuf", "unread")
    return {name: int(max(made.get(name, ()), default=0)) or None for name in names}


def _window_full(record: Record, flows: Sequence[Flow]) -> float | None:
    """Share of the samples in which what was in flight filled the peer's window."""
    full: list[float] = []
    for flow in flows:
        _, info = record.tcp_info(flow.id)
        if len(info) and "snd_wnd" in (info.dtype.names or ()) and info["snd_wnd"].any():
            full.append(float((_flight(info) >= WINDOW_FULL * info["snd_wnd"]).mean()))
    return fmean(full) if full else None


def _flight(info: decode.Rows) -> Numbers:
    flight: Numbers = info["unacked"].astype(np.float64) * info["snd_mss"]
    return flight


def _algorithm(record: Record, flow: Flow) -> str:
    rows = _sockets(record, flow, 0)
    return "" if rows is None else bytes(rows["cc"][0]).decode(errors="replace")


def _sockets(record: Record, flow: Flow, side: int) -> decode.Rows | None:
    """The readings of the sender's (0) or the receiver's (1) socket; None where there are none."""
    if not record.has("tcp_info"):
        return None
    rows = record.socket(flow.id, side)
    return rows if len(rows) else None


def _connect(flows: Sequence[Flow]) -> int | None:
    known = [
        flow.outcome.connected_ns - flow.start_ns for flow in flows if flow.outcome.connected_ns is not None
    ]
    return int(np.median(known)) if known else None

"""What the two sockets of a flow hold: timers, buffers, windows, rates; as `tcp_info` tells them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.value import NO_READING, Found, Metric, median, of_flow, ratio
from rushhour.record import brought
from rushhour.record.decode import bbr_bandwidth_bps, cc_info, dctcp_alpha, skmem
from rushhour.series.readings import NO_PACING, is_one_of
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from rushhour.record.context import Flow
    from rushhour.record.decode import Rows
    from rushhour.record.record import Record

_KINDS = kinds.ONE_CONNECTION


def _info(record: Record, flow: Flow, field: str, side: int) -> NDArray[np.float64]:
    """A field of `tcp_info` at each sample at which the socket had measured its RTT."""
    _, info = record.tcp_info(flow.id, side)
    names = info.dtype.names or ()
    if field not in names or "rtt" not in names:
        return np.zeros(0)
    measured = info["rtt"] > 0 if side == 0 else np.ones(len(info), bool)
    return info[field][measured].astype(np.float64)


def _of(
    field: str, statistic: Callable[[NDArray[np.float64]], float], side: int = 0
) -> Callable[[Record], Iterator[Found]]:
    def function(record: Record) -> Iterator[Found]:
        for flow in record.flows(*_KINDS):
            values = _info(record, flow, field, side)
            none = not len(values)
            yield Found(
                of_flow(flow), None if none else float(statistic(values)), NO_READING if none else None
            )

    return function


def _memory(field: str, side: int) -> Callable[[Record], Iterator[Found]]:
    def function(record: Record) -> Iterator[Found]:
        for flow in record.flows(*_KINDS) if record.has("tcp_info") else ():
            rows = record.socket(flow.id, side)
            known = skmem(rows["skmem"]) if len(rows) else None
            value = None if known is None else float(known[field].max())
            yield Found(of_flow(flow), value, NO_READING if value is None else None)

    return function


def _known_window(record: Record, flow: Flow) -> NDArray[np.float64]:
    """The receive window that the sender knew at each ACK, or without ACKs at each sample."""
    rows = record.table("tcp_probe", flow=flow.id)["snd_wnd"] if record.has("tcp_probe") else np.zeros(0)
    return rows.astype(np.float64) if len(rows) else _info(record, flow, "snd_wnd", 0)


def first_window(record: Record, flow: Flow) -> float | None:
    """The receive window that a flow's sender knew as the first ACK of data came; None: not known."""
    values = _known_window(record, flow)
    return _first(values) if len(values) else None


def _window(of: Callable[[NDArray[np.float64]], float]) -> Callable[[Record], Iterator[Found]]:
    def function(record: Record) -> Iterator[Found]:
        for flow in record.flows(*_KINDS):
            values = _known_window(record, flow)
            yield Found(of_flow(flow), of(values)) if len(values) else Found(of_flow(flow), None, NO_READING)

    return function


def _segment_bytes(record: Record) -> Iterator[Found]:
    for flow in record.flows(*kinds.TCP_STREAMS):
        _, info = record.tcp_info(flow.id)
        if not len(info) or "bytes_sent" not in (info.dtype.names or ()):
            yield Found(of_flow(flow), None, NO_READING)
            continue
        sent, segments = info["bytes_sent"][-1], info["data_segs_out"][-1]
        yield ratio(of_flow(flow), float(sent), float(segments), "no segment was sent")


def _pure_acks(record: Record) -> Iterator[Found]:
    """A segment without payload is a pure ACK, but for those of the handshake and of the end."""
    for flow in record.flows(*_KINDS):
        ends = [info[-1] for _, info in (record.tcp_info(flow.id, side) for side in (0, 1)) if len(info)]
        if len(ends) < 2 or "data_segs_out" not in (ends[0].dtype.names or ()):
            yield Found(of_flow(flow), None, NO_READING)
            continue
        full = sum(float(info["data_segs_out"]) for info in ends)
        sent = sum(float(info["segs_out"]) for info in ends)
        yield ratio(of_flow(flow), sent - full, full, "no segment was sent")


def _segments_per_packet(record: Record) -> Iterator[Found]:
    for flow in record.flows(*kinds.TCP_STREAMS) if record.has("interface") else ():
        t_ns, info = record.tcp_info(flow.id)
        rows = record.table("interface", end=flow.ends[0]) if flow.ends else None
        if rows is None or not len(rows) or "data_segs_out" not in (info.dtype.names or ()):
            yield Found(of_flow(flow), None, NO_READING)
            continue
        # The readings of devices and of sockets are taken together.
        left = rows["tx_packets"][rows["t_ns"] <= t_ns[-1]] if len(t_ns) else []
        packets = float(left[-1]) - float(left[0]) if len(left) else 0.0
        sent = float(info["data_segs_out"][-1]) if len(info) else 0.0
        yield ratio(of_flow(flow), sent, packets, "no packet left")


def pacing_ratios(record: Record, flow: Flow) -> NDArray[np.float64]:
    """The pacing rate over window · segment / smoothed RTT at each sample that has one."""
    return record.curve(_pacing_ratios, flow)[0]


def _pacing_ratios(record: Record, flow: Flow) -> tuple[NDArray[np.float64]]:
    _, info = record.tcp_info(flow.id)
    if not len(info) or "pacing_rate" not in (info.dtype.names or ()):
        return (np.zeros(0),)
    known = (info["rtt"] > 0) & (info["snd_mss"] > 0) & (info["snd_cwnd"] > 0)
    known &= ~is_one_of(info["pacing_rate"], NO_PACING)
    # Column by column: rows of this many fields are copied ten times slower.
    names = ("pacing_rate", "snd_cwnd", "unacked", "snd_mss", "rtt")
    pacing, cwnd, unacked, mss, rtt = (info[name][known] for name in names)
    window = np.maximum(cwnd, unacked).astype(np.float64)
    ratios: NDArray[np.float64] = pacing / (window * mss / (rtt / 1e6))
    return (ratios,)


def _pacing(of: Callable[[NDArray[np.float64]], float]) -> Callable[[Record], Iterator[Found]]:
    def function(record: Record) -> Iterator[Found]:
        for flow in record.flows(*kinds.TCP_STREAMS):
            values = pacing_ratios(record, flow)
            yield Found(of_flow(flow), of(values)) if len(values) else Found(of_flow(flow), None, NO_READING)

    return function


def _algorithm(record: Record, flow: Flow, name: bytes) -> Rows | None:
    rows = record.socket(flow.id, 0) if record.has("tcp_info") else None
    if rows is None:
        return None
    told = rows["ccinfo"][brought.tells_as(record, rows["cc"], name)]
    return cc_info(told, name) if len(told) else None


def _told(
    name: bytes,
    of: Callable[[Rows], NDArray[np.float64]],
    how: Callable[[NDArray[np.float64]], float],
) -> Callable[[Record], Iterator[Found]]:
    """A metric's function: a statistic of what an algorithm tells, for flows that have it."""

    def function(record: Record) -> Iterator[Found]:
        for flow in record.flows(*kinds.TCP_STREAMS):
            told = _algorithm(record, flow, name)
            values = np.zeros(0) if told is None else of(told)
            values = values[values > 0] if name == b"bbr" else values
            if len(values):
                yield Found(of_flow(flow), float(how(values)))

    return function


def _greatest(values: NDArray[np.float64]) -> float:
    return float(values.max())


def _least(values: NDArray[np.float64]) -> float:
    return float(values.min())


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean())


def _first(values: NDArray[np.float64]) -> float:
    return float(values[0])


def _final(values: NDArray[np.float64]) -> float:
    return float(values[-1])


def _gain(field: str) -> Callable[[Rows], NDArray[np.float64]]:
    # BBR_UNIT of tcp_bbr.c: gains are kept in 1/256.
    return lambda told: told[field].astype(np.float64) / 256


def _metric(name: str, unit: str, definition: str, function: Callable[[Record], Iterator[Found]]) -> Metric:
    return Metric(name, unit, "none", ("flow",), definition, function)


_RTO = "of the retransmission timeout (tcpi_rto) at the samples after the first measured RTT (RFC 6298)"
_RATIO = "of pacing rate / (window · segment size / smoothed RTT) at the samples: 2 in slow start \
(tcp_pacing_ss_ratio), 1.2 in congestion avoidance (tcp_pacing_ca_ratio); BBR has its own"

METRICS = [
    _metric("rto_min_us", "µs", f"The least {_RTO}.", _of("rto", _least)),
    _metric("rto_p50_us", "µs", f"The median {_RTO}.", _of("rto", median)),
    _metric("rto_max_us", "µs", f"The greatest {_RTO}, back-off included.", _of("rto", _greatest)),
    _metric(
        "rttvar_mean_us", "µs", "The mean of tcpi_rttvar over the samples (RFC 6298).", _of("rttvar", _mean)
    ),
    _metric(
        "ack_timeout_max_us",
        "µs",
        "The greatest tcpi_ato of the receiver: for how long it would hold back an ACK.",
        _of("ato", _greatest, side=1),
    ),
    _metric(
        "receiver_rtt_us",
        "µs",
        "The RTT as the receiver estimated it for its window (tcpi_rcv_rtt at its last sample).",
        _of("rcv_rtt", _final, side=1),
    ),
    _metric(
        "mss_bytes",
        "B",
        "Payload of a full segment (tcpi_snd_mss at the sender's last sample).",
        _of("snd_mss", _final),
    ),
    _metric(
        "segment_mean_bytes",
        "B",
        "Payload over segments with payload sent, retransmissions included: tcpi_bytes_sent / "
        "tcpi_data_segs_out.",
        _segment_bytes,
    ),
    _metric(
        "pure_acks_per_segment",
        "1",
        "Segments without payload over segments with payload, of both ends together at their last samples "
        "((tcpi_segs_out - tcpi_data_segs_out) / tcpi_data_segs_out): ACKs that go on their own instead of "
        "with data.",
        _pure_acks,
    ),
    _metric(
        "segments_per_packet",
        "1",
        "Segments with payload that a flow sent over packets that left its sender's first end (of one flow "
        "alone there): what segmentation offload hands over as one.",
        _segments_per_packet,
    ),
    _metric(
        "rwnd_first_bytes",
        "B",
        "The receive window that the sender knew as the first ACK of data came.",
        _window(_first),
    ),
    _metric(
        "rwnd_min_bytes", "B", "The least receive window that the sender knew at an ACK.", _window(_least)
    ),
    _metric(
        "rwnd_max_bytes",
        "B",
        "The greatest receive window that the sender knew at an ACK.",
        _window(_greatest),
    ),
    _metric(
        "rwnd_told_max_bytes",
        "B",
        "The greatest receive window that the receiver's own socket says it offers (tcpi_rcv_wnd, which "
        "`ss -i` shows; Linux 6.2).",
        _of("rcv_wnd", _greatest, side=1),
    ),
    _metric(
        "sndbuf_max_bytes",
        "B",
        "The greatest send buffer of the sender (SK_MEMINFO_SNDBUF) at any sample, auto-tuned or asked.",
        _memory("sndbuf", 0),
    ),
    _metric(
        "rcvbuf_max_bytes",
        "B",
        "The greatest receive buffer of the receiver (SK_MEMINFO_RCVBUF) at any sample.",
        _memory("rcvbuf", 1),
    ),
    _metric("pacing_ratio_min", "1", f"The least {_RATIO}.", _pacing(_least)),
    _metric("pacing_ratio_p50", "1", f"The median {_RATIO}.", _pacing(median)),
    _metric("pacing_ratio_max", "1", f"The greatest {_RATIO}.", _pacing(_greatest)),
    _metric(
        "delivery_rate_p50_bps",
        "bit/s",
        "The median of the kernel's delivery-rate samples (tcpi_delivery_rate).",
        _of("delivery_rate", lambda values: 8 * median(values)),
    ),
    _metric(
        "bbr_pacing_gain_max",
        "1",
        "BBR's greatest pacing gain at any sample: 2/ln 2 = 2.89 in STARTUP.",
        _told(b"bbr", _gain("bbr_pacing_gain"), _greatest),
    ),
    _metric(
        "bbr_pacing_gain_min",
        "1",
        "BBR's least pacing gain at any sample: ln 2/2 = 0.35 in DRAIN, 0.75 in PROBE_BW.",
        _told(b"bbr", _gain("bbr_pacing_gain"), _least),
    ),
    _metric(
        "bbr_pacing_gain_mean",
        "1",
        "The mean of BBR's pacing gain over the samples.",
        _told(b"bbr", _gain("bbr_pacing_gain"), _mean),
    ),
    _metric(
        "bbr_cwnd_gain_mean",
        "1",
        "The mean of BBR's window gain over the samples: 2.89 in STARTUP and DRAIN, 2 in PROBE_BW, 1 in "
        "PROBE_RTT.",
        _told(b"bbr", _gain("bbr_cwnd_gain"), _mean),
    ),
    _metric(
        "bbr_bandwidth_p50_bps",
        "bit/s",
        "The median of BBR's estimate of the bottleneck's bandwidth.",
        _told(b"bbr", bbr_bandwidth_bps, median),
    ),
    _metric(
        "bbr_min_rtt_max_us",
        "µs",
        "The greatest of BBR's estimates of the least RTT.",
        _told(b"bbr", lambda told: told["bbr_min_rtt"].astype(np.float64), _greatest),
    ),
    _metric(
        "dctcp_alpha_mean",
        "1",
        "The mean over the samples of DCTCP's estimate of the fraction marked (RFC 8257).",
        _told(b"dctcp", dctcp_alpha, _mean),
    ),
    _metric(
        "dctcp_alpha_last",
        "1",
        "DCTCP's estimate of the fraction marked at the last sample.",
        _told(b"dctcp", dctcp_alpha, _final),
    ),
]

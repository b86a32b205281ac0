"""How a congestion window grows and shrinks: the initial window, slow start, avoidance, the first reduction.

Takes the ACKs that reached a sender (`tcp_probe`: the state before each was handled) and the changes of its
congestion state, gives what RFC 5681 and the algorithms' own papers prescribe, as numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from rushhour.metrics.value import SAMPLED, Found, Metric, of_flow
from rushhour.record import courses
from rushhour.record.decode import unwrap32
from rushhour.series.readings import NO_SSTHRESH
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from rushhour.record.context import Flow
    from rushhour.record.record import Record

_NO_ACK = "no ACK of data reached the sender, or ACKs were not recorded"
_EVENT = "tcp_cong_state_set"
_OPEN, _CWR = 0, 2  # TCP_CA_Open and TCP_CA_CWR of <linux/tcp.h>
_ROUND_TRIPS = 2  # in less than so many there is no growth per round trip


class Acks(NamedTuple):
    """What a sender knew as each ACK came, [n] each: stamps in ns, the window, its threshold, and so on."""

    t_ns: NDArray[np.int64]
    cwnd: NDArray[np.float64]
    ssthresh: NDArray[np.float64]
    una: NDArray[np.int64]
    inflight: NDArray[np.float64]
    srtt_ns: NDArray[np.float64]
    state: NDArray[np.int64]
    mss: float


def acks(record: Record, flow: Flow) -> Acks | None:
    """The ACKs of data that reached a flow's sender; None where there were none."""
    mss = segment(record, flow)
    rows = record.table("tcp_probe", flow=flow.id) if record.has("tcp_probe") else None
    if rows is None or not len(rows) or not mss:
        return None
    t_ns = rows["t_ns"].astype(np.int64)
    una = unwrap32(rows["snd_una"])
    out = rows["snd_nxt"].astype(np.uint32) - rows["snd_una"].astype(np.uint32)
    return Acks(
        t_ns,
        rows["snd_cwnd"].astype(np.float64),
        rows["ssthresh"].astype(np.float64),
        una,
        out.astype(np.float64),
        rows["srtt"] * 1e3,
        state_at(record, flow, t_ns),
        mss,
    )


def segment(record: Record, flow: Flow) -> float | None:
    """Payload of a full segment: tcpi_snd_mss at the last sample, else what the path carries."""
    _, info = record.tcp_info(flow.id)
    known = bool(len(info)) and "snd_mss" in (info.dtype.names or ())
    return float(info["snd_mss"][-1]) if known else flow.payload_per_packet


def changes(record: Record, flow: Flow) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Changes of the congestion state: stamps in ns [n], `icsk_ca_state` from then on [n].

    Without the event (before Linux 5.16) as the samples of tcp_info show it.
    """
    if not record.has(_EVENT):
        t_ns, info = record.tcp_info(flow.id)
        states = info["ca_state"].astype(np.int64) if len(info) else np.zeros(0, np.int64)
        changed = np.flatnonzero(np.diff(np.concatenate([[_OPEN], states])))
        return t_ns[changed], states[changed]
    rows = record.table(_EVENT, flow=flow.id)
    return rows["t_ns"].astype(np.int64), rows["cong_state"].astype(np.int64)


def sampled(record: Record) -> str | None:
    """What a value says that is made of such changes: that only samples show them; None where events do."""
    return None if record.has(_EVENT) else SAMPLED


def reductions(record: Record, flow: Flow) -> NDArray[np.int64]:
    """When the sender went from Open or Disorder into CWR, Recovery or Loss, in ns [n]."""
    t_ns, state = changes(record, flow)
    before = np.concatenate([[_OPEN], state[:-1]])
    return t_ns[(state >= _CWR) & (before < _CWR)]


def state_at(
    record: Record, flow: Flow, t_ns: NDArray[np.int64], side: Literal["left", "right"] = "left"
) -> NDArray[np.int64]:
    """The congestion state at instants in ns [n]: before it changes at one of them, or (`right`) after."""
    changed, state = changes(record, flow)
    place = np.searchsorted(changed, t_ns, side=side)
    return np.concatenate([[_OPEN], state])[place]


def _in_slow_start(known: Acks) -> int:
    """How many ACKs came before slow start ended for the first time."""
    ended = np.flatnonzero(known.ssthresh != NO_SSTHRESH)
    return int(ended[0]) if len(ended) else len(known.t_ns)


def _slow_start_growth(known: Acks, _: NDArray[np.int64]) -> float | None:
    last = _in_slow_start(known) - 1
    acked = (known.una[last] - known.una[0]) / known.mss if last > 0 else 0.0
    return float(known.cwnd[last] - known.cwnd[0]) / acked if acked else None


def _exit(known: Acks, _: NDArray[np.int64]) -> float | None:
    count = _in_slow_start(known)
    return float(known.cwnd[count - 1]) if 0 < count < len(known.t_ns) else None


def _exit_time(known: Acks, _: NDArray[np.int64]) -> float | None:
    count = _in_slow_start(known)
    return float(known.t_ns[count - 1] - known.t_ns[0]) / 1e6 if 0 < count < len(known.t_ns) else None


def _avoidance(known: Acks, _: NDArray[np.int64]) -> float | None:
    """Growth a round trip in the longest stretch of congestion avoidance."""
    inside = (known.state == _OPEN) & (known.ssthresh != NO_SSTHRESH) & (known.cwnd >= known.ssthresh)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], inside.astype(np.int8), [0]])))
    begins, ends = edges[::2], edges[1::2] - 1
    if not len(begins):
        return None
    longest = int(np.argmax(known.t_ns[ends] - known.t_ns[begins]))
    first, last = begins[longest], ends[longest]
    rtt = float(known.srtt_ns[first : last + 1].mean())
    rounds = (known.t_ns[last] - known.t_ns[first]) / rtt if rtt else 0.0
    return float(known.cwnd[last] - known.cwnd[first]) / rounds if rounds >= _ROUND_TRIPS else None


def _decrease(known: Acks, reduced: NDArray[np.int64]) -> float | None:
    """The threshold after the first reduction over the window before it."""
    if not len(reduced):
        return None
    after = int(np.searchsorted(known.t_ns, reduced[0], side="right"))
    if not 0 < after < len(known.t_ns):
        return None
    ratio = float(known.ssthresh[after] / known.cwnd[after - 1])
    return None if known.ssthresh[after] == NO_SSTHRESH else ratio


def _after(known: Acks, reduced: NDArray[np.int64]) -> float | None:
    """The window when the first reduction was over."""
    if not len(reduced):
        return None
    later = np.flatnonzero((known.t_ns > reduced[0]) & (known.state < _CWR))
    return float(known.cwnd[later[0]]) if len(later) else None


def initial_window(record: Record, flow: Flow) -> float | None:
    """Segments in flight at a flow's first ACK; None where that is not known."""
    known = acks(record, flow)
    return _before_the_first_ack(record, flow) if known is None else float(known.inflight[0] / known.mss)


def _initial_window(record: Record) -> Iterator[Found]:
    for flow in record.flows(*kinds.TCP_STREAMS):
        value = initial_window(record, flow)
        yield Found(of_flow(flow), value, _NO_ACK if value is None else None)


def _before_the_first_ack(record: Record, flow: Flow) -> float | None:
    """Segments sent by the last sample within a round trip from the connection."""
    t_ns, info = record.tcp_info(flow.id)
    begin = flow.outcome.connected_ns
    if begin is None or "data_segs_out" not in (info.dtype.names or ()):
        return None
    idle_ns = courses.base_rtt_ns(flow, record.context.ends, np.array([begin * 1e-9]))
    if idle_ns is None:
        return None
    sent = info["data_segs_out"][(t_ns > begin) & (t_ns < begin + idle_ns[0])]
    return float(sent[-1]) if len(sent) else None


def _reductions(record: Record) -> Iterator[Found]:
    for flow in record.flows(*kinds.ONE_CONNECTION):
        if record.has(_EVENT) or record.has("tcp_info"):
            yield Found(of_flow(flow), float(len(reductions(record, flow))), sampled(record))


def _known(record: Record) -> list[tuple[str, Acks | None, NDArray[np.int64]]]:
    flows = record.flows(*kinds.TCP_STREAMS)
    return [(of_flow(flow), acks(record, flow), reductions(record, flow)) for flow in flows]


def _metric(
    name: str,
    unit: str,
    definition: str,
    of: Callable[[Acks, Any], float | None],
    missing: str,
    *,
    states: bool,
) -> Metric:
    def function(record: Record) -> Iterator[Found]:
        rough = record.once(sampled) if states else None
        for scope, known, reduced in record.once(_known):
            value = None if known is None else of(known, reduced)
            yield Found(scope, value, rough if value is not None else missing if known else _NO_ACK)

    return Metric(name, unit, "none", ("flow",), definition, function)


_NO_END = "slow start did not end"
_NO_REDUCTION = "the window was not reduced, or not followed after that"

METRICS = [
    Metric(
        "initial_window_segments",
        "segments",
        "none",
        ("flow",),
        "Data in flight as the first ACK of data came, in full segments: the initial window (RFC 6928), or "
        "less where the application wrote less. Of a sender closed by then: the segments sent by the last "
        "sample within a round trip from the connection.",
        _initial_window,
    ),
    _metric(
        "slow_start_growth",
        "1",
        "Growth of the window for each acknowledged segment until slow start first ended: 1 doubles it in a "
        "round trip (RFC 5681, section 3.1).",
        _slow_start_growth,
        "slow start saw one ACK at most",
        states=False,
    ),
    _metric(
        "slow_start_exit_segments",
        "segments",
        "The window as slow start first ended: at the last ACK before there was a threshold.",
        _exit,
        _NO_END,
        states=False,
    ),
    _metric(
        "slow_start_exit_ms",
        "ms",
        "From the first ACK of data to the last in the first slow start.",
        _exit_time,
        _NO_END,
        states=False,
    ),
    _metric(
        "avoidance_growth_segments",
        "segments",
        "Growth of the window in a round trip (mean smoothed RTT) over the longest time in congestion "
        "avoidance (state Open, window not below its threshold). Reno's is 1.",
        _avoidance,
        f"congestion avoidance lasted less than {_ROUND_TRIPS} round trips",
        states=True,
    ),
    _metric(
        "cwnd_decrease_ratio",
        "1",
        "The slow-start threshold after the first reduction over the window before it: 0.5 of Reno (RFC "
        "5681), 0.7 of CUBIC (RFC 9438).",
        _decrease,
        _NO_REDUCTION,
        states=True,
    ),
    _metric(
        "cwnd_after_reduction_segments",
        "segments",
        "The window as the first reduction was over: at the first ACK in Open or Disorder again. "
        "Proportional rate reduction brings it to the threshold (RFC 6937).",
        _after,
        _NO_REDUCTION,
        states=True,
    ),
    Metric(
        "window_reductions",
        "events",
        "none",
        ("flow",),
        "How often a sender went from Open or Disorder into CWR, Recovery or Loss (before Linux 5.16 by "
        "the samples of tcp_info).",
        _reductions,
    ),
]

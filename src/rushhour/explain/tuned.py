"""What the kernel keeps for a sender, or was told: a threshold from before, a pacing below its window.

A sysctl or a route says what could hold it; whether that binds, the readings of its socket show.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.causes.end_rules import CA_RATIO, KEEPS_THRESHOLD, SS_RATIO
from rushhour.causes.evidence import Shown
from rushhour.causes.thresholds import OFTEN
from rushhour.quantities.words import plural
from rushhour.series import readings
from rushhour.series.timeline import PACED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rushhour.explain.evidence import RecordedFlow
    from rushhour.record.context import Flow
    from rushhour.record.record import Record
    from rushhour.series.timeline import Timeline

_LIMITS = ("slow_start", "window")


def threshold(record: Record, flow: Flow, made: RecordedFlow) -> float | None:
    """Segments at which its slow start ends by what stood there when it began; None: nothing did."""
    t_ns, info = record.tcp_info(flow.id)
    traced = record.has("tcp_probe")
    first = record.series("ssthresh", flow=flow.id).values[:1]
    if made.syns or (traced and np.isnan(first).any()) or "snd_ssthresh" not in (info.dtype.names or ()):
        return None
    known = (info["snd_ssthresh"] < readings.NO_SSTHRESH) & (info["total_retrans"] == 0)
    at = int(np.argmax(known))
    # Without a line for each ACK: within the round trip in which nothing but a timer could have set it.
    soon_s = (t_ns[at] - (flow.outcome.connected_ns or 0)) * 1e-9 if known.any() else np.inf
    if not known.any() or (not traced and soon_s > (made.base_rtt_s or 0.0)):
        return None
    return float(info["snd_ssthresh"][at])


def ratio(record: Record, flow: Flow, made: RecordedFlow) -> tuple[str, str] | None:
    """The ratio of pacing that held a sender for most of the time in which its window could: name, value."""
    found = made.timeline
    if found is None or made.cc.startswith("bbr"):  # which paces by its own model
        return None
    bound, starting = _bound(record, flow, found)
    held = np.sum([found.held_s[limit] for limit in _LIMITS], axis=0)
    if not held.sum() or (held * bound).sum() < OFTEN * held.sum():
        return None
    early, late = (float((held * bound * part).sum()) for part in (starting, ~starting))
    name = SS_RATIO if early > late else CA_RATIO
    value = made.setting(made.sender, name)
    return None if value is None else (name, value)


def _bound(record: Record, flow: Flow, found: Timeline) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """By interval whether it sent what its pacing rate allows with room in its window; whether in slow start.

    The kernel takes the ratio of slow start below half of the threshold (tcp_update_pacing_rate).
    """
    t_ns, info = record.tcp_info(flow.id)
    none = np.zeros(len(found.edges_s) - 1, bool)
    if not {"pacing_rate", "bytes_sent"} <= {*(info.dtype.names or ())} or not len(t_ns):
        return none, none
    sent = np.interp(found.edges_s, t_ns * 1e-9, info["bytes_sent"].astype(np.float64))
    rows = info[np.minimum(np.searchsorted(t_ns * 1e-9, found.edges_s[1:] - 1e-10), len(t_ns) - 1)]
    allowed = PACED * rows["pacing_rate"].astype(np.float64)
    full = np.diff(sent) / np.diff(found.edges_s) >= allowed
    half = rows["snd_ssthresh"] / 2
    return full & (rows["unacked"] < rows["snd_cwnd"]), rows["snd_cwnd"] < half


def remembered(e: RecordedFlow) -> Shown | None:
    """A threshold that ends slow start before the window holds what the path does."""
    if e.threshold is None or e.threshold * (e.mss or 0) >= (e.bdp or 0):
        return None
    given = e.setting(e.sender, KEEPS_THRESHOLD)
    whence = "an earlier connection left it" if given == "0" else "a route or an earlier connection gave it"
    segments = plural(round(e.threshold), "segment")
    return Shown({"cc": e.cc, "host": e.sender, "segments": segments, "whence": whence})


def paced(e: RecordedFlow) -> Shown | None:
    """The ratio by which the kernel paces what a window sends in a round trip."""
    if e.ratio is None:
        return None
    name, value = e.ratio
    return Shown({"name": name, "host": e.sender, "ratio": value})

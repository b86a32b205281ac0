"""What each limit lets through, and what is reached at least when some of them are taken away.

Takes the evidence about a flow, gives rates of payload in bit/s. Every rate is a lower bound: what an advice
promises is held to by tests over generated cells (docs/explain.md).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rushhour.causes.evidence import DELAY_BASED, OPTION_SACK, OPTION_WSCALE
from rushhour.causes.thresholds import NEARLY_BDP, SHALLOW, UNSCALED, WORTH_SAYING
from rushhour.models import mathis, pftk
from rushhour.tc.kinds import MANAGING, QDISCS, SEPARATING

if TYPE_CHECKING:
    from collections.abc import Collection

    from rushhour.explain.evidence import RecordedFlow

OF_BUFFER = 0.4
"""At least this part of a socket's buffer holds payload, where it was not seen: packets cost the rest."""
WINDOWED = 0.8
"""Part of a window per round trip that a flow gets on average: it is not in flight all the time."""
SENT = 0.7
"""The same of a send buffer: a writer is woken when a third of it is free."""
BESIDE_DATA = 0.7
"""Part of that where its ACKs share a queue with data, even a short or separating one: now and then one waits
for a long packet."""
BEING_SENT = 2
"""Packets of data that an ACK finds before it even so: one on the wire, one in its shaper."""
STEADY = 0.95
"""What a limit at the ends gives of its own rate: ticks, and the last round trip."""
SMOOTH, ROUGH, ROUGHEST, TINIEST = 0.85, 0.6, 0.35, 0.12
"""What a lone flow fills of a path at least: where the queue outlasts its reductions, and where it does not
(a Reno flow over no buffer at all fills three quarters, less what it lost at the start)."""
SHARED = 0.5
"""What a flow gets at least of an equal share where nothing separates it from others."""
RANDOM_LOSS = 0.5
"""Part of the rate that the law of Mathis et al. or the model of Padhye et al. gives that is promised."""
FEW, FEWER = 20, 0.75
"""On a path that holds less packets than this, single ones count: part of it that is filled."""
INITIAL_SEGMENTS = 10
FRAME = 1514
MOST = 0.5
HELD = 0.25
"""From this share of the time on, a limit that is known by what it did allows no more than there was."""
STALLED = 0.5
"""Part of a bounded window that is in flight where losses make it wait for the gap to be filled."""
ACK_BITS = 66 * 8


def caps(e: RecordedFlow, removed: Collection[str] = ()) -> dict[str, float]:
    """Limit → the goodput that it allows at least, of those that are known, without those `removed`."""
    trip = max(1e-6, (e.base_rtt_s or 0) + _waiting_s(e, removed) + _separated_s(e, removed))
    found = {
        "receiver": _receiver(e, trip),
        "sndbuf": _sndbuf(e, trip),
        "application": _times(e.asked.get("rate_bps"), STEADY),
        "messages": _held(e, "application") if e.unsaid else None,
        "reader": _times(e.asked.get("read_bps"), STEADY),
        "pacing": _times(e.asked.get("pacing_bps"), 0.9),
        "losses": _losses(e, trip, removed),
        "marks": None if "impatient" in removed else _held(e, "marks"),
        "window": e.goodput_bps if e.cc in DELAY_BASED else _held(e, "window"),
        "shallow": _shallow(e, trip),
        "sack": e.goodput_bps if e.retransmits and not e.options & OPTION_SACK else None,
        "policer": _times(e.policer_bps, ROUGH) if e.policed else None,
        "early": early_loss_bps(e, e.bucket or 0.0, trip) if e.policed else None,
    }
    return {
        limit: _at_most_held(e, limit, rate)
        for limit, rate in found.items()
        if rate is not None and limit not in removed
    }


def _at_most_held(e: RecordedFlow, limit: str, rate: float) -> float:
    """What a limit allows is no more than what there was while it held, for most of the time."""
    share = e.connected(limit)
    return min(rate, e.goodput_bps / share) if share >= MOST else rate


def reached_bps(e: RecordedFlow, removed: Collection[str]) -> float | None:
    """The goodput that is reached at least without the limits of `removed`; None where that is not known."""
    share = _share(e, removed)
    if share is None or _frees_others(e, removed):
        return None
    if _waiting_s(e, removed):  # whose data the ACKs wait for, and how long then, is another flow's business
        return None
    return grown(e, min([share, *caps(e, removed).values()]))


def _frees_others(e: RecordedFlow, removed: Collection[str]) -> bool:
    """Whether a sysctl is changed that holds flows the other way, too, in whose queue our ACKs will wait."""
    for_all = {"receiver": "rcvbuf", "sndbuf": "sndbuf"}
    changed = any(limit in removed and key not in e.asked for limit, key in for_all.items())
    back = any(wait.acks and wait.streams and plain(wait.queue) for wait in e.waits)
    return changed and back and "acks" not in removed


def plain(queue: str) -> bool:
    """Whether a queue discipline, in tc's words, lets flows wait for each other."""
    return queue.partition(" ")[0] not in SEPARATING


def _early(queue: str) -> bool:
    """Whether a queue may drop before it is full; one that nobody knows may."""
    kind = queue.partition(" ")[0]
    return kind in MANAGING or kind not in QDISCS | {"fifo", ""}


def _times(rate: float | None, part: float) -> float | None:
    return None if rate is None else part * rate


def early_loss_bps(e: RecordedFlow, room: float, trip: float) -> float:
    """What a flow reaches that lost in its first round trips, and grows an eighth of a segment a trip since.

    A bucket, or a queue, that has no `room` (in bytes) for a window sent at once drops from the first ones in
    slow start.
    """
    return 8 * (e.mss or 1448) * (max(INITIAL_SEGMENTS / 2, room / FRAME) + e.length_s / trip / 8) / trip


def _shallow(e: RecordedFlow, trip: float) -> float | None:
    """A queue that ends slow start long before the window fills the path."""
    if e.buffer is None or e.buffer >= SHALLOW * (e.bdp or 0) or e.cc.startswith("bbr"):
        return None
    return early_loss_bps(e, e.buffer, trip)


def _held(e: RecordedFlow, *limits: str) -> float | None:
    """What there is, where these limits held for a good part of the time: more needs them taken away."""
    return e.goodput_bps if math.fsum(e.connected(limit) for limit in limits) >= HELD else None


def _waiting_s(e: RecordedFlow, removed: Collection[str]) -> float:
    """What ACKs wait on their way back."""
    back = e.acks_wait
    return 0.0 if back is None or "acks" in removed else back.median_s


def _separated_s(e: RecordedFlow, removed: Collection[str]) -> float:
    """What ACKs wait still where their queue separates them from data: for packets that are being sent."""
    back = e.acks_wait
    known = back is not None and "acks" in removed and back.flows and back.rate_bps
    return BEING_SENT * 8 * FRAME / back.rate_bps if known and back is not None else 0.0


def _receiver(e: RecordedFlow, trip: float) -> float | None:
    """The receiver's window per round trip, where its growth is bounded."""
    if not e.options & OPTION_WSCALE:
        return _moving(e) * WINDOWED * 8 * UNSCALED / trip
    sysctls = e.sysctls.get(e.receiver, {})
    bounded = "rcvbuf" in e.asked or "net.ipv4.tcp_rmem" in sysctls or e.connected("receiver") >= HELD
    if not (bounded or sysctls.get("net.ipv4.tcp_moderate_rcvbuf") == "0") or not e.window:
        return None
    window = e.window
    if "rcvbuf" not in e.asked and "receiver" not in e.shares and "net.ipv4.tcp_rmem" in sysctls:
        window = max(window, OF_BUFFER * float(sysctls["net.ipv4.tcp_rmem"].split()[-1]))
    return _moving(e) * WINDOWED * 8 * window / trip


def _moving(e: RecordedFlow) -> float:
    return STALLED if e.wire_loss and e.retransmits else 1.0


def _sndbuf(e: RecordedFlow, trip: float) -> float | None:
    """What the send buffer holds per round trip, where its growth is bounded."""
    most = e.sysctls.get(e.sender, {}).get("net.ipv4.tcp_wmem")
    if e.shares.get("sndbuf", 0) > WORTH_SAYING and e.inflight:
        return _moving(e) * SENT * 8 * e.inflight / trip
    if "sndbuf" in e.asked:
        return _moving(e) * 8 * OF_BUFFER * (e.sndbuf or 0) / trip
    return None if most is None else _moving(e) * 8 * OF_BUFFER * float(most.split()[-1]) / trip


def _losses(e: RecordedFlow, trip: float, removed: Collection[str]) -> float | None:
    """What a sender that answers single losses gets by theory at this loss, or what it got.

    Where queues drop no more, what chance takes stays: by theory, or as it was where that knows no such loss.
    """
    held, theory = _held(e, "losses", "timeouts", "outages"), by_theory(e, trip)
    by_chance = e.wire_loss * e.segments > e.queue_drops
    if {"drops", "impatient"} & {*removed} and not (by_chance and theory is None):
        return theory
    return theory if held is None else held


def by_theory(e: RecordedFlow, trip: float) -> float | None:
    """What the law of Mathis et al. or the model of Padhye et al. promises at the loss on the way."""
    if not e.wire_loss or not e.retransmits or e.cc.startswith("bbr") or not e.mss or not trip:
        return None
    if mathis.outside(e.wire_loss) is None:
        return RANDOM_LOSS * mathis.rate_bps(e.mss, trip, e.wire_loss, mathis.RANDOM)
    if pftk.outside(e.wire_loss):
        return None
    return RANDOM_LOSS * pftk.rate_bps(e.mss, trip, e.wire_loss, pftk.timeout_s(trip))


def _share(e: RecordedFlow, removed: Collection[str]) -> float | None:
    """What the path gives this flow at least, if it asks for it."""
    fair = e.fair_bps
    if fair is None:
        return None
    fair *= 1 - e.limited("outages")  # what a way is dead for, nobody gives back
    separated = "unfair" in removed or not plain(e.queue)
    if e.others and not separated:
        return SHARED * _bias(e) * fair
    share = fair * _ack_part(e) if "acks" in removed else fair
    if _tiny(e, removed):
        return TINIEST * share
    deep = (
        e.buffer is None
        or e.buffer >= NEARLY_BDP * (e.bdp or 0)
        or bool({"shallow", "impatient"} & {*removed})
    )
    managed = "unfair" in removed or _early(e.queue)
    trip = e.base_rtt_s or 0
    patient = bool({"impatient", "unfair"} & {*removed})
    if managed and trip > MANAGED_TRIP_S:
        return (ROUGH if trip <= INTERVAL_S or patient else ROUGHEST) * share
    # A queue that was impatient marks the first overshoot still: a short transfer has not made up for it.
    few = (e.bdp or 0) < FEW * FRAME or "impatient" in removed
    beside = "acks" in removed or any(wait.acks and wait.streams for wait in e.waits)
    return (ROUGH if not deep else FEWER if few else SMOOTH) * (BESIDE_DATA if beside else 1.0) * share


def _bias(e: RecordedFlow) -> float:
    """What a longer round trip leaves of a share: the rate of a flow that losses hold goes by one over it."""
    nearest = min((other.base_rtt_s for other in e.others if other.base_rtt_s), default=None)
    return 1.0 if nearest is None or not e.base_rtt_s else min(1.0, nearest / e.base_rtt_s)


def _tiny(e: RecordedFlow, removed: Collection[str]) -> bool:
    """Whether the queue holds so few packets that two ACKs at once overrun it."""
    tiny = e.buffer is not None and e.buffer <= INITIAL_SEGMENTS * FRAME and e.buffer < SHALLOW * (e.bdp or 0)
    return tiny and "shallow" not in removed


def _ack_part(e: RecordedFlow) -> float:
    """What part of the path's rate the ACKs' fair part of their queue acknowledges, one for two segments."""
    there = e.acks_wait
    if there is None or not there.rate_bps or not e.possible_bps:
        return 1.0
    needed = ACK_BITS * e.possible_bps / (2 * 8 * (e.mss or 1448))
    return min(1.0, there.rate_bps / (1 + there.streams) / needed)


INTERVAL_S = 0.1
MANAGED_TRIP_S = 0.06
"""Longest round trip at which a queue that manages itself keeps a lone flow's path nearly full: CoDel's
interval of 100 ms fits trips of tens of ms (RFC 8289)."""


def grown(e: RecordedFlow, rate: float) -> float:
    """Goodput over the whole transfer at this rate, with the round trips in which the window grows to it."""
    trip = max(1e-6, e.base_rtt_s or 0)
    first = min(INITIAL_SEGMENTS, e.first.initcwnd or INITIAL_SEGMENTS) * (e.mss or 1448)
    rounds = max(0.0, math.log2(max(1.0, rate * trip / 8 / first)))
    if "bytes" not in e.asked:
        return rate * max(0.0, 1 - (rounds + 1) * trip / e.length_s)
    size = e.asked["bytes"]
    growing = min(rounds, math.log2(size / first + 1))
    rest = max(0.0, size - first * (2**growing - 1))
    part = RANDOM_LOSS if e.wire_loss and e.retransmits else 1.0  # which segment is lost decides
    return part * 8 * size / ((growing + 1) * trip + 8 * rest / max(rate, 1.0))

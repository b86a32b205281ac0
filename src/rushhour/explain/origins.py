"""What a record shows of causes: it has counted what every queue, policer and wire dropped."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rushhour.causes.evidence import OPTION_SACK, Shown
from rushhour.causes.telling import LEAST_TIMEOUT, NO_ORIGIN
from rushhour.causes.thresholds import AFTERMATH, ALONE, ASSUMED, BBR_LOSS, SHALLOW, SPURIOUS
from rushhour.explain import sharing, tuned
from rushhour.explain.aqm import impatient
from rushhour.explain.netem import in_slots
from rushhour.explain.outages import LIMIT as OUTAGES
from rushhour.explain.words import deaf, part
from rushhour.models import mathis, pftk
from rushhour.quantities.short import percent, rate, size, time
from rushhour.quantities.words import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rushhour.explain.evidence import RecordedFlow


def shown(e: RecordedFlow, key: str) -> Shown | None:
    """What a record shows of a cause of the table; None where it does not."""
    return SHOWN[key](e) if key in SHOWN else None


def _policer(e: RecordedFlow) -> Shown | None:
    """Packets above a policed rate are dropped, not queued."""
    if not e.policed or e.policed <= e.queue_drops:
        return None
    limit, flows = e.policer_bps or 0, 1 + len(e.policed_too)
    of_all = f" of its {flows} flows" if flows > 1 else ""
    proof = f"it dropped {plural(e.policed, 'packet')}{of_all}"
    most = rate(limit) if e.policed_packets is None else f"{plural(e.policed_packets, 'packet')} a second"
    words = {"way": "", "rate": most, "proof": proof}
    if e.goodput_bps >= ALONE * (e.fair_bps or math.inf):
        part_of = "its share of " if e.others else ""
        words["then"] = (
            f"{e.name} had {percent(e.goodput_bps / (e.fair_bps or 1))} of {part_of}what it lets through"
        )
    return Shown(words, rate_bps=limit, taken_bps=e.taken_bps, flows=flows)


def _filtered(e: RecordedFlow) -> Shown | None:
    """What netfilter drops at INPUT: nobody counts it, but the scenario says which part that is."""
    dropped = e.filtered * e.segments
    if not e.retransmits or dropped <= max(e.wire_loss * e.segments, e.queue_drops + e.policed):
        return None
    what = f"{percent(e.filtered)} of what arrives"
    small = f"For {percent(e.limited('losses', 'timeouts'))} of its time losses kept the window small."
    return Shown({"host": e.receiver, "what": what, "chain": "INPUT"}, host=e.receiver, after=small)


def _reordering(e: RecordedFlow) -> Shown | None:
    """What was taken for loss had only been overtaken: the receiver reports duplicates (RFC 2883).

    Without SACK most of what is sent again after a timeout had arrived; after a policer's drops much of it.
    What a timer sent, a late answer alone makes needless. Of more duplicates than were sent again the network
    made some, and none tells of a retransmission.
    """
    counted = _policer(e) is None and e.hole is None  # nobody counts what a switch drops for its size
    if not e.options & OPTION_SACK or not e.retransmits or not counted:
        return None
    lost = (e.wire_loss + e.filtered) * e.segments + e.queue_drops + e.policed
    told = e.duplicates if e.duplicates <= e.retransmits else 0
    spurious = max(told, e.retransmits - round(lost)) - e.unprompted
    if spurious < SPURIOUS * e.retransmits:
        return None
    were = "was" if spurious == 1 else "were"
    needless = f"at least {spurious} of {plural(e.retransmits, 'retransmission')} {were} not needed"
    proof = f"{needless}, and each made the window smaller: TCP took packets for lost"
    return Shown({"way": e.overtaking[0], "proof": proof}, queue=e.overtaking[1])


def _random(e: RecordedFlow) -> Shown | None:
    if not e.wire_loss or not e.retransmits or e.wire_loss * e.segments <= e.queue_drops:
        return None
    words = {"lost": percent(e.wire_loss), "way": "", "cc": e.cc, "host": e.sender, "theory": _theory(e)}
    # An outage is no chance that an algorithm could bear: while nothing passes, none sends.
    return Shown(words, lost=max(e.wire_loss, e.worst_loss))


def _theory(e: RecordedFlow) -> str:
    """What theory allows at this loss; of Reno, which CUBIC follows on short paths."""
    if (
        e.worst_loss > BBR_LOSS
        or e.cc not in ("reno", "cubic")
        or not e.mss
        or not e.rtt_s
        or pftk.outside(e.wire_loss)
    ):
        return ""
    whose, allowed = "the model of Padhye et al.", 0.0
    if mathis.outside(e.wire_loss) is None:
        whose = "the law of Mathis et al."
        allowed = mathis.rate_bps(e.mss, e.rtt_s, e.wire_loss, mathis.RANDOM)
    else:
        allowed = pftk.rate_bps(e.mss, e.rtt_s, e.wire_loss, pftk.timeout_s(e.rtt_s))
    return f" (at a round trip of {time(e.rtt_s)} {whose} allows Reno {rate(allowed)})"


def _shallow(e: RecordedFlow) -> Shown | None:
    if not e.queue_drops or e.buffer is None or not e.bdp or e.buffer >= SHALLOW * e.bdp:
        return None
    proof = f"it holds {size(e.buffer)} and dropped {plural(e.queue_drops, 'packet')}"
    return Shown({"where": f"at {e.bottleneck}", "proof": proof, "bdp": size(e.bdp)})


def _outages(e: RecordedFlow) -> Shown | None:
    """A way that was dead, as its links' patterns and routes have it, and for how long the flow felt it."""
    known = e.outages
    if known is None or not e.limited(OUTAGES):
        return None
    way = f"from {e.sender} to {e.receiver}" if known.there else f"back from {e.receiver} to {e.sender}"
    way = f"between {e.sender} and {e.receiver}" if known.there and known.back else way
    besides = ", or had a small window from what was lost then" if known.after >= AFTERMATH else ""
    proof = f"{part(e, OUTAGES)} the sender waited to be heard again{besides}"
    return Shown({"way": way, "dead": known.words, "proof": proof})


def _any(e: RecordedFlow) -> Shown | None:
    if not e.retransmits:
        return None
    full = f"the queue at {e.bottleneck} was full at times: it dropped {plural(e.queue_drops, 'packet')}"
    origin = full if e.queue_drops > e.wire_loss * e.segments else NO_ORIGIN
    again = percent(e.retransmits / max(1, e.segments))
    return Shown({"again": again, "way": "", "when": "", "origin": origin})


def _black_hole(e: RecordedFlow) -> Shown | None:
    """Full packets vanish at a switch, until a timeout or TCP's own search makes them smaller."""
    if e.hole is None or not e.timeouts:
        return None
    times = "once" if e.timeouts == 1 else f"{e.timeouts} times"
    held = percent(e.limited("losses", "timeouts"))
    then = f"for {held} of its time TCP had to send again what vanished, and its timer expired {times}"
    return Shown({"size": f"{e.hole}", "way": f"from {e.sender} to {e.receiver}", "then": then})


def _timeouts(e: RecordedFlow) -> Shown:
    # Over a way that is dead for a while the timer expires, whatever a queue dropped before and after.
    dead, dead_back = e.worst_loss > BBR_LOSS, e.worst_ack_loss > BBR_LOSS
    by_queue = e.queue_drops > e.wire_loss * e.segments and not dead and not dead_back
    where, needless = "", False
    if dead_back and not dead:
        where = f"; {percent(e.ack_loss)} of its ACKs were lost on the way back"
    elif by_queue:
        where = f"; the queue at {e.bottleneck} dropped {plural(e.queue_drops, 'packet')}"
    elif e.wire_loss:
        where = f"; {percent(e.wire_loss)} of its packets were lost on the way"
    elif e.all_came and not (e.ack_loss or e.refused or e.damaged):
        where, needless = "; nothing was lost: the round trip had become longer than the timeout", True
    words = {"held": part(e, "timeouts"), "count": str(e.timeouts), "least": _least(e), "where": where}
    return Shown(words, dropped=by_queue, deaf=deaf(e) if by_queue else "", needless=needless)


def _least(e: RecordedFlow) -> str:
    """The least retransmission timeout of the sender."""
    given = e.setting(e.sender, "net.ipv4.tcp_rto_min_us") or ""
    return time(int(given) * 1e-6) if given.isdigit() else LEAST_TIMEOUT


def _assumed(e: RecordedFlow) -> Shown | None:
    """Most of the marks that the sender counts did not come to the receiver."""
    if e.came_marked is None or e.marked - e.came_marked < max(1.0, ASSUMED * e.marked):
        return None
    return Shown({"host": e.sender, "taken": plural(e.marked, "segment"), "came": str(e.came_marked)})


def _no_room(e: RecordedFlow) -> Shown | None:
    if not e.unsaid:
        return None
    return Shown({"host": e.sender, "held": part(e, "application"), "count": str(e.unsaid)})


SHOWN: Mapping[str, Callable[[RecordedFlow], Shown | None]] = {
    **sharing.SHOWN,
    "packet-filter-drops": _filtered,
    "reordering": _reordering,
    "slots": in_slots,
    "policer": _policer,
    "sack-off": lambda _: Shown(),
    "random-loss": _random,
    "impatient-queue": impatient,
    "shallow-queue": _shallow,
    "losses": _any,
    "outages": _outages,
    "mtu-black-hole": _black_hole,
    "timeouts": _timeouts,
    "marks-assumed": _assumed,
    "marked": lambda e: Shown(queue=e.bottleneck),
    "no-room-for-messages": _no_room,
    "remembered-threshold": tuned.remembered,
    "pacing-ratio": tuned.paced,
}
"""Cause → what shows it."""

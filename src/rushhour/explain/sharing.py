"""What a record shows of a full path: who has it, what waits there; and of a flow that was short."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.causes.end_rules import in_vain
from rushhour.causes.evidence import Shown
from rushhour.causes.telling import sentence
from rushhour.causes.thresholds import (
    ALONE,
    GROWING,
    LOST_ACKS,
    RTT_BIAS,
    TAKEN,
    UNFAIR,
    UNSCALED,
    USUAL_INITCWND,
)
from rushhour.explain.caps import INITIAL_SEGMENTS, plain
from rushhour.explain.words import NAMED, beside, flooded, of_possible, part, possible
from rushhour.quantities.short import percent, rate, size, time
from rushhour.quantities.words import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rushhour.explain.evidence import Other, RecordedFlow
    from rushhour.series.waits import Wait


def _aside(e: RecordedFlow) -> Other | None:
    """The flow that has most of a full path, where this one has less than its share."""
    fair = e.fair_bps
    if not e.others or fair is None or e.goodput_bps >= UNFAIR * fair or flooded(e):
        return None
    return max(e.others, key=lambda other: other.goodput_bps)


def _shares(e: RecordedFlow, big: Other) -> dict[str, str]:
    return {
        "flow": e.name,
        "had": f"{rate(e.goodput_bps)}{beside(e)}",
        "fair": rate(e.fair_bps or 0),
        "other": f"{big.name} ({big.cc})",
        "most": rate(big.goodput_bps),
    }


def _other_algorithm(e: RecordedFlow) -> Shown | None:
    big = _aside(e)
    if big is None or big.cc == e.cc:
        return None
    return Shown({**_shares(e, big), "mine": e.cc, "theirs": big.cc}, queue=e.bottleneck)


def _longer_path(e: RecordedFlow) -> Shown | None:
    big = _aside(e)
    if big is None or not (e.base_rtt_s and big.base_rtt_s and e.base_rtt_s >= RTT_BIAS * big.base_rtt_s):
        return None
    trips = {"trip": time(e.base_rtt_s), "short": time(big.base_rtt_s)}
    return Shown({**_shares(e, big), **trips}, queue=e.bottleneck)


def _unequal(e: RecordedFlow) -> Shown | None:
    big = _aside(e)
    return None if big is None else Shown(_shares(e, big))


def _ack_queue(e: RecordedFlow) -> Shown | None:
    there, data, idle = e.acks_wait, e.data_wait, e.base_rtt_s or 0
    if there is None or (data is not None and data.median_s > there.median_s):
        return None
    words = {"wait": time(there.median_s), "where": f"at {there.label}", "idle": time(idle)}
    words |= {"data": _waited(data)}
    has_all = e.goodput_bps >= ALONE * (e.fair_bps or 0)
    fills = there.median_s > idle and not (has_all and not plain(there.queue))
    return Shown(words, after=_fillers(there), queue=there.label, discipline=there.queue, fills=fills)


def _waited(wait: Wait | None) -> str:
    return "did not wait" if wait is None or not wait.median_s else f"waited {time(wait.median_s)}"


def _fillers(wait: Wait) -> str:
    """Who fills a queue, as far as flows are known that send there."""
    if not wait.flows:
        return "Its ACKs alone are more than that queue lets through."
    named = " and ".join(wait.flows[:NAMED]) + (" and others" if len(wait.flows) > NAMED else "")
    return f"What fills that queue is {named}."


def _ack_loss(e: RecordedFlow) -> Shown | None:
    if e.ack_loss < LOST_ACKS:
        return None
    by_filter = e.ack_filtered > e.ack_loss - e.ack_filtered
    where = f"by a rule of the packet filter at {e.sender} (chain INPUT)" if by_filter else "on the way back"
    return Shown({"lost": percent(e.ack_loss), "where": where}, host=e.sender if by_filter else "")


def _bufferbloat(e: RecordedFlow) -> Shown | None:
    longest = e.data_wait
    waited = e.queue_s if longest is None else longest.median_s
    if waited is None:
        return None
    where, queue = (e.bottleneck, e.queue) if longest is None else (longest.label, longest.queue)
    return Shown(
        {"where": f"at {where}"},
        before=sentence("path-rate", **_full(e)),
        queue=where,
        discipline=queue,
        wait_s=waited,
        idle_s=e.base_rtt_s or 0,
    )


def _sender_shaper(e: RecordedFlow) -> Shown | None:
    if not e.at_sender:
        return None
    most = possible(e)
    small = "TCP small queues keep its queue short, so the window says nothing about the network behind."
    return Shown(
        {"dev": e.sender, "rate": most, "arrives": ", and that is what arrives"},
        before=f"{e.name} had {of_possible(e)}.",
        after=small,
    )


def _beside_others(e: RecordedFlow) -> Shown | None:
    if e.taken_bps < TAKEN * (e.possible_bps or 0):
        return None
    return Shown({**_full(e), "left": rate(max(0.0, (e.possible_bps or 0) - e.taken_bps))})


def _path_rate(e: RecordedFlow) -> Shown:
    return Shown(_full(e))


def _full(e: RecordedFlow) -> dict[str, str]:
    """What a flow had of a full path, in the words of its sentence."""
    full = f"{e.full_of or 'the path'} was full"
    if e.others:
        of = e.full_of or e.bottleneck
        equal = f"an equal share of {of} among {1 + len(e.others)} TCP flows is {rate(e.fair_bps or 0)}"
        equal += " on average" if e.possible_between else ""
        return {"flow": e.name, "had": f"{rate(e.goodput_bps)}{beside(e)}, and {equal}", "how": full}
    share = e.shares.get("path", 0.0)
    alone = full if e.beside else f"{full}, nothing else limits"
    how = alone if share >= ALONE else f"for {percent(share)} of its time {full}"
    return {"flow": e.name, "had": of_possible(e), "how": how}


def _handshake(e: RecordedFlow) -> Shown | None:
    if not e.handshake_s:
        return None
    how = "one round trip before the first byte"
    if in_vain(e.syns, e.base_rtt_s):
        how = f"the round trip of {time(e.base_rtt_s or 0)} is longer than the first timeout of a SYN, 1 s"
    elif e.syns:
        times = "once, after a wait" if e.syns == 1 else f"{e.syns} times, each after a wait"
        how = f"its SYN was sent again {times} of 1 s or more"
    words = {"took": time(e.handshake_s), "whole": time(e.handshake_s + e.length_s), "how": how}
    return Shown(words, idle_s=e.base_rtt_s or 0.0)


def _growing(e: RecordedFlow) -> Shown | None:
    """A window that was full before it had grown; the route's where it began with what that says."""
    first = e.first
    if first.growing < GROWING or not e.mss or not 0 < (first.offered or 0) < (e.bdp or 0):
        return None
    began = f"it began with {size(first.offered or 0)}"
    asked = (first.initrwnd or 0) * e.mss
    if not asked or asked > UNSCALED or abs(asked - (first.offered or 0)) >= e.mss:
        return Shown({"began": began})
    said = f"the route of {e.receiver} lets it begin with {plural(first.initrwnd or 0, 'segment')} (initrwnd)"
    return Shown({"began": said}, host=e.receiver)


def _initial_window(e: RecordedFlow) -> Shown | None:
    """A route's window that is what was in flight when the first ACK came, and less than the usual."""
    first, slow = e.first, _slow_start(e)
    sends, offers = first.initcwnd or USUAL_INITCWND, first.initrwnd or USUAL_INITCWND
    least = min(sends, offers)
    if slow is None or least >= USUAL_INITCWND or abs((first.sent or 0) - least) >= 1:
        return None
    words = {"host": e.sender, "first": f"{least:g}", "usual": f"{USUAL_INITCWND:g}"}
    before = sentence("slow-start", **slow.words)
    if sends < offers:
        return Shown(words, before=before, host=e.sender)
    offered = f"The route of {e.receiver} offers no more (initrwnd)."
    return Shown(words, before=before, after=offered, host=e.receiver)


def _slow_start(e: RecordedFlow) -> Shown | None:
    if 0 < e.moved <= (e.first.initcwnd or INITIAL_SEGMENTS) * (e.mss or 0) and not e.retransmits:
        return None  # all of it was sent at once: no window held it
    trip = f" of {time(e.base_rtt_s)}" if e.base_rtt_s else ""
    lost = (
        "A lost SYN sets the slow-start threshold as lost data would: the window is past it from the "
        "start, and grows by a segment a round trip."
    )
    whole = time((e.handshake_s or 0.0) + e.length_s)
    words = {"held": part(e, "slow_start"), "whole": whole, "trip": trip}
    return Shown(words, after=lost if e.syns and not in_vain(e.syns, e.base_rtt_s) else "")


SHOWN: Mapping[str, Callable[[RecordedFlow], Shown | None]] = {
    "other-algorithm": _other_algorithm,
    "longer-path": _longer_path,
    "unequal": _unequal,
    "ack-queue": _ack_queue,
    "ack-loss": _ack_loss,
    "bufferbloat": _bufferbloat,
    "shaper-on-the-sender": _sender_shaper,
    "beside-others": _beside_others,
    "path-rate": _path_rate,
    "handshake": _handshake,
    "slow-start": _slow_start,
    "initial-window-small": _initial_window,
    "receive-window-growing": _growing,
}
"""Cause → what shows it."""

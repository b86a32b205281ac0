"""Rules on a full path: of this flow as it should be, of others, of a standing queue, of waiting ACKs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.causes.evidence import Cure
from rushhour.causes.telling import by_shown, held, lasting, told
from rushhour.causes.thresholds import BELOW_BOTTLENECK, STANDING_S, STANDING_TRIPS
from rushhour.quantities.short import rounded_up, time
from rushhour.quantities.words import capital
from rushhour.tc.kinds import SEPARATING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.causes.evidence import Evidence, Named, Shown
    from rushhour.causes.telling import Rule


def _separate(shown: Shown) -> str:
    return f"separate the flows in the queue at {shown.queue} (fq_codel, cake, fq)."


def other_algorithm(e: Evidence, share: float) -> Named | None:
    """Another congestion control takes most of the path."""
    advice = "Use one algorithm on this path, or "
    return by_shown(e, "other-algorithm", share, lambda shown: Cure(advice + _separate(shown)))


def longer_path(e: Evidence, share: float) -> Named | None:
    """A flow with a shorter round trip takes most of the path."""
    return by_shown(e, "longer-path", share, lambda shown: Cure(capital(_separate(shown))))


def unequal(e: Evidence, share: float) -> Named | None:
    """Equal flows have not come to equal shares."""
    return by_shown(e, "unequal", share)


def ack_queue(e: Evidence, _: float) -> Named | None:
    """The ACKs wait in a queue on their way back, longer than the idle round trip takes."""
    share = e.limited("acks")
    return lasting(by_shown(e, "ack-queue", share, _acks_pass), share)


def _acks_pass(shown: Shown) -> Cure:
    if shown.discipline.partition(" ")[0] in SEPARATING:
        return Cure(
            f"Send less at {shown.queue}, or give it a higher rate: its queue lets ACKs pass already."
        )
    return Cure(
        f"Let {shown.queue} separate its flows (fq_codel, cake), so that ACKs need not wait for data."
    )


def acks_wait_most(e: Evidence, share: float) -> Named | None:
    """A full path whose round trip is most of all the ACKs' wait."""
    shown = e.shown("ack-queue")
    return ack_queue(e, share) if shown is not None and shown.fills else None


def ack_loss(e: Evidence, share: float) -> Named | None:
    """Many ACKs are lost on their way back: what they would have let go waits for the next."""

    def cure(shown: Shown) -> Cure:
        if shown.host:
            return Cure(f"Take that rule away on {e.called(shown.host)}.")
        return Cure("Repair the link on the way back.")

    return by_shown(e, "ack-loss", share, cure)


def stands(wait_s: float, idle_s: float) -> bool:
    """Whether a queue stands (bufferbloat): its median wait, beside the idle round trip."""
    return wait_s >= max(STANDING_S, STANDING_TRIPS * idle_s)


def bufferbloat(e: Evidence, share: float) -> Named | None:
    """A queue stands that is much longer than the path needs."""
    shown = e.shown("bufferbloat")
    if shown is None or not stands(shown.wait_s, shown.idle_s):
        return None
    words = {"wait": time(shown.wait_s), "idle": time(shown.idle_s), **shown.words}
    advice = f"No rate is to be gained; for delay's sake let {shown.queue} manage its queue (fq_codel, cake)."
    # A queue of one's own before the bottleneck stands there instead, if it is a little slower.
    most = rounded_up(BELOW_BOTTLENECK * shown.rate_bps / 1000)
    cure = Cure(advice, queue=f"cake bandwidth {most}kbit" if most else "")
    return told(e, "bufferbloat", replace(shown, words=words), share, cure)


def processor_full(e: Evidence, share: float) -> Named | None:
    """One flow is as fast as a processor: the path is not what is full."""
    cure = Cure("Spread the work over processors, or let a card do it.", look="mpstat -P ALL 1 3")
    found = (by_shown(e, "cpu-limited", share, cure, host) for host in (e.sender, e.receiver))
    return next((one for one in found if one is not None), None)


def in_slots(e: Evidence, share: float) -> Named | None:
    """The way delivers in slots: what arrives between them waits for the next."""
    shown = e.shown("slots")
    if shown is None:
        return None
    cure = Cure(f"Give the slots at {shown.queue} more room, or make them more frequent.")
    words = {"held": capital(held(share)), **shown.words}
    return told(e, "slots", replace(shown, words=words), share, cure)


def sender_shaper(e: Evidence, share: float) -> Named | None:
    """The bottleneck is a shaper on the sender, where TCP small queues hold back what would wait."""
    return by_shown(e, "shaper-on-the-sender", share)


def beside_others(e: Evidence, share: float) -> Named | None:
    """The path is full of what does not give way."""
    return by_shown(e, "beside-others", share)


def path_rate(e: Evidence, share: float) -> Named | None:
    """The path is full, as it should be."""
    return by_shown(e, "path-rate", share)


RULES: Mapping[str, tuple[Rule, ...]] = {
    "acks": (ack_queue, ack_loss),
    "path": (
        other_algorithm,
        longer_path,
        unequal,
        acks_wait_most,
        bufferbloat,
        processor_full,
        sender_shaper,
        beside_others,
        path_rate,
    ),
}
"""Limit → its rules, in order."""

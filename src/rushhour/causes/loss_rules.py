"""Rules on what keeps a window small: losses and where they come from, timeouts, marks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.causes.end_rules import switched_off
from rushhour.causes.evidence import OPTION_SACK, Cure, Named, Setting
from rushhour.causes.path_rules import in_slots
from rushhour.causes.telling import LEAST_TIMEOUT, by_shown, held, lasting, said, sentence, told
from rushhour.causes.thresholds import (
    BASE_MSS,
    BBR_LOSS,
    BELOW_POLICER,
    DAMAGED,
    DAMAGED_BY_ACCIDENT,
    LEAST_EXTENT,
    REFUSED_SHARE,
)
from rushhour.quantities.short import rate, rounded_up, size
from rushhour.quantities.words import happened, plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.causes.evidence import Evidence, Shown
    from rushhour.causes.telling import Rule


_HEADERS = 72
"""Of IPv6, and of TCP with timestamps."""


def corruption(e: Evidence, _: float) -> Named | None:
    """Packets arrive damaged, and are dropped by their checksum."""
    if e.damaged <= max(DAMAGED_BY_ACCIDENT, DAMAGED * e.retransmits):
        return None
    cure = Cure("Repair the link: what damages packets is a cable, a card or a device on the way.")
    came = f"{plural(e.damaged, 'packet')} came with a wrong checksum"
    says = sentence("corruption", host=e.called(e.receiver), proof=came)
    return Named("corruption", e.receiver, says, cure, came)


def refused(e: Evidence, _: float) -> Named | None:
    """Data arrive, and the receiver has no memory for them: nothing is wrong with the way."""
    if e.refused <= REFUSED_SHARE * e.retransmits:
        return None
    cure = Cure(
        f"Let TCP have more memory on {e.called(e.receiver)} (net.ipv4.tcp_mem), or its socket a larger "
        "receive buffer; or let the program there read faster."
    )
    came = f"{plural(e.refused, 'time')} it had no room for what came"
    says = sentence("data-refused", host=e.called(e.receiver), proof=came)
    return Named("data-refused", e.receiver, says, cure, came)


def filtered(e: Evidence, share: float) -> Named | None:
    """A rule of the receiver's packet filter drops what had come all the way."""
    return by_shown(e, "packet-filter-drops", share, Cure(f"Take that rule away on {e.called(e.receiver)}."))


def reordering(e: Evidence, share: float) -> Named | None:
    """Packets are overtaken, and TCP takes them for lost."""
    balance = "Keep a flow's packets on one path (balance per flow, not per packet)."

    def cure(shown: Shown) -> Cure:
        in_order = f"Let {shown.queue} deliver in order." if shown.queue else balance
        return Cure(in_order, _patience(e, shown.extent))

    return by_shown(e, "reordering", share, cure)


def _patience(e: Evidence, extent: int | None) -> tuple[Setting, ...]:
    """How many places a packet may be late before TCP takes it for lost."""
    if extent is None:
        return ()
    places, most = max(extent + 1, int(LEAST_EXTENT)), e.setting(e.sender, "net.ipv4.tcp_max_reordering")
    wanted = (Setting(e.sender, "net.ipv4.tcp_reordering", str(places)),)
    if not isinstance(most, int) or most >= places:
        return wanted
    return (Setting(e.sender, "net.ipv4.tcp_max_reordering", str(2 * places)), *wanted)


def dead_way(e: Evidence, share: float) -> Named | None:
    """The way is dead for a while, and comes back."""
    return by_shown(e, "outages", share, Cure("Find the link that flaps, or the route that changes."))


def outages(e: Evidence, share: float) -> Named | None:
    """The same of losses; a record knows when the way was dead, and takes that time out of them."""
    return None if e.limited("outages") else dead_way(e, share)


def policer(e: Evidence, share: float) -> Named | None:
    """Packets above a rate are dropped, not queued (Flach et al., SIGCOMM 2016)."""
    shown = e.shown("policer")
    if shown is None:
        return None
    small = f"{held(share)} the window was too small for what it lets through"
    words = {"then": small, **shown.words}
    return told(e, "policer", replace(shown, words=words), share, _below_the_policer(shown))


def _below_the_policer(shown: Shown) -> Cure:
    # The bucket is one for all: who is paced beside others that are not has their drops.
    wanted = int(max(0.0, BELOW_POLICER * shown.rate_bps - shown.taken_bps) / shown.flows)
    each = f" each of the {shown.flows} flows" if shown.flows > 1 else ""
    if not wanted:
        return Cure(f"Send{each} below the policed rate, paced or shaped.")
    shaped = f"tbf rate {rounded_up(wanted / 1000)}kbit burst 16kb latency 50ms"
    advice = f"Send{each} below the policed rate, paced or shaped to {rate(wanted)}."
    return Cure(advice, socket={"pacing": f"{wanted}bit"}, queue=shaped)


def no_sack(e: Evidence, share: float) -> Named | None:
    """Without selective acknowledgements a round trip repairs one of the losses in a window."""
    if e.options is None or e.options & OPTION_SACK or not e.retransmits or e.shown("sack-off") is None:
        return None
    proof = f"; {happened(e.retransmits, 'segment', 'sent again')}, and {held(share)} the window was small"
    name = "net.ipv4.tcp_sack"
    one = switched_off(e, "sack-off", "selective acknowledgements", name, proof)
    return replace(one, law="without SACK a round trip repairs only one loss")


def random_loss(e: Evidence, share: float) -> Named | None:
    """Losses on the way, not in a queue: the algorithm takes them for congestion."""
    shown = e.shown("random-loss")
    if shown is None:
        return None
    return told(
        e,
        "random-loss",
        replace(shown, words={"answers": _answers(e), **shown.words}),
        share,
        _repaired(e, shown.lost),
    )


def _answers(e: Evidence) -> str:
    """What the sender's algorithm does with a loss of a single packet."""
    if e.cc.startswith("bbr"):
        return "has to send them again, although it takes no single one for congestion"
    return "takes each for congestion"


def _repaired(e: Evidence, lost: float) -> Cure:
    known = e.setting(e.sender, "net.ipv4.tcp_available_congestion_control")
    if e.cc.startswith("bbr") or lost > BBR_LOSS:
        return Cure("Repair the link: no algorithm likes this loss.")
    if known is not None and "bbr" not in str(known).split():
        return Cure("Repair the link.")
    host = e.called(e.sender)
    advice = f"Repair the link; or send with an algorithm that does not answer single losses (bbr on {host})."
    return Cure(advice, socket={"cc": "bbr"})


def impatient_queue(e: Evidence, share: float) -> Named | None:
    """CoDel takes a queue for a standing one that a sender has not even heard of."""
    advice = "Give that queue an interval of a round trip, and a target that is a part of it."
    return by_shown(e, "impatient-queue", share, Cure(advice))


def impatient_marks(e: Evidence, share: float) -> Named | None:
    """The same of a queue that marks."""
    return lasting(impatient_queue(e, share), e.limited("losses", "marks"))


def shallow_queue(e: Evidence, share: float) -> Named | None:
    """The queue at the bottleneck is so short that it runs empty after each reduction."""
    return by_shown(e, "shallow-queue", share, longer_queue(e))


def longer_queue(e: Evidence) -> Cure:
    """A queue of one BDP, or a sender that needs none."""
    host, wanted = e.called(e.sender), size(rounded_up(e.bdp or 0))
    return Cure(f"Give that queue {wanted}, one BDP; or send with pacing (bbr, or fq on {host}).", queue="fq")


def any_loss(e: Evidence, share: float) -> Named | None:
    """Losses, of which no more is known."""
    return by_shown(e, "losses", share)


def black_hole(e: Evidence, _: float) -> Named | None:
    """Packets above a size vanish, and nobody says so."""
    share = e.limited("losses", "timeouts")
    return lasting(by_shown(e, "mtu-black-hole", share, lambda shown: _smaller(e, shown)), share)


def _smaller(e: Evidence, shown: Shown) -> Cure:
    """Segments that pass from the beginning: a search begins with `tcp_base_mss`, which may be too much."""
    name, base = "net.ipv4.tcp_mtu_probing", "net.ipv4.tcp_base_mss"
    passes = int(shown.words["size"]) - _HEADERS
    advice = f"Give {e.called(e.sender)} an MTU of {shown.words['size']} bytes"
    search = () if str(e.setting(e.sender, name)) == "2" else (Setting(e.sender, name, "2"),)
    asked = e.setting(e.sender, base)
    if passes < (BASE_MSS if asked is None else int(str(asked))):
        below = f"{base} = {passes}" + (f" with {name} = 2" if search else "")
        start = (*search, Setting(e.sender, base, f"{passes}"))
        return Cure(f"{advice}, or let its TCP begin below and look for what passes ({below}).", start)
    if not search:
        return Cure(f"{advice}.")
    searched = f"or let its TCP begin below and look for what passes ({name} = 2; 1: after a few timeouts)"
    return Cure(f"{advice}, {searched}.", search)


def timeouts(e: Evidence, _: float) -> Named | None:
    """Nothing came back that could have told of the loss; the sender waited."""
    share = e.limited("timeouts")
    return lasting(by_shown(e, "timeouts", share, _fewer_timeouts), share)


def _fewer_timeouts(shown: Shown) -> Cure:
    if shown.needless:
        return Cure(
            "Keep the queue before the bottleneck short (fq_codel, cake), so that no round trip outgrows the "
            "timeout; where a single packet takes that long, give the route a greater rto_min."
        )
    if not shown.dropped:
        return Cure(
            "Repair the link: timeouts come where a whole window, its end, or all of its ACKs are lost."
        )
    if shown.deaf:
        return Cure(
            f"Limit the datagrams of {shown.deaf}, which answer neither losses nor marks, or give every flow "
            "a queue of its own there (fq_codel, cake)."
        )
    shorter = "; within a data centre a shorter least timeout (ip route change … rto_min 5ms)"
    least = shorter if shown.words["least"] == LEAST_TIMEOUT else ""
    return Cure(f"Fewer senders at a time, a longer queue there, or marks (ECN){least}.")


def marked(e: Evidence, share: float) -> Named:
    """Marks keep the window low."""
    shown = e.shown("marked")
    counted = f": {happened(e.marked, 'segment', 'taken for marked')}" if e.marked else ""
    queue = f"the queue at {shown.queue}" if shown is not None and shown.queue else "the queue that marks"
    other = "" if e.cc.startswith("dctcp") else "; or send with dctcp, at both ends"
    cure = Cure(f"Let {queue} mark later{other}.", look="tc -s qdisc show dev {dev}")
    return said("marked", e.sender, cure, held=held(share), counted=counted)


def marks_assumed(e: Evidence, share: float) -> Named | None:
    """Accurate ECN without its option takes an ACK of many segments for the worst that it can mean."""
    name = "net.ipv4.tcp_ecn_option"
    told_twice = (Setting(e.receiver, name, "2"),) if str(e.setting(e.receiver, name)) == "0" else ()
    besides = f", or let {e.called(e.receiver)} tell of marks in an option, too ({name} = 2)"
    advice = f"Repair the way back, on which ACKs are lost or thinned{besides if told_twice else ''}."
    return by_shown(e, "marks-assumed", share, Cure(advice, told_twice))


RULES: Mapping[str, tuple[Rule, ...]] = {
    # Damaged packets count as missing, late ones as lost: what is certain comes first.
    "losses": (
        black_hole,
        corruption,
        refused,
        filtered,
        reordering,
        outages,
        policer,
        no_sack,
        random_loss,
        impatient_queue,
        shallow_queue,
        in_slots,
        any_loss,
    ),
    "timeouts": (black_hole, refused, filtered, no_sack, timeouts),
    "outages": (dead_way,),
    "marks": (marks_assumed, impatient_marks, marked),
}
"""Limit → its rules, in order."""

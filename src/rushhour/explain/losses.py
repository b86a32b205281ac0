"""Causes that keep a window small: losses and what they come from, timeouts, marks."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.causes import rules
from rushhour.causes.evidence import DELAY_BASED, OPTION_SACK, Setting
from rushhour.causes.finding import Command, Remedy
from rushhour.causes.rules import held, sentence
from rushhour.causes.thresholds import BBR_LOSS, BELOW_POLICER, LEAST_BURST, SHALLOW, SPURIOUS
from rushhour.explain.caps import grown
from rushhour.explain.hosts import by_rule
from rushhour.explain.words import found, part, told
from rushhour.models import mathis, pftk
from rushhour.quantities.short import percent, rate, rounded_up, size, time

if TYPE_CHECKING:
    from rushhour.causes.finding import Finding
    from rushhour.explain.evidence import RecordedFlow

SETTLED_TRIPS, HEAVY_LOSS = 200, 0.02
KEPT = 0.8
"""Part of the path that such a sender fills at least."""
OF_POLICED = 0.8
"""Part of a policed rate that a flow paced below it gets at least."""


def policer(e: RecordedFlow) -> Finding | None:
    """Packets above a policed rate are dropped, not queued (Flach et al., SIGCOMM 2016)."""
    if not e.policed or e.policed <= e.queue_drops:
        return None
    limit = e.policer_bps or 0
    of_all = f" of its {1 + len(e.policed_too)} flows" if e.policed_too else ""
    dropped = (
        f"it dropped {e.policed} packets{of_all}, and {held(_share(e))} the window was too small for what it "
        "lets through"
    )
    says = sentence("policer", way="", rate=rate(limit), proof=dropped)
    # The bucket is one for all: who is paced beside others that are not has their drops.
    sharing = 1 + len(e.policed_too)
    left = max(0.0, BELOW_POLICER * limit - e.taken_bps)
    wanted = int(left / sharing)
    each = f" each of the {sharing} flows" if sharing > 1 else ""
    advice = f"Send{each} below the policed rate, paced or shaped to {rate(wanted)}"
    burst = max(int(LEAST_BURST), rounded_up(limit * (e.base_rtt_s or 0) / 8))
    small = e.bucket is not None and e.bucket < burst
    advice += f"; or let the policer pass a burst of {size(burst)}, one BDP." if small else "."
    paced = dict.fromkeys([e.flow_key, *(f"flow.{group}" for group in e.policed_too)])
    overrides = {f"{key}.pacing": f"{wanted}bit" for key in paced} if wanted else {}
    instead = {e.burst_key: f"{burst}B"} if e.burst_key and small else {}
    expected = grown(e, OF_POLICED / BELOW_POLICER * left / sharing) or None
    return found("policer", _share(e), says, Remedy(advice, (), overrides, expected, instead=instead))


def of_every_flow(e: RecordedFlow) -> Finding | None:
    """What the rules of every flow say of losses."""
    one = rules.named(e, "losses", _share(e))
    return None if one is None else told(e, one, _share(e))


def reordering(e: RecordedFlow) -> Finding | None:
    """What was taken for loss had only been overtaken: the receiver reports duplicates (RFC 2883)."""
    if not e.options & OPTION_SACK:  # without it most of what is sent again after a timeout had arrived
        return None
    lost = e.wire_loss * e.segments + e.queue_drops + e.policed
    spurious = max(e.duplicates, e.retransmits - round(lost))
    if not e.retransmits or spurious < SPURIOUS * e.retransmits:
        return None
    needless = (
        f"at least {spurious} of {e.retransmits} retransmissions were not needed, and each made the window "
        "smaller: TCP took packets for lost"
    )
    says = sentence("reordering", way="", proof=needless)
    advice = "Keep a flow's packets on one path (balance per flow, not per packet)."
    return found("reordering", _share(e), says, Remedy(advice))


def no_sack(e: RecordedFlow) -> Finding | None:
    """Without selective acknowledgements of several losses in a window one is repaired a round trip."""
    one = rules.no_sack(e, _share(e))
    return None if one is None else told(e, one, _share(e), "sack")


def random_loss(e: RecordedFlow) -> Finding | None:
    """Losses on the way, not in a queue: the algorithm takes them for congestion."""
    if not e.wire_loss or not e.retransmits or e.wire_loss * e.segments <= e.queue_drops:
        return None
    lost = percent(e.wire_loss)
    says = sentence("random-loss", lost=lost, way="", cc=e.cc, host=e.sender, theory=_theory(e))
    if e.cc.startswith("bbr") or e.wire_loss > BBR_LOSS:
        return found("random-loss", _share(e), says, Remedy("Repair the link: no algorithm likes this loss."))
    advice = (
        f"Repair the link; or send with an algorithm that does not answer single losses (bbr on {e.sender})."
    )
    bbr = Setting(e.sender, "net.ipv4.tcp_congestion_control", "bbr")
    overrides = {f"{e.flow_key}.cc": bbr.value}
    expected = _by_bbr(e) * (1 - e.wire_loss) * e.fair_bps if e.fair_bps else None
    return found(
        "random-loss", _share(e), says, Remedy(advice, (Command(bbr.host, bbr.command),), overrides, expected)
    )


def _by_bbr(e: RecordedFlow) -> float:
    """Part of the path that BBR fills at least: losses end its startup early; it probes each 8 trips."""
    trips = e.length_s / max(e.base_rtt_s or 0.0, 1e-6)
    if trips >= SETTLED_TRIPS:
        return KEPT
    return 0.6 * KEPT if e.wire_loss < HEAVY_LOSS else 0.25 * KEPT


def _theory(e: RecordedFlow) -> str:
    """What theory allows at this loss; of Reno, which CUBIC follows on short paths."""
    if e.cc not in ("reno", "cubic") or not e.mss or not e.rtt_s or pftk.outside(e.wire_loss):
        return ""
    whose, allowed = "the model of Padhye et al.", 0.0
    if mathis.outside(e.wire_loss) is None:
        whose = "the law of Mathis et al."
        allowed = mathis.rate_bps(e.mss, e.rtt_s, e.wire_loss, mathis.RANDOM)
    else:
        allowed = pftk.rate_bps(e.mss, e.rtt_s, e.wire_loss, pftk.timeout_s(e.rtt_s))
    return f" (at a round trip of {time(e.rtt_s)} {whose} allows Reno {rate(allowed)})"


def shallow_buffer(e: RecordedFlow) -> Finding | None:
    """The queue at the bottleneck is so short that it runs empty after each reduction."""
    if not e.queue_drops or e.buffer is None or not e.bdp or e.buffer >= SHALLOW * e.bdp:
        return None
    says = sentence(
        "shallow-queue",
        where=f"at {e.bottleneck}",
        proof=f"it holds {size(e.buffer)} and dropped {e.queue_drops} packets",
        held=held(_share(e)),
        bdp=size(e.bdp),
    )
    return found("shallow-queue", _share(e), says, _longer_queue(e))


def _longer_queue(e: RecordedFlow) -> Remedy:
    wanted = rounded_up(e.bdp or 0)
    advice = f"Give that queue {size(wanted)}, one BDP; or send with pacing (bbr, or fq on {e.sender})."
    helps = bool(e.buffer_key) and e.cc not in DELAY_BASED  # those do not fill it
    return Remedy(advice, (), {e.buffer_key: f"{wanted}B"} if helps else {})


def would_overflow(e: RecordedFlow) -> Finding | None:
    """The queue at the bottleneck is too short for more, though nothing was dropped yet."""
    if e.buffer is None or e.buffer >= SHALLOW * (e.bdp or 0) or e.cc.startswith("bbr"):
        return None
    if e.asked.get("bytes", math.inf) <= e.buffer:
        return None  # all of it fits
    says = (
        f"Behind that, the queue at {e.bottleneck} holds {size(e.buffer)}, the path {size(e.bdp or 0)}: it "
        "would run over long before the window fills the path."
    )
    return found("shallow-queue", 0.0, says, _longer_queue(e), limit="shallow")


def any_loss(e: RecordedFlow) -> Finding | None:
    """Losses, of which no more is known."""
    if not e.retransmits:
        return None
    again = percent(e.retransmits / max(1, e.segments))
    says = sentence("losses", again=again, way="", when="", held=held(_share(e)))
    return found("losses", _share(e), says)


def timeouts(e: RecordedFlow) -> Finding | None:
    """Nothing came back that could have told of the loss; the sender waited."""
    where = f"; {percent(e.wire_loss)} of its packets were lost on the way" if e.wire_loss else ""
    where = f"; the queue at {e.bottleneck} dropped {e.queue_drops} packets" if e.queue_drops else where
    says = (
        f"It waited {part(e, 'timeouts')} for retransmission timeouts ({e.timeouts}), each of 200 ms and "
        f"more{where}."
    )
    advice = "Repair the link: timeouts come where a whole window, or its end, is lost."
    if e.queue_drops:
        advice = (
            "Fewer senders at a time, a longer queue there, or marks (ECN); within a data centre a shorter "
            "least timeout (ip route change … rto_min 5ms)."
        )
    return found("timeouts", e.shares.get("timeouts", 0.0), says, Remedy(advice))


def marked(e: RecordedFlow) -> Finding | None:
    """Marks keep the window low."""
    finding = by_rule(e, "marks")
    advice = f"Let the queue at {e.bottleneck} mark later; or send with dctcp, at both ends."
    return finding and replace(finding, remedy=Remedy(advice))


def _share(e: RecordedFlow) -> float:
    return e.shares.get("losses", 0.0) + e.shares.get("timeouts", 0.0)

"""Causes where the path is full: of this flow as it should be, of a standing queue, or of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.causes.finding import Remedy
from rushhour.causes.rules import sentence, stands
from rushhour.causes.thresholds import ALONE, LOST_ACKS, RTT_BIAS, TAKEN, UNFAIR
from rushhour.explain.aqm import managing, target_s
from rushhour.explain.caps import MANAGED_TRIP_S, plain
from rushhour.explain.words import NAMED, beside, found, of_possible
from rushhour.quantities.short import percent, rate, rounded_up, time
from rushhour.quantities.words import capital

if TYPE_CHECKING:
    from rushhour.causes.finding import Finding
    from rushhour.explain.evidence import Other, RecordedFlow
    from rushhour.series.waits import Wait


TARGETS, MANAGED_PACKETS, PACKET_BITS = 3, 3, 12112
"""The median wait that fq_codel keeps: three of its targets, and a few packets of every flow."""
LEAST_BUFFER = 60_000
"""A queue that separates flows needs room for tens of packets, bytes."""


def pushed_aside(e: RecordedFlow) -> Finding | None:
    """The path is full, but of others."""
    fair = e.fair_bps
    if not e.others or fair is None or e.goodput_bps >= UNFAIR * fair:
        return None
    big = max(e.others, key=lambda other: other.goodput_bps)
    says = (
        f"{e.name} had {rate(e.goodput_bps)}{beside(e)}, and an equal share is {rate(fair)}: {big.name} "
        f"({big.cc}) had {rate(big.goodput_bps)}."
    )
    share = e.shares.get("path", 0.0)
    separate = f"separate the flows in the queue at {e.bottleneck} (fq_codel, cake, fq)."
    if big.cc != e.cc:
        remedy = Remedy(f"Use one algorithm on this path, or {separate}", (), _queue(e), UNFAIR * fair)
        says += f" {e.cc} gives way to {big.cc}."
        return found("other-algorithm", share, says, remedy, limit="unfair", where=e.bottleneck)
    if _longer(e, big):
        says += (
            f" Its round trip is longer ({time(e.base_rtt_s or 0)}, not {time(big.base_rtt_s or 0)}), so its "
            "window grows more slowly."
        )
        remedy = Remedy(capital(separate), (), _queue(e), UNFAIR * fair)
        return found("longer-path", share, says, remedy, limit="unfair", where=e.bottleneck)
    return found("unequal", share, f"{says} The flows had not come to equal shares.")


def _longer(e: RecordedFlow, other: Other) -> bool:
    return bool(e.base_rtt_s and other.base_rtt_s and e.base_rtt_s >= RTT_BIAS * other.base_rtt_s)


def _queue(e: RecordedFlow) -> dict[str, str]:
    """What has the bottleneck's queue separate flows, unless it does."""
    if not e.queue_key or not plain(e.queue):
        return {}
    wanted = max(LEAST_BUFFER, rounded_up(e.bdp or 0))
    short = e.buffer_key and e.buffer is not None and e.buffer < wanted
    return {e.queue_key: managing(e)} | ({e.buffer_key: f"{wanted}B"} if short else {})


def ack_queue(e: RecordedFlow) -> Finding | None:
    """The ACKs wait in a queue on their way back, longer than the idle round trip takes."""
    there, data = e.acks_wait, e.data_wait
    if there is None or (data is not None and data.median_s > there.median_s):
        return None
    says = (
        f"Its ACKs waited {time(there.median_s)} in the queue at {there.label}, on an idle "
        f"round trip of {time(e.base_rtt_s or 0)}; its data {_waited(data)}. {_fillers(there)}"
    )
    share = e.shares.get("acks", 0.0)
    if not plain(there.queue):
        advice = f"Send less at {there.label}, or give it a higher rate: its queue lets ACKs pass already."
        return found("ack-queue", share, says, Remedy(advice), limit="acks", where=there.label)
    advice = f"Let {there.label} separate its flows (fq_codel, cake), so that ACKs need not wait for data."
    overrides = {there.queue_key: managing(e)} if there.queue_key else {}
    return found("ack-queue", share, says, Remedy(advice, (), overrides), limit="acks", where=there.label)


def acks_wait_most(e: RecordedFlow) -> Finding | None:
    """A full path whose round trip is most of all the ACKs' wait."""
    there = e.acks_wait
    if there is None or there.median_s <= (e.base_rtt_s or 0):
        return None
    has_all = e.goodput_bps >= ALONE * (e.fair_bps or 0)
    return None if has_all and not plain(there.queue) else ack_queue(e)


def ack_loss(e: RecordedFlow) -> Finding | None:
    """Many ACKs are lost on their way back: what they would have let go waits for the next."""
    if e.ack_loss < LOST_ACKS:
        return None
    says = (
        f"{percent(e.ack_loss)} of its ACKs were lost on the way back. A small window, or the "
        "end of a transfer, then waits for the next one, or for a timeout."
    )
    advice = "Repair the link on the way back."
    return found("ack-loss", e.shares.get("acks", 0.0), says, Remedy(advice), limit="ack_loss")


def _waited(wait: Wait | None) -> str:
    return "did not wait" if wait is None or not wait.median_s else f"waited {time(wait.median_s)}"


def _fillers(wait: Wait) -> str:
    """Who fills a queue, as far as flows are known that send there."""
    if not wait.flows:
        return "Its ACKs alone are more than that queue lets through."
    named = " and ".join(wait.flows[:NAMED]) + (" and others" if len(wait.flows) > NAMED else "")
    return f"What fills that queue is {named}."


def bufferbloat(e: RecordedFlow) -> Finding | None:
    """The path is full and its queue stands."""
    longest = e.data_wait
    waited = e.queue_s if longest is None else longest.median_s
    if waited is None or not stands(waited, e.base_rtt_s or 0):
        return None
    where = e.bottleneck if longest is None else longest.label
    key = e.queue_key if longest is None else longest.queue_key
    queue = e.queue if longest is None else longest.queue
    idle = time(e.base_rtt_s or 0)
    says = f"{_full(e)} {sentence('bufferbloat', where=f'at {where}', wait=time(waited), idle=idle)}"
    advice = f"No rate is to be gained; for delay's sake let {where} manage its queue (fq_codel, cake)."
    overrides = {key: managing(e)} if key and plain(queue) else {}
    most = _managed_wait_s(e, longest) if overrides else None
    if overrides and most is None and (e.base_rtt_s or 0) > MANAGED_TRIP_S:
        # Nothing is certain of the wait, and on so long a path a queue that drops early costs rate.
        advice, overrides = f"{advice} On so long a path that costs part of the rate.", {}
    if most is not None and most >= waited:
        return found("bufferbloat", e.shares.get("path", 0.0), says, None, limit="path", where=where)
    remedy = Remedy(advice, (), overrides, expected_wait_s=most)
    return found("bufferbloat", e.shares.get("path", 0.0), says, remedy, limit="path", where=where)


def _managed_wait_s(e: RecordedFlow, wait: Wait | None) -> float | None:
    """The median wait that fq_codel keeps at most; None where senders are there that do not answer it."""
    deaf = [e.cc, *(other.cc for other in e.others)]
    if e.beside or any(cc.startswith("bbr") for cc in deaf) or not e.possible_bps:
        return None
    streams = 1 + len(e.others) if wait is None else wait.streams
    rate_bps = e.possible_bps if wait is None or not wait.rate_bps else wait.rate_bps
    return TARGETS * target_s(e) + MANAGED_PACKETS * streams * PACKET_BITS / rate_bps


def sender_shaper(e: RecordedFlow) -> Finding | None:
    """The bottleneck is a shaper on the sender, where TCP small queues hold back what would wait."""
    if not e.at_sender:
        return None
    most = rate(e.possible_bps or e.goodput_bps)
    what = sentence("shaper-on-the-sender", dev=e.sender, rate=most, arrives=", and that is what arrives")
    says = (
        f"{e.name} had {of_possible(e)}. {what} TCP small queues keep its queue short, so the window says "
        "nothing about the network behind."
    )
    return found("shaper-on-the-sender", e.shares.get("path", 0.0), says)


def full_path(e: RecordedFlow) -> Finding | None:
    """As it should be, or full of what does not give way."""
    share = e.shares.get("path", 0.0)
    if e.taken_bps < TAKEN * (e.possible_bps or 0):
        return found("path-rate", share, _full(e))
    says = f"{_full(e)} What is beside it leaves {rate(max(0.0, (e.possible_bps or 0) - e.taken_bps))}."
    return found("beside-others", share, says)


def _full(e: RecordedFlow) -> str:
    if e.others:
        return (
            f"{e.name} had {rate(e.goodput_bps)}{beside(e)}, and an equal share of {e.bottleneck} among "
            f"{1 + len(e.others)} TCP flows is {rate(e.fair_bps or 0)}: the path was full."
        )
    share = e.shares.get("path", 0.0)
    if share < ALONE:
        return f"{e.name} had {of_possible(e)}: for {percent(share)} of its time the path was full."
    alone = "" if e.beside else ", nothing else limits"
    return f"{e.name} had {of_possible(e)}: the path was full{alone}."

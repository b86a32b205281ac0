"""What became of packets on the way: loss, duplicates, reordering."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.queue import since_start
from rushhour.metrics.value import TOTAL, Found, Metric, Telling, of_end, of_flow, ratio
from rushhour.record.decode import unwrap32
from rushhour.series.readings import first_arrivals
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from rushhour.record.context import Flow
    from rushhour.record.record import Record

_NONE_SENT = "nothing was sent"
_LEFT = 0


def _loss(record: Record) -> Iterator[Found]:
    sent_of_all, arrived_of_all = 0, 0
    for flow in record.flows(*kinds.DATAGRAMS):
        fate = known_fate(record, flow)
        if fate is None:
            continue
        sent, arrived = fate
        yield ratio(of_flow(flow), sent - arrived, sent, _NONE_SENT)
        if flow.kind in kinds.UDP_STREAMS:
            sent_of_all, arrived_of_all = sent_of_all + sent, arrived_of_all + arrived
    if sent_of_all:
        yield Found(TOTAL, (sent_of_all - arrived_of_all) / sent_of_all)


def known_fate(record: Record, flow: Flow) -> tuple[int, int] | None:
    """Messages of a flow of which it is known what became of them, and those of them that arrived.

    None where nobody counted.
    """
    counts = _sent_and_arrived(record, flow)
    if counts is None:
        return None
    sent, arrived = counts
    return max(arrived, sent - under_way(record, flow)), arrived


def under_way(record: Record, flow: Flow) -> int:
    """Messages of a flow that may have been on their way at the end: what became of them is not known.

    Behind the last that arrived, those sent no longer before the end than the slowest of the flow took. Of a
    program's, which have no stamps, those sent within half the base RTT of the end.
    """
    if flow.is_found:
        return _found_under_way(record, flow)
    if not flow.is_stamped or not record.has(kinds.TABLE.get(flow.kind, "")):
        return 0
    rows = record.table(kinds.TABLE[flow.kind], flow=flow.id)
    came = rows[rows["rx_ns"] >= 0]
    if not len(came):
        return 0
    late_ns = record.context.duration_ns - int((came["rx_ns"] - came["tx_ns"]).max())
    last = came[np.argmax(came["seq"])]
    if flow.kind in kinds.ECHOES:
        return int(np.count_nonzero((rows["rx_ns"] < 0) & (rows["tx_ns"] > late_ns)))
    sent, done_ns = flow.outcome.packets_sent, flow.outcome.sender_done_ns
    after = 0 if sent is None else sent - int(last["seq"]) - 1
    if after <= 0 or done_ns is None or done_ns <= late_ns:
        return 0
    # When they were sent is not recorded: taken to be spread evenly from the last that arrived to the end.
    span = max(1, done_ns - int(last["tx_ns"]))
    return min(after, round(after * min(1.0, (done_ns - late_ns) / span)))


def _found_under_way(record: Record, flow: Flow) -> int:
    begin, done_ns, sent = flow.outcome.connected_ns, flow.outcome.sender_done_ns, flow.outcome.packets_sent
    if flow.base_rtt_ns is None or begin is None or done_ns is None or sent is None:
        return 0
    known_ns = record.context.duration_ns - flow.base_rtt_ns // 2
    if done_ns <= known_ns or not record.has("datagrams"):
        return 0
    rows = record.table("datagrams", flow=flow.id)
    rows = rows[(rows["side"] == _LEFT) & (rows["t_ns"] < done_ns)]
    # Between two samples they are taken to be spread evenly.
    known = np.interp(known_ns, [begin, *rows["t_ns"], done_ns], [0, *rows["packets"], sent])
    return sent - math.floor(float(known))


def _sent_and_arrived(record: Record, flow: Flow) -> tuple[int, int] | None:
    if flow.kind in kinds.UDP_STREAMS and not flow.is_stamped:
        sent, arrived = flow.outcome.packets_sent, flow.outcome.packets_received
        return None if sent is None or arrived is None else (sent, min(sent, arrived))
    if not record.has(kinds.TABLE.get(flow.kind, "")):
        return None
    if flow.kind in kinds.ECHOES:
        answered = record.table("ping", flow=flow.id)["rx_ns"] >= 0
        return len(answered), int(np.count_nonzero(answered))
    sent = flow.outcome.packets_sent
    return None if sent is None else (sent, len(first_arrivals(record, flow)))


def _count_of(which: int) -> Callable[[Record], Iterator[Found]]:
    # Messages that were sent (0) or arrived (1); in total those of the UDP flows.
    def counts(record: Record) -> Iterator[Found]:
        total = None
        for flow in record.flows(*kinds.DATAGRAMS):
            counted = _sent_and_arrived(record, flow)
            if counted is None:
                continue
            yield Found(of_flow(flow), float(counted[which]))
            if flow.kind in kinds.UDP_STREAMS:
                total = (total or 0) + counted[which]
        if total is not None:
            yield Found(TOTAL, float(total))

    return counts


def _input_drops(record: Record) -> Iterator[Found]:
    for entry in record.result.inputs:
        yield Found(f"node:{entry.node}", float(entry.dropped))


def _duplicates(record: Record) -> Iterator[Found]:
    for flow in datagram_flows(record):
        rows = record.table("udp", flow=flow.id)
        yield Found(of_flow(flow), float(len(rows) - len(first_arrivals(record, flow))))


def datagram_flows(record: Record) -> list[Flow]:
    """The UDP flows whose every arrival is known: iperf3 counts datagrams and does not say which arrived."""
    flows = record.flows(*kinds.UDP_STREAMS) if record.has("udp") else []
    return [flow for flow in flows if flow.is_stamped]


def _wire_loss(record: Record) -> Iterator[Found]:
    if not record.has("wire"):
        return
    for end in record.context.ends.values():
        rows = record.table("wire", end=end.end)
        if len(rows):
            t_s = rows["t_ns"] * 1e-9
            passed = since_start(t_s, rows["packets"].astype(np.float64))
            yield ratio(of_end(end), since_start(t_s, rows["lost"].astype(np.float64)), passed, _NONE_SENT)


def _netem_loss(record: Record) -> Iterator[Found]:
    for end in record.context.ends.values() if record.has("qdisc") else ():
        rows = record.root_qdisc(end.end)
        if end.role == "netem" and len(rows):
            t_s = rows["t_ns"] * 1e-9
            dropped = since_start(t_s, unwrap32(rows["drops"]).astype(np.float64))
            passed = since_start(t_s, rows["packets"].astype(np.float64))
            yield ratio(of_end(end), dropped, dropped + passed, _NONE_SENT)


def reorder_extents(sequence: NDArray[np.integer]) -> NDArray[np.int64]:
    """Extent of each reordered packet, in order of arrival (RFC 4737, section 4.2).

    A packet is reordered if one with a greater number came before it; its extent is how many positions before
    it the earliest such packet came. [n] sequence numbers in order of arrival → [reordered].
    """
    if not len(sequence):
        return np.zeros(0, np.int64)
    highest = np.maximum.accumulate(sequence)
    late = np.flatnonzero(sequence < highest)
    # `highest` never falls, so the earliest packet with a greater number is found by bisection.
    return late - np.searchsorted(highest, sequence[late], side="right")


def reorder_density(sequence: NDArray[np.integer], threshold: int = 8) -> dict[int, float]:
    """Reorder density (RFC 5236): displacement → fraction of the packets.

    Displacement is the place of arrival minus the place in sequence, both counted over the packets that
    arrived; positive is late. Those beyond ± `threshold` are counted as lost and left out, as the RFC does.
    """
    if not len(sequence):
        return {}
    place = np.empty(len(sequence), np.int64)
    place[np.argsort(sequence, kind="stable")] = np.arange(len(sequence))
    displacement = np.arange(len(sequence)) - place
    displacement = displacement[np.abs(displacement) <= threshold]
    values, counts = np.unique(displacement, return_counts=True)
    return {int(value): float(count / counts.sum()) for value, count in zip(values, counts, strict=True)}


def _reordered(record: Record) -> Iterator[Found]:
    for flow in datagram_flows(record):
        sequence = first_arrivals(record, flow)["seq"]
        reordered = len(reorder_extents(sequence))
        yield ratio(of_flow(flow), reordered, len(sequence), "no datagram arrived")


def _extent(record: Record) -> Iterator[Found]:
    for flow in datagram_flows(record):
        sequence = first_arrivals(record, flow)["seq"]
        extents = reorder_extents(sequence)
        if len(sequence):
            yield Found(of_flow(flow), float(extents.max()) if len(extents) else 0.0)
        else:
            yield Found(of_flow(flow), None, "no datagram arrived")


def _displaced(record: Record) -> Iterator[Found]:
    for flow in datagram_flows(record):
        density = reorder_density(first_arrivals(record, flow)["seq"])
        if density:
            yield Found(of_flow(flow), 1 - density.get(0, 0.0))
        else:
            yield Found(of_flow(flow), None, "no datagram arrived")


METRICS = [
    Metric(
        "loss",
        "1",
        "lower",
        ("flow", "total"),
        "Fraction of UDP datagrams that never arrived: (sent - arrived) / sent, duplicates not counted "
        "(RFC 7680); of a ping: of echo requests without an answer. What may still have been on its way at "
        "the end is left out: behind the last that arrived, and sent no longer before the end than the "
        "slowest of the flow took; of a program's flow, sent within half the base RTT of the end (not of "
        "iperf3, which counts for itself). Total: over all UDP flows.",
        _loss,
        telling=Telling("loss", 150, if_any=True),
    ),
    Metric(
        "messages_sent",
        "packets",
        "none",
        ("flow", "total"),
        "Datagrams that a UDP flow sent, or echo requests of a ping. Total: of all UDP flows.",
        _count_of(0),
    ),
    Metric(
        "messages_received",
        "packets",
        "higher",
        ("flow", "total"),
        "Distinct datagrams of a UDP flow that arrived, or echo requests of a ping that were answered. "
        "Total: of all UDP flows.",
        _count_of(1),
    ),
    Metric(
        "wire_loss",
        "1",
        "none",
        ("end",),
        "Fraction of packets that the seeded element of a link end lost, by its own counters.",
        _wire_loss,
    ),
    Metric(
        "input_drops",
        "packets",
        "none",
        ("node",),
        "Packets that netfilter dropped at a node's INPUT, by the counter of its rule.",
        _input_drops,
    ),
    Metric(
        "netem_loss",
        "1",
        "none",
        ("end",),
        "Fraction of packets that netem lost at a link end: drops / (drops + packets) of its own counters.",
        _netem_loss,
    ),
    Metric(
        "duplicates",
        "packets",
        "lower",
        ("flow",),
        "Datagrams that arrived again: arrivals minus distinct sequence numbers (RFC 5560).",
        _duplicates,
        telling=Telling("duplicates", 250, if_any=True),
    ),
    Metric(
        "reordered",
        "1",
        "lower",
        ("flow",),
        "Fraction of distinct datagrams that arrived after one with a greater sequence number (RFC 4737, "
        "section 4.1).",
        _reordered,
        telling=Telling("reordered", 200, if_any=True),
    ),
    Metric(
        "reorder_extent_max",
        "packets",
        "lower",
        ("flow",),
        "Greatest extent of reordering: how many arrivals after the earliest datagram with a greater "
        "sequence number a late one came (RFC 4737, section 4.2); 0 if none was reordered.",
        _extent,
    ),
    Metric(
        "reorder_displaced",
        "1",
        "lower",
        ("flow",),
        "Fraction of arrived datagrams that were not at their place, early or late: one minus the reorder "
        "density at displacement 0 (RFC 5236). `rushhour.metrics.loss.reorder_density` gives the whole "
        "density.",
        _displaced,
    ),
]

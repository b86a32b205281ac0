"""What bonds and several paths did: who carried how much, what TCP made of reordering; what was corrupted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.errors import RecordError
from rushhour.metrics.queue import since_start
from rushhour.metrics.tcp import counter
from rushhour.metrics.value import TOTAL, Found, Metric, Telling, of_end, ratio
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.record.record import Record

_UNDONE = ("TCPFullUndo", "TCPPartialUndo", "TCPDSACKUndo", "TCPLossUndo")
# Kinds of flows, and the counters of checksums that were wrong.
_CHECKSUMS = {
    "udp": ("Udp.InCsumErrors", "Udp6.InCsumErrors"),
    # Of both IPv4 and IPv6.
    "tcp": ("Tcp.InCsumErrors",),
    "ping": ("Icmp.InCsumErrors", "Icmp6.InCsumErrors"),
}
_HEADERS = "IpExt.InCsumErrors"
_FULL_SOCKETS = ("Udp.RcvbufErrors", "Udp6.RcvbufErrors")


def stack_counters(record: Record) -> dict[str, int]:
    """By how much each of the stack's counters rose, summed over the hosts; empty in records without them."""
    found: dict[str, int] = {}
    for table in record.result.counters.values():
        for name, value in table.items():
            found[name] = found.get(name, 0) + value
    return found


def _share(record: Record) -> Iterator[Found]:
    bundles: dict[str, list[tuple[str, float]]] = {}
    for end in record.context.ends.values():
        if end.bundle is None or not record.has("interface"):
            continue
        rows = record.table("interface", end=end.end)
        if len(rows):
            sent = since_start(rows["t_ns"] * 1e-9, rows["tx_packets"].astype(np.float64))
            bundles.setdefault(end.bundle, []).append((of_end(end), sent))
    for members in bundles.values():
        whole = sum(sent for _, sent in members)
        for scope, sent in members:
            yield ratio(scope, sent, whole, "no packet was sent")


def _stopped(record: Record) -> Iterator[Found]:
    for number, (ends, begins) in _pauses(record).items():
        span = record.context.duration_ns
        closed = [*ends, span] if len(ends) < len(begins) else ends
        spent = sum(done - begin for begin, done in zip(begins, closed, strict=True))
        yield ratio(of_end(record.context.ends[number]), 100.0 * spent, span, "the experiment has no length")


def _stops(record: Record) -> Iterator[Found]:
    for number, (_, begins) in _pauses(record).items():
        yield Found(of_end(record.context.ends[number]), float(len(begins)))


def _pauses(record: Record) -> dict[int, tuple[list[int], list[int]]]:
    """By end when it was let go and when it was stopped, in ns, of all ends that can be."""
    told = record.plan.pauses
    if told is None or not record.has("pauses"):
        return {}
    found = {}
    for port in told.ports:
        rows = record.table("pauses", end=port.end)
        states = rows["stopped"]
        if np.any(states != (np.arange(len(states)) + 1) % 2):
            raise RecordError(
                "a port was stopped twice, or let go before it was stopped",
                where=str(record.path),
                hint="the record is damaged; run the cell again with --fresh",
            )
        found[port.end] = (rows["t_ns"][states == 0].tolist(), rows["t_ns"][states == 1].tolist())
    return found


def _undone(record: Record) -> Iterator[Found]:
    counters = stack_counters(record)
    if counters and record.flows(*kinds.TCP_STREAMS):
        yield Found(TOTAL, float(sum(counters.get(f"TcpExt.{name}", 0) for name in _UNDONE)))


def _checksums(record: Record) -> Iterator[Found]:
    counters = stack_counters(record)
    if not counters:
        return
    by_kind = {kind: sum(counters.get(name, 0) for name in names) for kind, names in _CHECKSUMS.items()}
    yield Found(TOTAL, float(sum(by_kind.values()) + counters.get(_HEADERS, 0)))
    for kind, count in by_kind.items():
        if record.flows(kind):
            yield Found(f"kind:{kind}", float(count))


def _headers(record: Record) -> Iterator[Found]:
    counters = stack_counters(record)
    if counters:
        yield Found(TOTAL, float(counters.get(_HEADERS, 0)))


def _not_read(record: Record) -> Iterator[Found]:
    counters = stack_counters(record)
    if counters and any(flow.kind in kinds.UDP_STREAMS for flow in record.flows()):
        yield Found(TOTAL, float(sum(counters.get(name, 0) for name in _FULL_SOCKETS)))


METRICS = [
    Metric(
        "path_share",
        "1",
        "none",
        ("end",),
        "Packets that a node sent by this cable of a bond, or by this path, over those by all of them; of "
        "a bond with LACP's own, one a second.",
        _share,
    ),
    Metric(
        "paused_pct",
        "%",
        "none",
        ("end",),
        "Share of the experiment in which a port was stopped by Ethernet's PAUSE. Of links with `pause` "
        "only.",
        _stopped,
    ),
    Metric(
        "pauses",
        "1",
        "none",
        ("end",),
        "How often a port was stopped by Ethernet's PAUSE. Of links with `pause` only.",
        _stops,
    ),
    Metric(
        "reordering_segments",
        "segments",
        "none",
        ("flow",),
        "Over how many segments TCP believes that packets may be late without being lost (tcpi_reordering "
        "at the last sample; net.ipv4.tcp_reordering at first).",
        counter("reordering"),
    ),
    Metric(
        "reorderings_seen",
        "1",
        "lower",
        ("flow",),
        "How often the sender saw that a packet had been late and not lost (tcpi_reord_seen, since 4.19).",
        counter("reord_seen"),
    ),
    Metric(
        "reductions_undone",
        "1",
        "none",
        ("total",),
        "How often senders found an assumed loss to be false and undid the reduction: TCPFullUndo, "
        "TCPPartialUndo, TCPDSACKUndo and TCPLossUndo.",
        _undone,
        telling=Telling("reductions undone", 220, if_any=True, counts=True),
    ),
    Metric(
        "checksum_errors",
        "packets",
        "lower",
        ("total", "kind"),
        "Packets that hosts threw away because a checksum was wrong: InCsumErrors of UDP, TCP, ICMP and IP "
        "(of IP headers in the total alone), without routers.",
        _checksums,
        telling=Telling("checksum errors", 230, if_any=True),
    ),
    Metric(
        "header_errors",
        "packets",
        "lower",
        ("total",),
        "Packets that hosts threw away because an IPv4 header's checksum was wrong (IpExtInCsumErrors).",
        _headers,
    ),
    Metric(
        "receive_buffer_drops",
        "packets",
        "lower",
        ("total",),
        "Datagrams that found the socket's receive buffer full: UdpRcvbufErrors.",
        _not_read,
        telling=Telling("receive buffer drops", 240, if_any=True),
    ),
]

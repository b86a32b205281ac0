"""Readings: how each series is taken from the raw tables.

Takes a `Record` and a flow or a link end, gives stamps in ns [n] and values [n]. `series` names them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.errors import RecordError
from rushhour.quantities.netem_rate import netem_rate
from rushhour.record import brought, courses, decode, multipath
from rushhour.series import counted, idle_rtt
from rushhour.series.netem_bytes import as_counted
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rushhour.record.context import End, Flow
    from rushhour.record.record import Record

Samples = tuple["NDArray[np.int64]", "NDArray[np.float64]"]

# ssthresh before the first loss: TCP_INFINITE_SSTHRESH of <net/tcp.h>.
NO_SSTHRESH = 0x7FFFFFFF
# "not limited", in 64 and in 32 bits (kernels before 4.20 kept the pacing rate in 32).
NO_PACING = (2**64 - 1, 2**32 - 1)
# More bins than this are no experiment but a damaged stamp.
_MAX_BINS = 10_000_000
# TCP_CA_Recovery and TCP_CA_Loss of <linux/tcp.h>.
CA_RECOVERY, CA_LOSS = 3, 4


Delivered = tuple["NDArray[np.int64]", "NDArray[np.int64]"]


def delivered(record: Record, flow: Flow) -> Delivered:
    """Payload bytes that had reached the receiver, cumulative: stamps in ns [n], bytes [n].

    TCP: `tcpi_bytes_received` of the receiver at each sample (MPTCP: `mptcpi_…`), between the connection
    (0 bytes) and the end as the agent reports it. UDP: each datagram at its first arrival (duplicates do not
    count), or what iperf3 reports of its intervals.
    """
    return record.curve(_delivered, flow)


def _delivered(record: Record, flow: Flow) -> Delivered:
    if flow.kind in kinds.UDP_STREAMS and flow.generator == "iperf3":
        return counted.intervals(record, flow)
    if flow.kind in kinds.UDP_STREAMS and flow.is_found:
        return counted.datagrams(record, flow)
    if flow.kind in kinds.UDP_STREAMS and not record.has("udp"):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    if flow.kind in kinds.UDP_STREAMS:
        rows = first_arrivals(record, flow)
        rows = rows[np.argsort(rows["rx_ns"], kind="stable")]
        return rows["rx_ns"].astype(np.int64), np.cumsum(counted.sizes(record, flow, rows["seq"]))
    return curve(record, flow, "bytes_received", 1)


def first_arrivals(record: Record, flow: Flow) -> decode.Rows:
    """The rows of the `udp` table without duplicates, in order of arrival."""
    rows = record.table("udp", flow=flow.id)
    _, first = np.unique(rows["seq"], return_index=True)
    return rows[np.sort(first)]


def curve(record: Record, flow: Flow, field: str, side: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A counter of payload of `tcp_info`, from the connection (0) to the last sample; see `delivered`."""
    whole = flow.kind in kinds.MPTCP_STREAMS
    t_ns, info = multipath.mptcp_info(record, flow.id, side) if whole else record.tcp_info(flow.id, side)
    known = field in (info.dtype.names or ())
    count = info[field].astype(np.int64) if known else np.zeros(0, np.int64)
    t_ns = t_ns if known else np.zeros(0, np.int64)
    outcome = flow.outcome
    if outcome.connected_ns is not None:
        later = t_ns > outcome.connected_ns
        t_ns = np.concatenate([[outcome.connected_ns], t_ns[later]])
        count = np.concatenate([[0], count[later]])
    done, total = outcome.receiver_done_ns, outcome.bytes_received
    if side == 1 and done is not None and total is not None:
        earlier = t_ns < done
        t_ns = np.concatenate([t_ns[earlier], [done]])
        # The kernel counts the FIN as one byte, the reader does not.
        count = np.concatenate([np.minimum(count[earlier], total), [total]])
    return t_ns, count


def rate(t_ns: NDArray[np.int64], count: NDArray[np.int64], sample_ns: int) -> Samples:
    """bit/s over each interval between two readings, stamped with its end.

    What is left at either edge is joined to its neighbour where it is shorter than half a sampling
    interval: a few packets over microseconds are no rate.
    """
    keep = np.ones(len(t_ns), bool)
    if len(t_ns) > 2:
        keep[1] = t_ns[1] - t_ns[0] >= sample_ns / 2
        keep[-2] = keep[-2] and t_ns[-1] - t_ns[-2] >= sample_ns / 2
    t_ns, count = t_ns[keep], count[keep]
    span, moved = np.diff(t_ns), np.diff(count)
    # A counter that goes back belongs to another socket.
    good = (span > 0) & (moved >= 0)
    return t_ns[1:][good], moved[good] * 8e9 / span[good]


def goodput_tcp(record: Record, flow: Flow) -> Samples:
    """Payload rate at the receiver between samples, in bit/s."""
    if flow.kind not in (*kinds.TCP_STREAMS, *kinds.SUBFLOWS):
        return empty()
    return rate(*curve(record, flow, "bytes_received", 1), record.sample_ns)


def goodput_udp(record: Record, flow: Flow) -> Samples:
    """Payload rate of the datagrams that arrived in each sampling interval, in bit/s."""
    if flow.kind in kinds.UDP_STREAMS and not flow.is_stamped:
        return rate(*delivered(record, flow), record.sample_ns)
    t_ns, _ = delivered(record, flow) if flow.kind in kinds.UDP_STREAMS else empty()
    if not len(t_ns):
        return empty()
    # A bin holds what arrived in (k-1, k] sampling intervals and is stamped with its end.
    bins = -(-t_ns // record.sample_ns)
    if bins[-1] - bins[0] > _MAX_BINS:
        raise RecordError("the stamps of the 'udp' table span an absurd time", where=str(record.path))
    packets = np.bincount(bins - bins[0])
    t_bins = (bins[0] + np.arange(len(packets))) * record.sample_ns
    values = packets.astype(np.float64) * ((flow.packet_bytes or 0) * 8e9 / record.sample_ns)
    return t_bins, values


def send_rate(record: Record, flow: Flow) -> Samples:
    """Payload rate of the sender between samples, retransmissions included, in bit/s."""
    return (
        rate(*curve(record, flow, "bytes_sent", 0), record.sample_ns)
        if flow.kind in kinds.TCP_STREAMS
        else empty()
    )


def probe(column: str) -> Callable[[Record, Flow], Samples]:
    """A column of `tcp_probe`, as it is."""

    def reading(record: Record, flow: Flow) -> Samples:
        rows = record.table("tcp_probe", flow=flow.id)
        return stamps(rows), rows[column].astype(np.float64)

    return reading


def info(
    field: str, side: int = 0, factor: float = 1.0, unknown: tuple[int, ...] = ()
) -> Callable[[Record, Flow], Samples]:
    """A field of `tcp_info` times a factor; the values that mean unknown become nan."""

    def reading(record: Record, flow: Flow) -> Samples:
        t_ns, info = record.tcp_info(flow.id, side)
        if field not in (info.dtype.names or ()):
            return empty()
        values = info[field].astype(np.float64) * factor
        return t_ns, np.where(is_one_of(info[field], unknown), np.nan, values) if unknown else values

    return reading


def is_one_of(values: NDArray[np.unsignedinteger], few: tuple[int, ...]) -> NDArray[np.bool_]:
    """Which of the values [n] are among a few; `np.isin` sorts for it, which takes longer than all else."""
    found = np.zeros(len(values), bool)
    for one in few:
        found |= values == np.uint64(one)
    return found


def ssthresh(record: Record, flow: Flow) -> Samples:
    """`ssthresh` of `tcp_probe`; nan before the first loss."""
    t_ns, values = probe("ssthresh")(record, flow)
    return t_ns, np.where(values == NO_SSTHRESH, np.nan, values)


def inflight(record: Record, flow: Flow) -> Samples:
    """Bytes sent and not acknowledged, from `tcp_probe`."""
    rows = record.table("tcp_probe", flow=flow.id)
    # Unsigned subtraction wraps as sequence numbers do.
    bytes_out = rows["snd_nxt"].astype(np.uint32) - rows["snd_una"].astype(np.uint32)
    return stamps(rows), bytes_out.astype(np.float64)


def sequence(column: str) -> Callable[[Record, Flow], Samples]:
    """A sequence number of `tcp_probe` in bytes from the first that was unacknowledged, beyond 2³² too."""

    def reading(record: Record, flow: Flow) -> Samples:
        rows = record.table("tcp_probe", flow=flow.id)
        numbers = rows[column].astype(np.uint32)
        # Differences wrap as sequence numbers do; a step of more than 2³¹ is one back.
        steps = np.diff(numbers, prepend=rows["snd_una"][:1].astype(np.uint32)).view(np.int32)
        return stamps(rows), np.cumsum(steps, dtype=np.float64)

    return reading


def retransmit_events(record: Record, flow: Flow) -> Samples:
    """The number of retransmission events so far, at each."""
    rows = record.table("tcp_retransmit_skb", flow=flow.id)
    return stamps(rows), np.arange(1, len(rows) + 1, dtype=np.float64)


def cong_state(record: Record, flow: Flow) -> Samples:
    """`icsk_ca_state` at each change."""
    rows = record.table("tcp_cong_state_set", flow=flow.id)
    return stamps(rows), rows["cong_state"].astype(np.float64)


def loss_events(record: Record, flow: Flow) -> Samples:
    """The changes of state that begin a loss event: into Recovery, or into Loss."""
    t_ns, state = cong_state(record, flow)
    before = np.concatenate([[0.0], state[:-1]]) if len(state) else state
    begins = (state >= CA_RECOVERY) & (before < CA_RECOVERY) | (state == CA_LOSS) & (before == CA_RECOVERY)
    return t_ns[begins], state[begins]


def queue_delay_at_acks(record: Record, flow: Flow) -> Samples:
    """Smoothed RTT at each ACK less the idle path's as that ACK and those before it met it, in µs."""
    if flow.base_rtt_ns is None or flow.kind not in kinds.TCP_STREAMS:
        return empty()
    t_ns, srtt = probe("srtt")(record, flow)
    first = _first_held(record, flow, srtt)
    if not idle_rtt.varies(flow, record.context.ends):
        idle = np.full(len(srtt), float(flow.base_rtt_ns))
        return t_ns, srtt - (idle if first is None else idle_rtt.smoothed(idle, srtt, first)) / 1e3
    sent = _sent_ns(record, flow, t_ns)
    sent_s, took_s = sent.astype(np.float64) * 1e-9, (t_ns - sent).astype(np.float64) * 1e-9
    base = idle_rtt.of_packets(record.context, flow, sent_s, took_s)
    return (t_ns, srtt - idle_rtt.smoothed(base, srtt, first) / 1e3) if base is not None else empty()


def _first_held(record: Record, flow: Flow, srtt: NDArray[np.float64]) -> float | None:
    crossed = record.plan.flow(flow.id).open == "both"
    return idle_rtt.of_crossing_syns(flow, srtt) if crossed else None


def _sent_ns(record: Record, flow: Flow, t_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """When the first byte was sent that each ACK acknowledged, as far as ACKs clock a sender [n].

    It is that byte whose RTT the kernel takes (tcp_clean_rtx_queue). An event shows what was before its ACK:
    `snd_nxt` of the next one is what it brought about.
    """
    una, nxt = sequence("snd_una")(record, flow)[1], sequence("snd_nxt")(record, flow)[1]
    out = np.searchsorted(np.maximum.accumulate(nxt), una, side="right") if len(nxt) else una.astype(np.int64)
    before: NDArray[np.int64] = t_ns[np.clip(out - 1, 0, max(0, len(t_ns) - 1))]
    return np.minimum(np.where(out > 0, before, flow.active_ns[0] if flow.active_ns else 0), t_ns)


def queue_delay_at_samples(record: Record, flow: Flow) -> Samples:
    """The same at each sample of `tcp_info`."""
    if flow.base_rtt_ns is None or flow.kind not in kinds.TCP_STREAMS:
        return empty()
    t_ns, srtt = info("rtt", unknown=(0,))(record, flow)
    acks = info("segs_in")(record, flow)[1]
    # Before 4.2 nobody counted segments: then all that came is taken to be smoothed in.
    counted = acks if len(acks) == len(t_ns) else np.arange(len(t_ns), dtype=np.float64) * 1000
    t_s, first = t_ns.astype(np.float64) * 1e-9, _first_held(record, flow, srtt)
    base = idle_rtt.smoothed_between(flow, record.context.ends, t_s, counted, first)
    return (t_ns, srtt - base / 1e3) if base is not None else empty()


def one_way_delay(record: Record, flow: Flow) -> Samples:
    """Delay of each datagram that arrived, in µs."""
    rows = record.table("udp", flow=flow.id)
    return rows["rx_ns"].astype(np.int64), (rows["rx_ns"] - rows["tx_ns"]) / 1e3


def ipdv(record: Record, flow: Flow) -> Samples:
    """IP packet delay variation (RFC 3393): one-way delay less that of the packet before, in µs.

    Of neighbours in sequence that both arrived.
    """
    rows = first_arrivals(record, flow)
    rows = rows[np.argsort(rows["seq"], kind="stable")]
    pairs = np.diff(rows["seq"].astype(np.int64)) == 1
    delay = (rows["rx_ns"] - rows["tx_ns"]) / 1e3
    return rows["rx_ns"].astype(np.int64)[1:][pairs], np.diff(delay)[pairs]


def ping(record: Record, flow: Flow) -> Samples:
    """Round trip of each echo request in µs; nan where no answer came."""
    rows = record.table("ping", flow=flow.id)
    rtt = (rows["rx_ns"] - rows["tx_ns"]) / 1e3
    return rows["tx_ns"].astype(np.int64), np.where(rows["rx_ns"] < 0, np.nan, rtt)


def transaction(record: Record, flow: Flow) -> Samples:
    """Duration of each transaction in µs."""
    rows = record.table("transaction", flow=flow.id)
    return rows["end_ns"].astype(np.int64), (rows["end_ns"] - rows["start_ns"]) / 1e3


def cc(
    algorithm: bytes, convert: Callable[[decode.Rows], NDArray[np.float64]]
) -> Callable[[Record, Flow], Samples]:
    """What one congestion control tells of itself, or one that tells the same; empty for flows of another."""

    def reading(record: Record, flow: Flow) -> Samples:
        rows = record.socket(flow.id, 0)
        told = brought.tells_as(record, rows["cc"], algorithm)
        known = decode.cc_info(rows["ccinfo"][told], algorithm)
        return empty() if known is None else (stamps(rows)[told], convert(known))

    return reading


def qdisc(column: str, factor: float = 1.0) -> Callable[[Record, End], Samples]:
    """A column of an end's root qdisc times a factor."""

    def reading(record: Record, end: End) -> Samples:
        rows = record.root_qdisc(end.end)
        return stamps(rows), rows[column].astype(np.float64) * factor

    return reading


def queue_delay_end(record: Record, end: End) -> Samples:
    """Bytes waiting, as netem counts them, over the rate of that instant, in µs; nan in an outage."""
    if not end.rate_bps:
        return empty()
    rows = record.root_qdisc(end.end)
    t_ns, waiting = stamps(rows), 8e6 * as_counted(rows["backlog"], rows["qlen"], netem_rate(end.queue))
    rate = courses.setting(end, "rate_bps", t_ns.astype(np.float64) * 1e-9)
    return t_ns, np.divide(waiting, rate, out=np.full(len(waiting), np.nan), where=rate > 0)


def changed(name: str, key: str, factor: float = 1.0) -> Callable[[Record, End], Samples]:
    """A setting of an end over time: at the start of the experiment, then at each change when it was done."""

    def reading(record: Record, end: End) -> Samples:
        course = end.over_time.get(name)
        if course is None:
            return empty()
        rows = record.table("changes", end=end.end)
        rows = rows[rows["key"] == key.encode()]
        t_ns = np.concatenate([[0], rows["done_ns"]]).astype(np.int64)
        return t_ns, np.concatenate([[course[0][1]], rows["value"]]) * factor

    return reading


def drops(record: Record, end: End) -> Samples:
    """Drops of the root qdisc; the kernel's 32-bit counter unwrapped."""
    rows = record.root_qdisc(end.end)
    return stamps(rows), decode.unwrap32(rows["drops"]).astype(np.float64)


def marks(record: Record, end: End) -> Samples:
    """The sum over the qdiscs of this end that count marks; they are read at the same instants."""
    rows = record.table("qdisc", end=end.end)
    t_ns, total = empty()
    kinds, handles = rows["kind"][:64].tolist(), rows["handle"][:64].tolist()
    for kind, handle in dict.fromkeys(zip(kinds, handles, strict=True)):
        mine = rows[(rows["kind"] == kind) & (rows["handle"] == handle)]
        marks = decode.marks(mine["xstats"], mine["xstats_len"], kind)
        if marks is not None:
            t_ns, total = stamps(mine), marks + total if len(total) == len(marks) else marks
    return t_ns, total


def sojourn(record: Record, end: End) -> Samples:
    """Time in the queue of each packet that left it, in µs."""
    rows = record.table("sojourn", end=end.end)
    return stamps(rows), rows["sojourn_ns"] / 1e3


def sojourn_flow(record: Record, flow: Flow) -> Samples:
    """Time in the queue of its bottleneck of each packet of a flow that left it, in µs."""
    rows = record.table("sojourn", flow=flow.id)
    rows = rows[np.isin(rows["end"], flow.bottleneck_ends)]
    return stamps(rows), rows["sojourn_ns"] / 1e3


def tx_rate(record: Record, end: End) -> Samples:
    """Rate of frames sent between samples, in bit/s."""
    rows = record.table("interface", end=end.end)
    return rate(stamps(rows), rows["tx_bytes"].astype(np.int64), 0)


def wire_lost(record: Record, end: End) -> Samples:
    """Losses of the seeded element so far."""
    rows = record.table("wire", end=end.end)
    return stamps(rows), rows["lost"].astype(np.float64)


def stamps(rows: decode.Rows) -> NDArray[np.int64]:
    """The stamps of a table's rows."""
    return rows["t_ns"].astype(np.int64)


def empty() -> Samples:
    """No samples."""
    return np.zeros(0, np.int64), np.zeros(0)

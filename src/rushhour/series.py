"""Series: stamped values of one flow or one link end, by name.

Takes a `Record`, gives raw samples as they were read: nothing is interpolated, smoothed or filled in. What
the kernel says is unknown is nan. A series whose readings were switched off is empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rushhour import decode
from rushhour.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from rushhour.context import End, Flow
    from rushhour.record import Record

Samples = tuple["NDArray[np.int64]", "NDArray[np.float64]"]

# ssthresh before the first loss: TCP_INFINITE_SSTHRESH of <net/tcp.h>.
_NO_SSTHRESH = 0x7FFFFFFF
# "not limited", in 64 and in 32 bits (kernels before 4.20 kept the pacing rate in 32).
_NO_PACING = (2**64 - 1, 2**32 - 1)
# More bins than this are no experiment but a damaged stamp.
_MAX_BINS = 10_000_000
# TCP_CA_Recovery and TCP_CA_Loss of <linux/tcp.h>.
CA_RECOVERY, CA_LOSS = 3, 4


@dataclass(frozen=True)
class Series:
    """One stamped quantity.

    `t_s` float64 [n] are seconds from the start of the experiment, `values` float64 [n] are in `unit`;
    `label` is the flow's name or the end's label; `source` the raw table the samples came from.
    """

    name: str
    unit: str
    label: str
    t_s: NDArray[np.float64]
    values: NDArray[np.float64]
    source: str = ""

    def __len__(self) -> int:
        """The number of samples."""
        return len(self.t_s)


@dataclass(frozen=True)
class Kind:
    """What a series is: unit, whose it is (`flow` or `end`), meaning, and how to read it from which table."""

    unit: str
    scope: str
    meaning: str
    sources: Mapping[str, Callable[[Record, Any], Samples]]


def make(record: Record, name: str, flow: int | str | None, end: int | str | None) -> Series:
    """Make a series from the first of its tables that the record has.

    Raises:
        RecordError: the name is unknown, or the flow or end is missing or not in the record.
    """
    kind = SERIES.get(name)
    if kind is None:
        raise RecordError(f"there is no series {name!r}", hint="series: " + ", ".join(sorted(SERIES)))
    which = flow if kind.scope == "flow" else end
    if which is None:
        raise RecordError(f"the series {name!r} belongs to one {kind.scope}", hint=f"give {kind.scope}=")
    owner = record.context.flow(which) if kind.scope == "flow" else record.context.end(which)
    label = owner.name if kind.scope == "flow" else owner.label  # type: ignore[union-attr]
    for source, read in kind.sources.items():
        if record.has(source):
            t_ns, values = read(record, owner)
            if len(t_ns):
                return Series(name, kind.unit, label, np.asarray(t_ns * 1e-9, np.float64), values, source)
    return Series(name, kind.unit, label, np.zeros(0), np.zeros(0), "")


def delivered(record: Record, flow: Flow) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Payload bytes that had reached the receiver, cumulative: stamps in ns [n], bytes [n].

    TCP: `tcpi_bytes_received` of the receiver at each sample, between the connection (0 bytes) and the end
    as the agent reports it. UDP: each datagram at its first arrival (duplicates do not count).
    """
    if flow.kind == "udp" and not record.has("udp"):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    if flow.kind == "udp":
        rows = first_arrivals(record, flow)
        rx = np.sort(rows["rx_ns"].astype(np.int64))
        return rx, np.arange(1, len(rx) + 1, dtype=np.int64) * (flow.packet_bytes or 0)
    return _curve(record, flow, "bytes_received", 1)


def first_arrivals(record: Record, flow: Flow) -> decode.Rows:
    """The rows of the `udp` table without duplicates, in order of arrival."""
    rows = record.table("udp", flow=flow.id)
    _, first = np.unique(rows["seq"], return_index=True)
    return rows[np.sort(first)]


def _curve(record: Record, flow: Flow, field: str, side: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    t_ns, info = record.tcp_info(flow.id, side)
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


def _rate(t_ns: NDArray[np.int64], count: NDArray[np.int64], sample_ns: int) -> Samples:
    # bit/s over each interval between two readings, stamped with its end. What is left at either edge is
    # joined to its neighbour where it is shorter than half a sampling interval: a few packets over
    # microseconds are no rate.
    keep = np.ones(len(t_ns), bool)
    if len(t_ns) > 2:
        keep[1] = t_ns[1] - t_ns[0] >= sample_ns / 2
        keep[-2] = keep[-2] and t_ns[-1] - t_ns[-2] >= sample_ns / 2
    t_ns, count = t_ns[keep], count[keep]
    span, moved = np.diff(t_ns), np.diff(count)
    # A counter that goes back belongs to another socket.
    good = (span > 0) & (moved >= 0)
    return t_ns[1:][good], moved[good] * 8e9 / span[good]


def _goodput_tcp(record: Record, flow: Flow) -> Samples:
    return (
        _rate(*_curve(record, flow, "bytes_received", 1), record.sample_ns)
        if flow.kind == "tcp"
        else _empty()
    )


def _goodput_udp(record: Record, flow: Flow) -> Samples:
    t_ns, _ = delivered(record, flow)
    if not len(t_ns):
        return _empty()
    # A bin holds what arrived in (k-1, k] sampling intervals and is stamped with its end.
    bins = -(-t_ns // record.sample_ns)
    if bins[-1] - bins[0] > _MAX_BINS:
        raise RecordError("the stamps of the 'udp' table span an absurd time", where=str(record.path))
    packets = np.bincount(bins - bins[0])
    t_bins = (bins[0] + np.arange(len(packets))) * record.sample_ns
    values = packets.astype(np.float64) * ((flow.packet_bytes or 0) * 8e9 / record.sample_ns)
    return t_bins, values


def _send_rate(record: Record, flow: Flow) -> Samples:
    return _rate(*_curve(record, flow, "bytes_sent", 0), record.sample_ns) if flow.kind == "tcp" else _empty()


def _probe(column: str) -> Callable[[Record, Flow], Samples]:
    def read(record: Record, flow: Flow) -> Samples:
        rows = record.table("tcp_probe", flow=flow.id)
        return _stamps(rows), rows[column].astype(np.float64)

    return read


def _info(
    field: str, side: int = 0, factor: float = 1.0, unknown: tuple[int, ...] = ()
) -> Callable[[Record, Flow], Samples]:
    def read(record: Record, flow: Flow) -> Samples:
        t_ns, info = record.tcp_info(flow.id, side)
        if field not in (info.dtype.names or ()):
            return _empty()
        values = info[field].astype(np.float64) * factor
        return t_ns, np.where(np.isin(info[field], unknown), np.nan, values) if unknown else values

    return read


def _ssthresh(record: Record, flow: Flow) -> Samples:
    t_ns, values = _probe("ssthresh")(record, flow)
    return t_ns, np.where(values == _NO_SSTHRESH, np.nan, values)


def _inflight(record: Record, flow: Flow) -> Samples:
    rows = record.table("tcp_probe", flow=flow.id)
    # Unsigned subtraction wraps as sequence numbers do.
    bytes_out = rows["snd_nxt"].astype(np.uint32) - rows["snd_una"].astype(np.uint32)
    return _stamps(rows), bytes_out.astype(np.float64)


def _retransmit_events(record: Record, flow: Flow) -> Samples:
    rows = record.table("tcp_retransmit_skb", flow=flow.id)
    return _stamps(rows), np.arange(1, len(rows) + 1, dtype=np.float64)


def _cong_state(record: Record, flow: Flow) -> Samples:
    rows = record.table("tcp_cong_state_set", flow=flow.id)
    return _stamps(rows), rows["cong_state"].astype(np.float64)


def _loss_events(record: Record, flow: Flow) -> Samples:
    t_ns, state = _cong_state(record, flow)
    before = np.concatenate([[0.0], state[:-1]]) if len(state) else state
    begins = (state >= CA_RECOVERY) & (before < CA_RECOVERY) | (state == CA_LOSS) & (before == CA_RECOVERY)
    return t_ns[begins], state[begins]


def _queue_delay_flow(read: Callable[[Record, Flow], Samples]) -> Callable[[Record, Flow], Samples]:
    def difference(record: Record, flow: Flow) -> Samples:
        if flow.base_rtt_ns is None or flow.kind != "tcp":
            return _empty()
        t_ns, values = read(record, flow)
        return t_ns, values - flow.base_rtt_ns / 1e3

    return difference


def _one_way_delay(record: Record, flow: Flow) -> Samples:
    rows = record.table("udp", flow=flow.id)
    return rows["rx_ns"].astype(np.int64), (rows["rx_ns"] - rows["tx_ns"]) / 1e3


def _ipdv(record: Record, flow: Flow) -> Samples:
    # RFC 3393: the difference of one-way delays of a pair of packets; here of neighbours in sequence that
    # both came.
    rows = first_arrivals(record, flow)
    rows = rows[np.argsort(rows["seq"], kind="stable")]
    pairs = np.diff(rows["seq"].astype(np.int64)) == 1
    delay = (rows["rx_ns"] - rows["tx_ns"]) / 1e3
    return rows["rx_ns"].astype(np.int64)[1:][pairs], np.diff(delay)[pairs]


def _ping(record: Record, flow: Flow) -> Samples:
    rows = record.table("ping", flow=flow.id)
    rtt = (rows["rx_ns"] - rows["tx_ns"]) / 1e3
    return rows["tx_ns"].astype(np.int64), np.where(rows["rx_ns"] < 0, np.nan, rtt)


def _transaction(record: Record, flow: Flow) -> Samples:
    rows = record.table("transaction", flow=flow.id)
    return rows["end_ns"].astype(np.int64), (rows["end_ns"] - rows["start_ns"]) / 1e3


def _qdisc(column: str, factor: float = 1.0) -> Callable[[Record, End], Samples]:
    def read(record: Record, end: End) -> Samples:
        rows = record.root_qdisc(end.end)
        return _stamps(rows), rows[column].astype(np.float64) * factor

    return read


def _queue_delay_end(record: Record, end: End) -> Samples:
    return _qdisc("backlog", 8e6 / end.rate_bps)(record, end) if end.rate_bps else _empty()


def _drops(record: Record, end: End) -> Samples:
    rows = record.root_qdisc(end.end)
    return _stamps(rows), decode.unwrap32(rows["drops"]).astype(np.float64)


def _marks(record: Record, end: End) -> Samples:
    # The sum over the qdiscs of this end that count marks; they are read at the same instants.
    rows = record.table("qdisc", end=end.end)
    t_ns, total = _empty()
    for kind, handle in {(bytes(row["kind"]), int(row["handle"])) for row in rows[["kind", "handle"]][:64]}:
        mine = rows[(rows["kind"] == kind) & (rows["handle"] == handle)]
        marks = decode.marks(mine["xstats"], mine["xstats_len"], kind)
        if marks is not None:
            t_ns, total = _stamps(mine), marks + total if len(total) == len(marks) else marks
    return t_ns, total


def _sojourn(record: Record, end: End) -> Samples:
    rows = record.table("sojourn", end=end.end)
    return _stamps(rows), rows["sojourn_ns"] / 1e3


def _tx_rate(record: Record, end: End) -> Samples:
    rows = record.table("interface", end=end.end)
    return _rate(_stamps(rows), rows["tx_bytes"].astype(np.int64), 0)


def _wire_lost(record: Record, end: End) -> Samples:
    rows = record.table("wire", end=end.end)
    return _stamps(rows), rows["lost"].astype(np.float64)


def _stamps(rows: decode.Rows) -> NDArray[np.int64]:
    return rows["t_ns"].astype(np.int64)


def _empty() -> Samples:
    return np.zeros(0, np.int64), np.zeros(0)


_RTT = _info("rtt", unknown=(0,))
_SND_SSTHRESH = _info("snd_ssthresh", unknown=(_NO_SSTHRESH,))


def _of_flow(unit: str, meaning: str, **sources: Callable[[Record, Flow], Samples]) -> Kind:
    return Kind(unit, "flow", meaning, sources)


def _of_end(unit: str, meaning: str, **sources: Callable[[Record, End], Samples]) -> Kind:
    return Kind(unit, "end", meaning, sources)


# The keyword is the raw table; where there are two, the first that the record has is used.
SERIES: Mapping[str, Kind] = {
    "snd_cwnd": _of_flow(
        "segments", "congestion window", tcp_probe=_probe("snd_cwnd"), tcp_info=_info("snd_cwnd")
    ),
    "ssthresh": _of_flow(
        "segments",
        "slow-start threshold as tcp_current_ssthresh() gives it (outside recovery never below 3/4 of the "
        "window); nan before the first loss",
        tcp_probe=_ssthresh,
        tcp_info=_SND_SSTHRESH,
    ),
    "snd_ssthresh": _of_flow(
        "segments", "the slow-start threshold itself; nan before the first loss", tcp_info=_SND_SSTHRESH
    ),
    "srtt_us": _of_flow("µs", "smoothed RTT at each ACK", tcp_probe=_probe("srtt"), tcp_info=_RTT),
    "rtt_us": _of_flow(
        "µs", "tcpi_rtt at each sample: the smoothed RTT; nan before the first", tcp_info=_RTT
    ),
    "rttvar_us": _of_flow("µs", "tcpi_rttvar at each sample", tcp_info=_info("rttvar")),
    "min_rtt_us": _of_flow(
        "µs",
        "tcpi_min_rtt at each sample: the least RTT within the kernel's window",
        tcp_info=_info("min_rtt", unknown=(2**32 - 1,)),
    ),
    "snd_wnd": _of_flow(
        "B", "receive window the peer advertised", tcp_probe=_probe("snd_wnd"), tcp_info=_info("snd_wnd")
    ),
    "rcv_wnd": _of_flow("B", "receive window the receiver advertises", tcp_info=_info("rcv_wnd", side=1)),
    "inflight": _of_flow("B", "snd_nxt - snd_una", tcp_probe=_inflight),
    "goodput_bps": _of_flow(
        "bit/s",
        "payload that reached the receiver, per sampling interval",
        udp=_goodput_udp,
        tcp_info=_goodput_tcp,
    ),
    "send_rate_bps": _of_flow(
        "bit/s", "payload sent, retransmissions included, per sampling interval", tcp_info=_send_rate
    ),
    "delivery_rate_bps": _of_flow(
        "bit/s", "the kernel's latest delivery-rate sample", tcp_info=_info("delivery_rate", factor=8.0)
    ),
    "pacing_rate_bps": _of_flow(
        "bit/s",
        "pacing rate; nan where there is none",
        tcp_info=_info("pacing_rate", factor=8.0, unknown=_NO_PACING),
    ),
    "retransmits": _of_flow(
        "segments",
        "retransmissions so far",
        tcp_retransmit_skb=_retransmit_events,
        tcp_info=_info("total_retrans"),
    ),
    "cong_state": _of_flow(
        "",
        "icsk_ca_state: 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss",
        tcp_cong_state_set=_cong_state,
        tcp_info=_info("ca_state"),
    ),
    "loss_events": _of_flow("", "entries into Recovery (3) or Loss (4)", tcp_cong_state_set=_loss_events),
    "one_way_delay_us": _of_flow(
        "µs", "arrival minus departure of each datagram, stamped at arrival", udp=_one_way_delay
    ),
    "ipdv_us": _of_flow(
        "µs", "one-way delay minus that of the datagram before it in sequence (RFC 3393)", udp=_ipdv
    ),
    "ping_rtt_us": _of_flow(
        "µs", "echo round trip, stamped at departure; nan where no answer came", ping=_ping
    ),
    "transaction_us": _of_flow("µs", "request to response, stamped at its end", transaction=_transaction),
    "srtt_queue_delay_us": _of_flow(
        "µs",
        "smoothed RTT minus base RTT",
        tcp_probe=_queue_delay_flow(_probe("srtt")),
        tcp_info=_queue_delay_flow(_RTT),
    ),
    "queue_bytes": _of_end("B", "bytes waiting in the queue", qdisc=_qdisc("backlog")),
    "queue_packets": _of_end("packets", "packets waiting in the queue", qdisc=_qdisc("qlen")),
    "queue_delay_us": _of_end("µs", "bytes waiting over the rate", qdisc=_queue_delay_end),
    "drops": _of_end("packets", "dropped by the queue so far", qdisc=_drops),
    "marks": _of_end("packets", "marked by the queue so far (ECN)", qdisc=_marks),
    "sojourn_us": _of_end("µs", "time each packet spent in the queue", sojourn=_sojourn),
    "tx_rate_bps": _of_end(
        "bit/s", "frames sent (IP and Ethernet header) per sampling interval", interface=_tx_rate
    ),
    "wire_lost": _of_end("packets", "lost by the seeded element so far", wire=_wire_lost),
}

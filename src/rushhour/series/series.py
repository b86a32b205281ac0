"""Series: stamped values of one flow, one link end, or the run as a whole, by name.

Takes a `Record`, gives raw samples as they were read: nothing is interpolated, smoothed or filled in, but
for those of the run (`sharing`). What the kernel says is unknown is nan. A series whose readings were
switched off is empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rushhour.errors import RecordError
from rushhour.record import decode
from rushhour.series import multipath, sharing
from rushhour.series import readings as read

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from rushhour.record.context import End, Flow
    from rushhour.record.record import Record
    from rushhour.series.readings import Samples


Shape = Literal["line", "hold", "interval", "points"]

RUN = "run"
"""The scope of series that belong to the run as a whole."""


@dataclass(frozen=True)
class Series:
    """One stamped quantity.

    `t_s` float64 [n] are seconds from the start of the experiment, `values` float64 [n] are in `unit`;
    `label` is the flow's name, the end's label, or "all flows"; `source` the raw table the samples came from.
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
    """What a series is: unit, whose it is (`flow`, `end`, `run`), meaning, how to read it from a table.

    `title` is what an axis is called (without it, the words of its name). `shape` is how samples are joined:
    by a `line`, each value until the next (`hold`), each since the last (`interval`), or not (`points`).
    """

    unit: str
    scope: str
    meaning: str
    sources: Mapping[str, Callable[[Record, Any], Samples]]
    title: str = ""
    shape: Shape = "line"


def make(record: Record, name: str, flow: int | str | None, end: int | str | None) -> Series:
    """Make a series from the first of its tables that the record has.

    Raises:
        RecordError: the name is unknown, or the flow or end is missing or not in the record.
    """
    kind = SERIES.get(name)
    if kind is None:
        raise RecordError(f"there is no series {name!r}", hint="series: " + ", ".join(sorted(SERIES)))
    owner, label = _owner(record, name, flow, end)
    for source, reading in kind.sources.items():
        if record.has(source):
            t_ns, values = reading(record, owner)
            if len(t_ns):
                return Series(name, kind.unit, label, np.asarray(t_ns * 1e-9, np.float64), values, source)
    return Series(name, kind.unit, label, np.zeros(0), np.zeros(0), "")


def _owner(record: Record, name: str, flow: int | str | None, end: int | str | None) -> tuple[object, str]:
    """Whose samples are to be read, and its label."""
    scope = SERIES[name].scope
    if scope == RUN:
        return record.context, "all flows"
    which = flow if scope == "flow" else end
    if which is None:
        raise RecordError(f"the series {name!r} belongs to one {scope}", hint=f"give {scope}=")
    if scope == "flow":
        owner = record.context.flow(which)
        return owner, owner.name
    place = record.context.end(which)
    return place, place.label


_RTT = read.info("rtt", unknown=(0,))
_SND_SSTHRESH = read.info("snd_ssthresh", unknown=(read.NO_SSTHRESH,))


def _of_flow(
    unit: str,
    meaning: str,
    *,
    title: str = "",
    shape: Shape = "line",
    **sources: Callable[[Record, Flow], Samples],
) -> Kind:
    return Kind(unit, "flow", meaning, sources, title, shape)


def _of_end(
    unit: str,
    meaning: str,
    *,
    title: str = "",
    shape: Shape = "line",
    **sources: Callable[[Record, End], Samples],
) -> Kind:
    return Kind(unit, "end", meaning, sources, title, shape)


def _of_run(
    unit: str,
    meaning: str,
    reading: Callable[[Record], Samples],
    *sources: str,
    title: str = "",
    shape: Shape = "line",
) -> Kind:
    return Kind(unit, RUN, meaning, dict.fromkeys(sources, lambda record, _: reading(record)), title, shape)


# The keyword is the raw table; where there are two, the first that the record has is used.
SERIES: Mapping[str, Kind] = {
    "snd_cwnd": _of_flow(
        "segments",
        "congestion window",
        title="Congestion window",
        shape="hold",
        tcp_probe=read.probe("snd_cwnd"),
        tcp_info=read.info("snd_cwnd"),
    ),
    "ssthresh": _of_flow(
        "segments",
        "slow-start threshold as tcp_current_ssthresh() gives it (outside recovery never below 3/4 of the "
        "window); nan before the first loss",
        title="Slow-start threshold (as at each ACK)",
        shape="hold",
        tcp_probe=read.ssthresh,
        tcp_info=_SND_SSTHRESH,
    ),
    "snd_ssthresh": _of_flow(
        "segments",
        "the slow-start threshold itself; nan before the first loss",
        title="Slow-start threshold",
        shape="hold",
        tcp_info=_SND_SSTHRESH,
    ),
    "srtt_us": _of_flow(
        "µs",
        "smoothed RTT at each ACK",
        title="Smoothed round-trip time",
        tcp_probe=read.probe("srtt"),
        tcp_info=_RTT,
    ),
    "rtt_us": _of_flow(
        "µs",
        "tcpi_rtt at each sample: the smoothed RTT; nan before the first",
        title="Smoothed round-trip time",
        tcp_info=_RTT,
    ),
    "rttvar_us": _of_flow(
        "µs", "tcpi_rttvar at each sample", title="Round-trip time variation", tcp_info=read.info("rttvar")
    ),
    "min_rtt_us": _of_flow(
        "µs",
        "tcpi_min_rtt at each sample: the least RTT within the kernel's window",
        title="Least round-trip time",
        tcp_info=read.info("min_rtt", unknown=(2**32 - 1,)),
    ),
    "snd_wnd": _of_flow(
        "B",
        "receive window the peer advertised",
        title="Send window",
        shape="hold",
        tcp_probe=read.probe("snd_wnd"),
        tcp_info=read.info("snd_wnd"),
    ),
    "rcv_wnd": _of_flow(
        "B",
        "receive window the receiver advertises",
        title="Receive window",
        shape="hold",
        tcp_info=read.info("rcv_wnd", side=1),
    ),
    "snd_nxt": _of_flow(
        "B",
        "next byte to send, counted from the first ACK's",
        title="Sequence number to be sent next",
        shape="hold",
        tcp_probe=read.sequence("snd_nxt"),
    ),
    "snd_una": _of_flow(
        "B",
        "first byte not acknowledged, counted likewise",
        title="Sequence number not acknowledged",
        shape="hold",
        tcp_probe=read.sequence("snd_una"),
    ),
    "data_len": _of_flow(
        "B",
        "payload of the packet that carried the ACK (tcp_probe's)",
        title="Length of the segment",
        shape="points",
        tcp_probe=read.probe("data_len"),
    ),
    "inflight": _of_flow(
        "B", "snd_nxt - snd_una", title="Data in flight", shape="hold", tcp_probe=read.inflight
    ),
    "goodput_bps": _of_flow(
        "bit/s",
        "payload that reached the receiver, per sampling interval",
        title="Goodput",
        shape="interval",
        udp=read.goodput_udp,
        tcp_info=read.goodput_tcp,
        mptcp_info=multipath.goodput,
    ),
    "subflows": _of_flow(
        "1",
        "subflows of an MPTCP connection, the first included",
        title="Subflows",
        shape="hold",
        mptcp_info=multipath.subflows,
    ),
    "send_rate_bps": _of_flow(
        "bit/s",
        "payload sent, retransmissions included, per sampling interval",
        title="Sending rate",
        shape="interval",
        tcp_info=read.send_rate,
    ),
    "delivery_rate_bps": _of_flow(
        "bit/s",
        "the kernel's latest delivery-rate sample",
        title="Delivery rate",
        tcp_info=read.info("delivery_rate", factor=8.0),
    ),
    "pacing_rate_bps": _of_flow(
        "bit/s",
        "pacing rate; nan where there is none",
        title="Pacing rate",
        tcp_info=read.info("pacing_rate", factor=8.0, unknown=read.NO_PACING),
    ),
    "bbr_bandwidth_bps": _of_flow(
        "bit/s",
        "BBR's estimate of the bottleneck's bandwidth",
        title="Bandwidth estimate of BBR",
        tcp_info=read.cc(b"bbr", decode.bbr_bandwidth_bps),
    ),
    "dctcp_alpha": _of_flow(
        "1",
        "DCTCP's estimate of the fraction marked",
        title="DCTCP's alpha",
        tcp_info=read.cc(b"dctcp", decode.dctcp_alpha),
    ),
    "retransmits": _of_flow(
        "segments",
        "retransmissions so far",
        shape="hold",
        tcp_retransmit_skb=read.retransmit_events,
        tcp_info=read.info("total_retrans"),
    ),
    "cong_state": _of_flow(
        "",
        "icsk_ca_state: 0 Open, 1 Disorder, 2 CWR, 3 Recovery, 4 Loss",
        title="Congestion state",
        shape="hold",
        tcp_cong_state_set=read.cong_state,
        tcp_info=read.info("ca_state"),
    ),
    "loss_events": _of_flow(
        "", "entries into Recovery (3) or Loss (4)", shape="points", tcp_cong_state_set=read.loss_events
    ),
    "one_way_delay_us": _of_flow(
        "µs",
        "arrival minus departure of each datagram, stamped at arrival",
        title="One-way delay",
        shape="points",
        udp=read.one_way_delay,
    ),
    "ipdv_us": _of_flow(
        "µs",
        "one-way delay minus that of the datagram before it in sequence (RFC 3393)",
        title="Delay variation (ipdv)",
        shape="points",
        udp=read.ipdv,
    ),
    "ping_rtt_us": _of_flow(
        "µs",
        "echo round trip, stamped at departure; nan where no answer came",
        title="Echo round-trip time",
        shape="points",
        ping=read.ping,
    ),
    "transaction_us": _of_flow(
        "µs",
        "request to response, stamped at its end",
        title="Transaction time",
        shape="points",
        transaction=read.transaction,
    ),
    "srtt_queue_delay_us": _of_flow(
        "µs",
        "smoothed RTT minus base RTT, which is smoothed alike where a pattern changes it",
        title="Queue delay (smoothed RTT less idle RTT)",
        tcp_probe=read.queue_delay_at_acks,
        tcp_info=read.queue_delay_at_samples,
    ),
    "flow_sojourn_us": _of_flow(
        "µs",
        "time each of its packets spent in the queue of its bottleneck",
        title="Time in the queue of the bottleneck",
        sojourn=read.sojourn_flow,
    ),
    "queue_bytes": _of_end("B", "bytes waiting in the queue", title="Queue", qdisc=read.qdisc("backlog")),
    "queue_packets": _of_end(
        "packets", "packets waiting in the queue", title="Queue", qdisc=read.qdisc("qlen")
    ),
    "queue_delay_us": _of_end(
        "µs", "bytes waiting over the rate", title="Queue delay", qdisc=read.queue_delay_end
    ),
    "drops": _of_end("packets", "dropped by the queue so far", shape="hold", qdisc=read.drops),
    "marks": _of_end("packets", "marked by the queue so far (ECN)", shape="hold", qdisc=read.marks),
    "sojourn_us": _of_end(
        "µs", "time each packet spent in the queue", title="Time in the queue", sojourn=read.sojourn
    ),
    "tx_rate_bps": _of_end(
        "bit/s",
        "frames sent (IP and Ethernet header) per sampling interval",
        title="Rate on the link",
        shape="interval",
        interface=read.tx_rate,
    ),
    "link_rate_bps": _of_end(
        "bit/s",
        "rate of the shaper, where a pattern changes it",
        shape="hold",
        changes=read.changed("rate_bps", "rate"),
    ),
    "link_delay_us": _of_end(
        "µs",
        "delay of the wire, where a pattern changes it",
        shape="hold",
        changes=read.changed("delay_ns", "delay", 1e-3),
    ),
    "link_jitter_us": _of_end(
        "µs",
        "largest jitter of the wire, where a pattern changes it",
        shape="hold",
        changes=read.changed("jitter_ns", "jitter", 1e-3),
    ),
    "link_loss": _of_end(
        "1",
        "loss of the wire, where a pattern changes it",
        shape="hold",
        changes=read.changed("loss", "loss"),
    ),
    "wire_lost": _of_end(
        "packets",
        "lost by the seeded element so far",
        title="Lost on the wire",
        shape="hold",
        wire=read.wire_lost,
    ),
    "jain_index": _of_run(
        "1",
        "Jain's index of what reached the receivers of all TCP and UDP flows active in the whole window; "
        "nan where these are fewer than two. A window is a hundredth of the experiment, or as long as the "
        f"slowest flow takes for {sharing.PACKETS} packets, up to a tenth; it is stamped with its end",
        sharing.jain_over_time,
        "tcp_info",
        "udp",
        shape="interval",
    ),
}

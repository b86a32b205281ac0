"""Kernel structures to named columns, and 32-bit counters to numbers that do not wrap.

Takes the raw bytes that `tables` read, gives numpy arrays. A structure is decoded as far as the kernel gave
it: fields that a kernel does not have yet are absent, never zero.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rushhour.tc.kinds import STATISTICS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

Rows = np.ndarray[Any, np.dtype[np.void]]

Fields = tuple[tuple[str, str], ...]


def _fields(kind: str, names: str, prefix: str = "") -> Fields:
    return tuple((prefix + name, kind) for name in names.split())


# struct tcp_info of <linux/tcp.h>, without the prefix tcpi_. Bytes 6 and 7 hold bit fields, as does the
# last word. From received_ce on: Accurate ECN (RFC 9768), in Linux 7.
TCP_INFO: Fields = (
    *_fields("u1", "state ca_state retransmits probes backoff options wscale flags"),
    *_fields("<u4", "rto ato snd_mss rcv_mss unacked sacked lost retrans fackets"),
    *_fields("<u4", "last_data_sent last_ack_sent last_data_recv last_ack_recv"),
    *_fields("<u4", "pmtu rcv_ssthresh rtt rttvar snd_ssthresh snd_cwnd advmss reordering"),
    *_fields("<u4", "rcv_rtt rcv_space total_retrans"),
    *_fields("<u8", "pacing_rate max_pacing_rate bytes_acked bytes_received"),
    *_fields("<u4", "segs_out segs_in notsent_bytes min_rtt data_segs_in data_segs_out"),
    *_fields("<u8", "delivery_rate busy_time rwnd_limited sndbuf_limited"),
    *_fields("<u4", "delivered delivered_ce"),
    *_fields("<u8", "bytes_sent bytes_retrans"),
    *_fields("<u4", "dsack_dups reord_seen rcv_ooopack snd_wnd rcv_wnd rehash"),
    *_fields("<u2", "total_rto total_rto_recoveries"),
    *_fields("<u4", "total_rto_time received_ce"),
    *_fields("<u4", "delivered_e1_bytes delivered_e0_bytes delivered_ce_bytes"),
    *_fields("<u4", "received_e1_bytes received_e0_bytes received_ce_bytes ecn_bits"),
)

# struct mptcp_info of <linux/mptcp.h>, without the prefix mptcpi_; `pad…` is what the compiler leaves out.
MPTCP_INFO: Fields = (
    *_fields("u1", "subflows add_addr_signal add_addr_accepted"),
    *_fields("u1", "subflows_max add_addr_signal_max add_addr_accepted_max pad1 pad2"),
    *_fields("<u4", "flags token"),
    *_fields("<u8", "write_seq snd_una rcv_nxt"),
    *_fields("u1", "local_addr_used local_addr_max csum_enabled pad3"),
    *_fields("<u4", "retransmits"),
    *_fields("<u8", "bytes_retrans bytes_sent bytes_received bytes_acked"),
    *_fields("u1", "subflows_total pad4 pad5 pad6"),
    *_fields("<u4", "last_data_sent last_data_recv last_ack_recv"),
)

# SK_MEMINFO_* of <linux/sock_diag.h>, in order.
_SKMEM = _fields("<u4", "rmem_alloc rcvbuf wmem_alloc sndbuf fwd_alloc wmem_queued optmem backlog drops")

# union tcp_cc_info of <linux/inet_diag.h>, by the algorithm that fills it.
_VEGAS = _fields("<u4", "enabled rttcnt rtt minrtt", "vegas_")
_DCTCP = _fields("<u2", "enabled ce_state", "dctcp_") + _fields("<u4", "alpha ab_ecn ab_tot", "dctcp_")
_BBR = _fields("<u4", "bw_lo bw_hi min_rtt pacing_gain cwnd_gain", "bbr_")
_CC_INFO: Mapping[bytes, Fields] = {
    **dict.fromkeys((b"vegas", b"yeah", b"illinois", b"nv", b"westwood"), _VEGAS),
    **dict.fromkeys((b"dctcp", b"dctcp-reno"), _DCTCP),
    b"bbr": _BBR,
}

# The counters in a discipline's own statistics that say "marked instead of dropped".
_MARKS = ("ecn_mark", "ce_mark", "marked")


@cache
def layout(fields: Fields, length: int, stride: int | None = None) -> np.dtype[np.void]:
    """The dtype of a structure of which the kernel gave `length` bytes: its whole fields up to there.

    The structures above have no holes, so offsets are running sums. `stride` is the room it was stored in,
    where that is more.
    """
    names: list[str] = []
    formats: list[str] = []
    offsets: list[int] = []
    offset = 0
    for name, text in fields:
        size = np.dtype(text).itemsize
        if offset + size > length:
            break
        names.append(name)
        formats.append(text)
        offsets.append(offset)
        offset += size
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": stride or length})


def tcp_info(raw: Rows) -> Rows:
    """`struct tcp_info` as a structured array [n], fields without the prefix `tcpi_`, in the kernel's units.

    `rtt`, `rttvar`, `min_rtt`, `rcv_rtt`, `rto`, `ato`, `busy_time`, `rwnd_limited`, `sndbuf_limited` are µs,
    `last_*` and `total_rto_time` ms, `pacing_rate` and `delivery_rate` bytes/s.
    """
    return _view(raw, TCP_INFO)


def mptcp_info(raw: Rows) -> Rows:
    """`struct mptcp_info` as a structured array [n], fields without the prefix `mptcpi_`; sizes in bytes.

    `subflows` are those beside the first; `last_*` are ms.
    """
    return _view(raw, MPTCP_INFO)


def skmem(raw: Rows) -> Rows:
    """`SK_MEMINFO_*` as a structured array [n], in bytes (`drops`: packets)."""
    return _view(raw, _SKMEM)


def cc_info(raw: Rows, algorithm: bytes) -> Rows | None:
    """What an algorithm tells through inet_diag, as a structured array [n]; None if it tells nothing."""
    fields = _CC_INFO.get(algorithm)
    return None if fields is None else _view(raw, fields)


def xstats(raw: Rows, lengths: NDArray[np.unsignedinteger], kind: bytes) -> Rows | None:
    """The qdisc's own statistics as a structured array [n]; None if this kind has none that are known.

    `lengths` [n] says how many bytes the kernel gave; the shortest decides which fields there are.
    """
    fields = STATISTICS.get(kind.decode(errors="replace"))
    if fields is None or not len(raw):
        return None
    stride = raw.dtype.itemsize
    dtype = layout(fields, min(int(lengths.min()), stride), stride)
    return np.ascontiguousarray(raw).view(dtype) if dtype.names else None


def marks(raw: Rows, lengths: NDArray[np.unsignedinteger], kind: bytes) -> NDArray[np.float64] | None:
    """Packets marked (ECN CE) by a qdisc since it was made, [n]; None if this kind does not count them."""
    known = xstats(raw, lengths, kind)
    names = [name for name in _MARKS if known is not None and name in (known.dtype.names or ())]
    if known is None or not names:
        return None
    total = np.zeros(len(known))
    for name in names:
        total += known[name]
    return total


def bbr_bandwidth_bps(known: Rows) -> NDArray[np.float64]:
    """BBR's max-filtered bandwidth in bit/s (the kernel keeps bytes/s in two halves)."""
    high: NDArray[np.float64] = known["bbr_bw_hi"].astype(np.float64)
    low: NDArray[np.float64] = known["bbr_bw_lo"].astype(np.float64)
    return (high * 2.0**32 + low) * 8


def dctcp_alpha(known: Rows) -> NDArray[np.float64]:
    """DCTCP's moving average of the fraction of bytes marked, 0 to 1 (the kernel scales it by 1024)."""
    alpha: NDArray[np.float64] = known["dctcp_alpha"].astype(np.float64)
    return alpha / 1024


def unwrap32(values: NDArray[np.unsignedinteger]) -> NDArray[np.int64]:
    """Undo the wrap of 32-bit sequence numbers or counters.

    [n] → int64 [n], beginning at the first value. Steps are taken as the shortest way round the circle (RFC
    1982 arithmetic), so neighbours may go back by up to 2^31.
    """
    if not len(values):
        return np.zeros(0, np.int64)
    steps = np.diff(values.astype(np.uint32)).view(np.int32).astype(np.int64)
    return np.concatenate([[0], np.cumsum(steps)]) + int(values[0])


def _view(raw: Rows, fields: Fields) -> Rows:
    return np.ascontiguousarray(raw).view(layout(fields, raw.dtype.itemsize))

"""What TCP counts of itself (/proc/net/netstat and snmp), summed over the hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.metrics.paths import stack_counters
from rushhour.metrics.value import COUNTED_LATE, TOTAL, Found, Metric
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rushhour.record.record import Record

_TCP = kinds.OVER_TCP
# Metric → what it means, and the counters it is the sum of.
_COUNTERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "loss_probes": ("Probes for a lost tail that were sent (RFC 8985)", ("TCPLossProbes",)),
    "loss_probe_recoveries": ("Tail losses that a probe repaired alone", ("TCPLossProbeRecovery",)),
    "fast_retransmits": (
        "Segments sent again in Recovery, and as the first of a slow start after a timeout",
        ("TCPFastRetrans",),
    ),
    "slow_start_retransmits": ("Segments sent again in slow start after a timeout", ("TCPSlowStartRetrans",)),
    "lost_retransmits": ("Retransmissions that were found to be lost again", ("TCPLostRetransmit",)),
    "fast_recoveries": ("Entries into Recovery", ("TCPSackRecovery", "TCPRenoRecovery")),
    "timer_expirations": ("Expirations of the retransmission timer", ("TCPTimeouts",)),
    "spurious_timeouts": ("Timeouts that F-RTO found to be spurious (RFC 5682)", ("TCPSpuriousRTOs",)),
    "dsacks_sent": (
        "Duplicates reported to the sender by DSACK (RFC 2883)",
        ("TCPDSACKOldSent", "TCPDSACKOfoSent"),
    ),
    "dsacks_received": (
        "Duplicates that senders learnt of by DSACK",
        ("TCPDSACKRecv", "TCPDSACKOfoRecv"),
    ),
    "reordering_events": (
        "How often senders found that packets had been late, not lost",
        ("TCPSACKReorder", "TCPRenoReorder", "TCPTSReorder"),
    ),
    "hystart_train_exits": (
        "Slow starts that HyStart ended by the length of an ACK train",
        ("TCPHystartTrainDetect",),
    ),
    "hystart_delay_exits": ("Slow starts that HyStart ended by delay", ("TCPHystartDelayDetect",)),
    "delayed_acks": ("ACKs that waited for the timer of delayed ACKs", ("DelayedACKs",)),
    "out_of_order_segments": ("Segments that were queued because others were missing", ("TCPOFOQueue",)),
    "autocorked": ("Writes that were held back to be joined by others", ("TCPAutoCorking",)),
    "syn_retransmits": ("SYNs and SYN-ACKs that were sent again", ("TCPSynRetrans",)),
    "zero_windows": ("Changes of the advertised window to zero", ("TCPToZeroWindowAdv",)),
    "window_probes": ("Probes of a window that was zero", ("TCPWinProbe",)),
    "ce_acknowledged": ("Segments that senders took for marked, by what was echoed", ("TCPDeliveredCE",)),
    "rehashes": (
        "Changes of the hash that chooses a connection's path: by a timeout, by duplicates, by marks (PLB)",
        ("TcpTimeoutRehash", "TcpDuplicateDataRehash", "TCPPLBRehash"),
    ),
    "mtu_probes": ("Probes of a larger MTU, successful or not", ("TCPMTUPSuccess", "TCPMTUPFail")),
    "keepalive_probes": ("Questions whether a silent peer is still there", ("TCPKeepAlive",)),
    "fastopens": (
        "Data of SYNs that their servers took, as clients and servers count them",
        ("TCPFastOpenActive", "TCPFastOpenPassive"),
    ),
    "fastopen_failures": (
        "SYNs whose data were not taken, as clients and servers count them",
        ("TCPFastOpenActiveFail", "TCPFastOpenPassiveFail", "TCPFastOpenListenOverflow"),
    ),
    "fastopen_cookies": ("Connections that asked for a cookie of Fast Open", ("TCPFastOpenCookieReqd",)),
    "syn_cookies": ("SYN-ACKs with a cookie, kept in no queue", ("SyncookiesSent",)),
    "syn_cookies_returned": ("Connections that were made of a cookie", ("SyncookiesRecv",)),
    "refused_syns": ("SYNs that a listener dropped", ("ListenDrops",)),
    "buffer_prunes": ("Arrivals that found a receive buffer full and had it made smaller", ("PruneCalled",)),
    "collapsed_segments": (
        "Segments of a full receive buffer that were copied into others",
        ("TCPRcvCollapsed",),
    ),
    "pruned_segments": (
        "Times that data were dropped for a full receive buffer",
        ("RcvPruned", "OfoPruned", "TCPRcvQDrop"),
    ),
    "challenge_acks": ("Answers to segments that would end or disturb a connection", ("TCPChallengeACK",)),
    "resets": ("Connections that were reset", ("TCPAbortOnData", "TCPAbortOnTimeout", "TCPAbortFailed")),
    "time_waits": (
        "Connections that an end remembers: in TIME_WAIT, or in FIN_WAIT2 without an application",
        ("TW", "TWKilled"),
    ),
    "time_wait_overflows": (
        "Connections that an end forgot at once, for it remembers too many (net.ipv4.tcp_max_tw_buckets)",
        ("TCPTimeWaitOverflow",),
    ),
    "time_waits_reused": (
        "New connections on a port that waits in TIME_WAIT (net.ipv4.tcp_tw_reuse)",
        ("TWRecycled",),
    ),
}
# The same of /proc/net/snmp.
_OLDER: dict[str, tuple[str, tuple[str, ...]]] = {
    "resets_sent": ("Segments with RST that hosts sent", ("OutRsts",)),
}


# Counted where they begin since "tcp/dccp: no longer use twsk_net(tw) from tw_timer_handler()".
_LATE = ("TcpExt.TW", "TcpExt.TWKilled")


def _sum(names: tuple[str, ...]) -> Callable[[Record], Iterator[Found]]:
    def function(record: Record) -> Iterator[Found]:
        counters = record.once(stack_counters)
        if not counters or not record.flows(*_TCP):
            return
        if names == _LATE and record.result.kernel.before(5, 18):
            yield Found(TOTAL, None, COUNTED_LATE)
        else:
            yield Found(TOTAL, float(sum(counters.get(name, 0) for name in names)))

    return function


def _echoed(record: Record) -> Iterator[Found]:
    counters = record.once(stack_counters)
    marked = sum(counters.get(name, 0) for name in ("IpExt.InCEPkts", "Ip6.InCEPkts"))
    if marked and len(record.flows(*_TCP)) == len(record.flows()):
        yield Found(TOTAL, counters.get("TcpExt.TCPDeliveredCE", 0) / marked)


def _metric(name: str, meaning: str, counters: tuple[str, ...], group: str) -> Metric:
    named = " + ".join(counters)
    whole = tuple(f"{group}.{counter}" for counter in counters)
    definition = f"{meaning}: {group} {named}."
    return Metric(name, "events", "none", ("total",), definition, _sum(whole))


METRICS = [
    *(_metric(name, meaning, counters, "TcpExt") for name, (meaning, counters) in _COUNTERS.items()),
    *(_metric(name, meaning, counters, "Tcp") for name, (meaning, counters) in _OLDER.items()),
    Metric(
        "ce_echo_ratio",
        "1",
        "none",
        ("total",),
        "Segments that senders took for marked (TcpExt TCPDeliveredCE) over packets that arrived marked "
        "(IpExtInCEPkts + Ip6InCEPkts), where all flows are TCP: 1 where each mark is counted (accurate ECN, "
        "RFC 9768), more where a mark is echoed until the sender says that it knows (RFC 3168).",
        _echoed,
    ),
]

"""Buffers: what a receiver offers and a sender keeps against what the path holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.diagnosis.case import DIRECTIONS
from rushhour.diagnosis.finding import Evidence, Finding
from rushhour.diagnosis.rules import common
from rushhour.diagnosis.rules.common import told
from rushhour.diagnosis.shown import sizes
from rushhour.quantities.short import binary, duration, rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.diagnosis.case import Case
    from rushhour.diagnosis.facts import Facts
    from rushhour.diagnosis.finding import Severity

_MIB = 1 << 20
# The default of tcp_rmem[2] (tcp_init, net/ipv4/tcp.c); less is never recommended.
LEAST = 6 * _MIB
_IP_SYSCTL = "Documentation/networking/ip-sysctl.rst"


def window_of(space: int, adv_win_scale: int = 1) -> int:
    """The window that buffer space becomes: tcp_win_from_space(), include/net/tcp.h.

    From 6.6 on the share follows from the packets and begins at a half, which is what the default of 1 gave
    before.
    """
    if adv_win_scale <= 0:
        return space >> -adv_win_scale
    return space - (space >> adv_win_scale)


def recommended(bdp: float) -> int:
    """A buffer whose window holds twice the path: once in flight, once more while a loss is repaired.

    (RFC 6349, 3.3.1 asks for the BDP; the other half is for what arrives behind a hole.) In whole MiB.
    """
    return max(LEAST, -(-int(4 * bdp) // _MIB) * _MIB)


def _gravity(limit_bps: float, rate_bps: float, *, full: bool) -> Severity | None:
    """How much a limit matters that lies below what the path carries; None if it does not."""
    if full or limit_bps >= 0.95 * rate_bps:
        return None
    return "critical" if limit_bps < 0.7 * rate_bps else "warning"


def receive_buffer(case: Case) -> Iterator[Finding]:
    """The receiver's window, at its greatest, is smaller than the path."""
    for direction, _, _, to, facts in common.directions(case):
        values = common.setting(facts, "net.ipv4.tcp_rmem")
        bdp, flow, rtt = (
            common.bdp_bytes(case, direction),
            common.rate_bps(case, direction),
            common.rtt_ns(case),
        )
        if not isinstance(values, list) or bdp is None or not flow or not rtt:
            continue
        grows = common.setting(facts, "net.ipv4.tcp_moderate_rcvbuf") != 0
        window = window_of(
            values[2] if grows else values[1], common.setting(facts, "net.ipv4.tcp_adv_win_scale") or 1
        )
        limit = window * 8e9 / rtt
        share = common.limited(case, direction, "receiver")
        severity = common.proven(_gravity(limit, flow, full=common.is_full(case, direction)), share)
        if severity is None:
            continue
        wanted = [values[0], values[1], max(values[2], recommended(bdp))]
        fix = [] if wanted == values else [common.sysctl(to, "net.ipv4.tcp_rmem", wanted)]
        if not grows:
            fix.append(common.sysctl(to, "net.ipv4.tcp_moderate_rcvbuf", 1))
        yield Finding(
            key="receive-buffer-too-small" if grows else "receive-autotuning-off",
            severity=severity,
            layer="socket",
            title=f"The receive buffer at {common.name(case, to)} lets at most {rate(limit)} "
            "through; the path carries "
            f"{rate(flow)}.",
            where=to,
            evidence=(
                told(to, "net.ipv4.tcp_rmem", sizes(values)),
                told(to, "net.ipv4.tcp_moderate_rcvbuf", int(grows)),
                told(to, "greatest window", binary(window)),
                Evidence(direction, "the path holds", f"{binary(bdp)} ({rate(flow)} for {duration(rtt)})"),
            ),
            gain=f"up to {rate(flow)} instead of {rate(limit)}",
            limited=share,
            fix=tuple(fix),
            source=f"{_IP_SYSCTL}, tcp_rmem; RFC 6349, 3.3.1; RFC 7323, 2",
        )


def send_buffer(case: Case) -> Iterator[Finding]:
    """The sender may not keep as much as the path holds."""
    for direction, from_, facts, _, _ in common.directions(case):
        values = common.setting(facts, "net.ipv4.tcp_wmem")
        bdp, flow, rtt = (
            common.bdp_bytes(case, direction),
            common.rate_bps(case, direction),
            common.rtt_ns(case),
        )
        if not isinstance(values, list) or bdp is None or not flow or not rtt:
            continue
        # sk_wmem_queued counts whole buffers, headers included: at best as many bytes are in flight.
        limit = values[2] * 8e9 / rtt
        share = common.limited(case, direction, "sndbuf")
        severity = common.proven(_gravity(limit, flow, full=common.is_full(case, direction)), share)
        if severity is None:
            continue
        wanted = [values[0], values[1], max(values[2], recommended(bdp))]
        yield Finding(
            key="send-buffer-too-small",
            severity=severity,
            layer="socket",
            title=f"The send buffer at {common.name(case, from_)} keeps at most {binary(values[2])} "
            "in flight; the path "
            f"holds {binary(bdp)}.",
            where=from_,
            evidence=(
                told(from_, "net.ipv4.tcp_wmem", sizes(values)),
                Evidence(direction, "the path holds", f"{binary(bdp)} ({rate(flow)} for {duration(rtt)})"),
            ),
            gain=f"up to {rate(flow)} instead of {rate(limit)}",
            limited=share,
            fix=(common.sysctl(from_, "net.ipv4.tcp_wmem", wanted),),
            source=f"{_IP_SYSCTL}, tcp_wmem; tcp_sndbuf_expand(), net/ipv4/tcp_input.c",
        )


def caps(case: Case) -> Iterator[Finding]:
    """Programs that set their buffers themselves are bounded by rmem_max and wmem_max, and do not grow."""
    for direction, from_, sending, to, receiving in common.directions(case):
        bdp = common.bdp_bytes(case, direction)
        for end, facts, name in ((to, receiving, "net.core.rmem_max"), (from_, sending, "net.core.wmem_max")):
            most = common.setting(facts, name)
            # The kernel doubles what is asked for (sock_setsockopt), and half of that becomes window.
            if bdp is None or not isinstance(most, int) or most >= bdp:
                continue
            yield Finding(
                key=name.rpartition(".")[2].replace("_", "-") + "-small",
                severity="note",
                layer="socket",
                title=f"Programs at {common.name(case, end)} that set their own buffer get at most "
                f"{binary(most)}; "
                f"{direction} holds {binary(bdp)}.",
                where=end,
                evidence=(told(end, name, most), Evidence(direction, "the path holds", binary(bdp))),
                gain="none for programs that leave their buffers to the kernel",
                fix=(common.sysctl(end, name, recommended(bdp) // 2),),
                source="socket(7), SO_RCVBUF and SO_SNDBUF; tcp(7)",
            )


def datagrams(case: Case) -> Iterator[Finding]:
    """Datagrams that arrived and were thrown away because their socket was full."""
    for end, facts in common.ends(case):
        lost = common.risen(case, end, "Udp.RcvbufErrors", "Udp.MemErrors", "Udp6RcvbufErrors")
        if not lost:
            continue
        default = common.setting(facts, "net.core.rmem_default")
        yield Finding(
            key="udp-receive-buffer-full",
            severity="note" if common.is_busy(case, end) else "warning",
            layer="socket",
            title=f"Datagrams reached {common.name(case, end)} and were dropped there: their "
            "socket's buffer was full.",
            where=end,
            evidence=(
                *(told(end, f"{name} rose by", f"{by:.0f}") for name, by in sorted(lost.items())),
                told(end, "net.core.rmem_default", "unknown" if default is None else binary(default)),
            ),
            gain="these datagrams, if the program keeps up on average",
            fix=(
                common.sysctl(end, "net.core.rmem_default", 4 * _MIB),
                common.sysctl(end, "net.core.rmem_max", 8 * _MIB),
            ),
            source="udp(7), SO_RCVBUF; RFC 4113, udpInErrors",
        )


def memory(case: Case) -> Iterator[Finding]:
    """All TCP sockets together come near the limit, or passed it while measuring."""
    for end, facts in common.ends(case):
        limits, used = common.setting(facts, "net.ipv4.tcp_mem"), facts.get("sockets", "tcp_mem")
        pressed = common.risen(case, end, "TCPMemoryPressures", "TCPAbortOnMemory", "PruneCalled")
        rose = {name: by for name, by in pressed.items() if not name.endswith("PruneCalled")}
        if not isinstance(limits, list) or not (rose or (used or 0) >= limits[0]):
            continue
        severity: Severity = "critical" if rose or (used or 0) >= limits[1] else "warning"
        yield Finding(
            key="tcp-memory-pressure",
            severity=severity,
            layer="socket",
            title=f"TCP at {common.name(case, end)} is short of memory: buffers shrink and packets "
            "that arrived are "
            "thrown away.",
            where=end,
            evidence=(
                told(end, "pages in use (sockstat TCP mem)", used),
                told(end, "net.ipv4.tcp_mem (pages)", limits),
                *(told(end, f"{name} rose by", f"{by:.0f}") for name, by in sorted(pressed.items())),
            ),
            gain="windows open again",
            fix=(common.sysctl(end, "net.ipv4.tcp_mem", _more_pages(facts, limits)),),
            source=f"{_IP_SYSCTL}, tcp_mem",
        )


def _more_pages(facts: Facts, limits: list[int]) -> list[int]:
    """Twice the limits, or what the kernel takes by default of the memory that is there, whichever is more.

    (nr_free_buffer_pages / 16, then 3/4, 1 and 3/2 of it: tcp_init_mem, net/ipv4/tcp.c.)
    """
    share = (facts.get("memory", "total") or 0) // 4096 // 16
    return [max(2 * limit, share * part // 4) for limit, part in zip(limits, (3, 4, 6), strict=True)]


def memory_below_path(case: Case) -> Iterator[Finding]:
    """The limit of all TCP sockets together is below what one flow needs."""
    most = max((common.bdp_bytes(case, direction) or 0.0) for direction in DIRECTIONS)
    for end, facts in common.ends(case):
        limits = common.setting(facts, "net.ipv4.tcp_mem")
        if not isinstance(limits, list) or limits[1] * 4096 >= 2 * most:
            continue
        yield Finding(
            key="tcp-mem-too-small",
            severity="warning",
            layer="socket",
            title=f"All TCP sockets at {common.name(case, end)} together may use {binary(limits[1] * 4096)}; "
            f"one flow needs {binary(2 * most)}.",
            where=end,
            evidence=(
                told(end, "net.ipv4.tcp_mem (pages)", limits),
                Evidence("a→b", "the path holds", binary(most)),
            ),
            gain="no pressure while a flow fills the path",
            fix=(common.sysctl(end, "net.ipv4.tcp_mem", _more_pages(facts, limits)),),
            source=f"{_IP_SYSCTL}, tcp_mem",
        )


RULES = (receive_buffer, send_buffer, memory, memory_below_path, datagrams, caps)

"""Buffers: what a receiver offers and a sender keeps against what the path holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rushhour.causes import buffers
from rushhour.causes.finding import Proof, finding
from rushhour.causes.telling import sentence
from rushhour.causes.thresholds import LETS_ENOUGH, LETS_LITTLE, WINDOWS
from rushhour.diagnosis.case import DIRECTIONS
from rushhour.diagnosis.rules import common
from rushhour.diagnosis.rules.common import told
from rushhour.diagnosis.shown import PAGE, sizes
from rushhour.quantities.short import binary, duration, rate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.causes.cause import Severity
    from rushhour.causes.finding import Finding
    from rushhour.diagnosis.case import Case, End
    from rushhour.diagnosis.facts import Facts, Sizes

_MIB = 1 << 20
RMEM: Final = "net.ipv4.tcp_rmem"
WMEM: Final = "net.ipv4.tcp_wmem"


def kernel(facts: Facts) -> tuple[str, int]:
    """What decides which part of a receive buffer becomes window: the kernel's release, tcp_adv_win_scale."""
    scale = facts.number("net.ipv4.tcp_adv_win_scale")
    return facts.host.kernel or "", 1 if scale is None else scale


@dataclass(frozen=True, slots=True)
class _Buffer:
    """A buffer of one end beside what a direction carries.

    `values` are least, default and greatest bytes; `bdp` is in bytes; `share` is for how much of its time the
    measured flow waited for this buffer, None where that was not measured.
    """

    direction: str
    end: End
    facts: Facts
    values: list[int]
    bdp: float
    flow_bps: float
    rtt_ns: float
    share: float | None
    full: bool

    def bps(self, window: float) -> float:
        """The rate that a window in bytes lets through."""
        return window * 8e9 / self.rtt_ns

    def severity(self, limit_bps: float) -> Severity | None:
        """How much a limit matters that lies below what the path carries; None if it does not."""
        if self.full or limit_bps >= LETS_ENOUGH * self.flow_bps:
            return None
        return common.proven("critical" if limit_bps < LETS_LITTLE * self.flow_bps else "warning", self.share)

    def wanted(self, needed: int, least: int) -> list[int]:
        """The values with a greatest one that holds the path (RFC 6349, 3.3.1), and what a loss delays."""
        return [*self.values[:2], max(self.values[2], least, buffers.rounded(needed))]

    @property
    def path(self) -> Proof:
        """What the path holds, as evidence."""
        holds = f"{binary(self.bdp)} ({rate(self.flow_bps)} for {duration(self.rtt_ns)})"
        return Proof(self.direction, "the path holds", holds)


def _buffers(case: Case, name: Sizes, limit: str) -> Iterator[_Buffer]:
    """The buffers that a sysctl sets: tcp_rmem at each receiver, or tcp_wmem at each sender."""
    for direction, from_, sending, to, receiving in common.directions(case):
        end, facts = (to, receiving) if name == RMEM else (from_, sending)
        values, bdp = facts.sizes(name), common.bdp_bytes(case, direction)
        flow, rtt = common.rate_bps(case, direction), common.rtt_ns(case)
        if values is not None and bdp is not None and flow and rtt:
            share, full = common.limited(case, direction, limit), common.is_full(case, direction)
            yield _Buffer(direction, end, facts, values, bdp, flow, rtt, share, full)


def receive_buffer(case: Case) -> Iterator[Finding]:
    """The receiver's window, at its greatest, is smaller than the path."""
    for one in _buffers(case, RMEM, "receiver"):
        grows = one.facts.number("net.ipv4.tcp_moderate_rcvbuf") != 0
        window = buffers.window_of(one.values[2] if grows else one.values[1], *kernel(one.facts))
        limit = one.bps(window)
        severity = one.severity(limit)
        if severity is None:
            continue
        key = "receive-buffer-too-small" if grows else "receive-autotuning-off"
        lets = f"it lets at most {rate(limit)} through, and the path carries {rate(one.flow_bps)}"
        wanted = one.wanted(buffers.receive(one.bdp, *kernel(one.facts))[0], buffers.LEAST_RECEIVE)
        fix = [] if wanted == one.values else [common.sysctl(one.end, RMEM, wanted)]
        if not grows:
            fix.append(common.sysctl(one.end, "net.ipv4.tcp_moderate_rcvbuf", 1))
        yield finding(
            key,
            severity,
            sentence(key, host=common.name(case, one.end), proof=lets),
            one.end,
            evidence=(
                told(one.end, RMEM, sizes(one.values)),
                told(one.end, "net.ipv4.tcp_moderate_rcvbuf", int(grows)),
                told(one.end, "greatest window", binary(window)),
                one.path,
            ),
            gain=f"up to {rate(one.flow_bps)} instead of {rate(limit)}",
            limited=one.share,
            fix=tuple(fix),
        )


def send_buffer(case: Case) -> Iterator[Finding]:
    """The sender may not keep as much as the path holds."""
    for one in _buffers(case, WMEM, "sndbuf"):
        # sk_wmem_queued counts whole buffers, headers included: at best as many bytes are in flight.
        limit = one.bps(one.values[2])
        severity = one.severity(limit)
        if severity is None:
            continue
        keeps = f"it keeps at most {binary(one.values[2])} in flight, and the path holds {binary(one.bdp)}"
        yield finding(
            "send-buffer-too-small",
            severity,
            sentence("send-buffer-too-small", host=common.name(case, one.end), proof=keeps),
            one.end,
            evidence=(told(one.end, WMEM, sizes(one.values)), one.path),
            gain=f"up to {rate(one.flow_bps)} instead of {rate(limit)}",
            limited=one.share,
            fix=(common.sysctl(one.end, WMEM, one.wanted(buffers.send(one.bdp)[0], buffers.LEAST_SEND)),),
        )


def caps(case: Case) -> Iterator[Finding]:
    """Programs that set their buffers themselves are bounded by rmem_max and wmem_max, and do not grow."""
    for direction, from_, sending, to, receiving in common.directions(case):
        bdp = common.bdp_bytes(case, direction)
        read = receiving.number("net.core.rmem_max")
        written = sending.number("net.core.wmem_max")
        for end, name, most in ((to, "net.core.rmem_max", read), (from_, "net.core.wmem_max", written)):
            # The kernel doubles what is asked for (sock_setsockopt), and half of that becomes window.
            if bdp is None or most is None or most >= bdp:
                continue
            key = name.rpartition(".")[2].replace("_", "-") + "-small"
            yield finding(
                key,
                "note",
                sentence(
                    key, host=common.name(case, end), most=binary(most), way=direction, held=binary(bdp)
                ),
                end,
                evidence=(told(end, name, most), Proof(direction, "the path holds", binary(bdp))),
                gain="none for programs that leave their buffers to the kernel",
                fix=(common.sysctl(end, name, buffers.own(bdp)),),
            )


def datagrams(case: Case) -> Iterator[Finding]:
    """Datagrams that arrived and were thrown away because their socket was full."""
    for end, facts in common.ends(case):
        lost = common.risen(case, end, "Udp.RcvbufErrors", "Udp.MemErrors", "Udp6RcvbufErrors")
        if not lost:
            continue
        default = facts.number("net.core.rmem_default")
        yield finding(
            "udp-receive-buffer-full",
            "note" if common.is_busy(case, end) else "warning",
            sentence("udp-receive-buffer-full", host=common.name(case, end)),
            end,
            evidence=(
                *(told(end, f"{name} rose by", f"{by:.0f}") for name, by in sorted(lost.items())),
                told(end, "net.core.rmem_default", "unknown" if default is None else binary(default)),
            ),
            gain="these datagrams, if the program keeps up on average",
            fix=(
                common.sysctl(end, "net.core.rmem_default", 4 * _MIB),
                common.sysctl(end, "net.core.rmem_max", 8 * _MIB),
            ),
        )


def memory(case: Case) -> Iterator[Finding]:
    """All TCP sockets together come near the limit, or passed it while measuring."""
    for end, facts in common.ends(case):
        limits, used = facts.sizes("net.ipv4.tcp_mem"), facts.sockets.tcp_mem
        pressed = common.risen(case, end, "TCPMemoryPressures", "TCPAbortOnMemory", "PruneCalled")
        rose = {name: by for name, by in pressed.items() if not name.endswith("PruneCalled")}
        if limits is None or not (rose or (used or 0) >= limits[0]):
            continue
        severity: Severity = "critical" if rose or (used or 0) >= limits[1] else "warning"
        yield finding(
            "tcp-memory-pressure",
            severity,
            sentence(
                "tcp-memory-pressure",
                host=common.name(case, end),
                proof="buffers shrink and packets that arrived are thrown away",
            ),
            end,
            evidence=(
                told(end, "pages in use (sockstat TCP mem)", used),
                told(end, "net.ipv4.tcp_mem (pages)", limits),
                *(told(end, f"{name} rose by", f"{by:.0f}") for name, by in sorted(pressed.items())),
            ),
            gain="windows open again",
            fix=(common.sysctl(end, "net.ipv4.tcp_mem", _more_pages(facts, limits)),),
        )


def _more_pages(facts: Facts, limits: list[int]) -> list[int]:
    """Twice the limits, or what the kernel takes by default of the memory that is there, whichever is more.

    (nr_free_buffer_pages / 16, then 3/4, 1 and 3/2 of it: tcp_init_mem, net/ipv4/tcp.c.)
    """
    share = (facts.memory.total or 0) // PAGE // 16
    return [max(2 * limit, share * part // 4) for limit, part in zip(limits, (3, 4, 6), strict=True)]


def memory_below_path(case: Case) -> Iterator[Finding]:
    """The limit of all TCP sockets together is below what one flow needs."""
    most = max((common.bdp_bytes(case, direction) or 0.0) for direction in DIRECTIONS)
    for end, facts in common.ends(case):
        limits = facts.sizes("net.ipv4.tcp_mem")
        if limits is None or PAGE * limits[1] >= WINDOWS * most:
            continue
        yield finding(
            "tcp-mem-too-small",
            "warning",
            sentence(
                "tcp-mem-too-small",
                host=common.name(case, end),
                most=binary(PAGE * limits[1]),
                needed=binary(WINDOWS * most),
            ),
            end,
            evidence=(
                told(end, "net.ipv4.tcp_mem (pages)", limits),
                Proof("a→b", "the path holds", binary(most)),
            ),
            gain="no pressure while a flow fills the path",
            fix=(common.sysctl(end, "net.ipv4.tcp_mem", _more_pages(facts, limits)),),
        )


RULES = (receive_buffer, send_buffer, memory, memory_below_path, datagrams, caps)

"""What was measured in one direction of a path: plain numbers, the same whichever lab ran the flows.

`derive` makes these from records; rules and the bottleneck read them. Times in ns, rates in bit/s of payload,
sizes in bytes, shares between 0 and 1. None: not measured, or the kernel does not tell.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from rushhour.causes.thresholds import CROWD, CROWD_LOST, CROWD_RUN
from rushhour.diagnosis import case

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.diagnosis.case import End


@dataclass(frozen=True)
class Tcp:
    """One measurement by TCP: one flow, or several at once (then sums, or means over the flows).

    Attributes:
        goodput_bps: Payload that arrived over the whole time, the handshake included.
        steady_bps: The same over the second half of the time, when slow start is over.
        peak_bps: The best stretch of several round trips.
        kernel: Shares by the kernel's own chronometer: busy, rwnd, sndbuf, cwnd (the rest of busy), idle.
        shares: The time taken apart by cause, words of `rushhour.explain.LIMITS`; adds up to 1.
        duplicates: Retransmissions that the receiver had already (DSACK).
        reordering: Greatest reordering distance in segments; `reorder_events` how often it was seen.
        rtt_ns: Least, median and 95th percentile of the smoothed RTT.
        loaded_rtt_ns: Median of echo round trips meanwhile; None without an answer. `loaded_p95_ns` likewise.
        rtt_at_loss_ns: Median smoothed RTT of the samples in which segments were sent again.
        line_bps: 90th percentile of the kernel's delivery-rate samples.
        cwnd, window, inflight: Greatest congestion window and peer's window and data in flight, bytes.
        unread: Greatest receive queue; `sndbuf`, `rcvbuf`: greatest buffers as the kernel counts them.
        window_full: Share of the samples with data in flight up to the peer's window.
        connect_ns: Time of the handshake.
        stalled: Connected, and then next to nothing arrived.
        error: Why there was no transfer at all.
    """

    flows: int = 1
    seconds: float = 0.0
    goodput_bps: float = 0.0
    steady_bps: float = 0.0
    peak_bps: float = 0.0
    kernel: Mapping[str, float] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)
    segments: int = 0
    retransmits: int = 0
    timeouts: int = 0
    duplicates: int = 0
    reordering: int = 3
    reorder_events: int = 0
    marked: int = 0
    rtt_ns: tuple[int, int, int] | None = None
    loaded_rtt_ns: int | None = None
    loaded_p95_ns: int | None = None
    ping_loss: float | None = None
    rtt_at_loss_ns: int | None = None
    line_bps: float | None = None
    pacing_bps: float | None = None
    cwnd: int | None = None
    window: int | None = None
    inflight: int | None = None
    unread: int | None = None
    sndbuf: int | None = None
    rcvbuf: int | None = None
    window_full: float | None = None
    mss: int | None = None
    pmtu: int | None = None
    options: int | None = None
    cc: str = ""
    connect_ns: int | None = None
    stalled: bool = False
    error: str | None = None

    @property
    def retransmit_share(self) -> float:
        """Part of the segments sent that were sent again."""
        return self.retransmits / self.segments if self.segments else 0.0

    def limited(self, *limits: str) -> float:
        """Share of the time that these limits held together."""
        return min(1.0, math.fsum(self.shares.get(limit, 0.0) for limit in limits))


@dataclass(frozen=True)
class Udp:
    """Datagrams at a rate just below what TCP reached; `rate_bps` as asked, `goodput_bps` as it arrived.

    `unread` reached the receiving host, whose program was too late for them: no loss of the path's. `late_ns`
    is the most by which the sender was behind its schedule, `gap_ns` the time between two datagrams.
    """

    rate_bps: float
    goodput_bps: float
    sent: int
    received: int
    duplicates: int = 0
    reordered: float = 0.0
    reorder_extent: int = 0
    loss_run: float | None = None
    jitter_ns: int | None = None
    unread: int = 0
    late_ns: int = 0
    gap_ns: int = 0
    error: str | None = None

    @property
    def silent(self) -> bool:
        """Whether not one arrived of those that were sent."""
        return bool(self.sent) and not self.received

    @property
    def crowded(self) -> bool:
        """Whether the sender was so late that what it sent at once then may have overflowed a queue."""
        behind = self.late_ns * self.rate_bps / 8e9
        return behind > CROWD and ((self.loss_run or 0) > CROWD_RUN or self.loss < CROWD_LOST)

    @property
    def dead_ns(self) -> int:
        """How long a run of losses lasts, on average."""
        return int((self.loss_run or 0) * self.gap_ns)

    @property
    def loss(self) -> float:
        """Part of the datagrams that never arrived."""
        lost = self.sent - self.received - self.unread
        return max(0.0, lost / self.sent) if self.sent else 0.0


@dataclass(frozen=True)
class Train:
    """Packets sent at once: how far they were spread on the way tells the narrowest line's rate.

    (Packet-train dispersion: Dovrolis, Ramanathan, Moore, INFOCOM 2001.) `rate_bps` is of the IP packets.
    `unread` reached the receiving host, whose program was too late for them: no loss of the path's.
    """

    sent: int
    received: int
    rate_bps: float | None
    unread: int = 0

    @property
    def loss(self) -> float:
        """Part of the packets that never arrived."""
        return max(0.0, (self.sent - self.received - self.unread) / self.sent) if self.sent else 0.0


@dataclass(frozen=True)
class Sizes:
    """Echo requests of several sizes that must not be fragmented: IP packets, in bytes.

    `passed` is the largest that was answered, `lost` the smallest that never was although smaller ones were;
    `told` whether a router said why (RFC 1191), so that TCP learns of it.
    """

    passed: int | None = None
    lost: int | None = None
    told: bool = False

    @property
    def vanished(self) -> int | None:
        """The smallest that was lost without a word."""
        return None if self.told else self.lost


@dataclass(frozen=True)
class Cpu:
    """One host's processors while something ran; shares of one processor's time, those of the busiest.

    Attributes:
        busiest: Of the busiest processor, everything but idle; `softirq` its part in soft interrupts.
        mean: Over all processors.
        throttled: Share of the time in which a cgroup's quota stopped this end (cpu.stat).
        others: Processors' worth of time that went to other programs than the measurement.
    """

    count: int
    busiest: float
    mean: float
    softirq: float = 0.0
    steal: float = 0.0
    throttled: float | None = None
    others: float | None = None


@dataclass(frozen=True)
class Measured:
    """One direction of the path: "a→b" carries data from a to b."""

    direction: str = "a→b"
    idle_rtt_ns: int | None = None
    idle_rtt_p95_ns: int | None = None
    ping_loss: float | None = None
    sizes: Sizes = field(default_factory=Sizes)
    train: Train | None = None
    single: Tcp | None = None
    several: Tcp | None = None
    both: Tcp | None = None
    udp: Udp | None = None
    line: Udp | None = None
    """Datagrams just below the rate of the trains, where TCP stayed far below it because of losses."""
    short_s: float | None = None
    cpu: Mapping[str, Cpu] = field(default_factory=dict)
    counters: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    @property
    def sender(self) -> End:
        """The end that sends the data."""
        return case.sender(self.direction)

    @property
    def receiver(self) -> End:
        """The end that receives it."""
        return case.receiver(self.direction)

    @property
    def path_mtu(self) -> int | None:
        """Largest IP packet that crosses: what TCP found, unless larger ones vanish without a word."""
        known = [self.sizes.passed] if self.sizes.lost is not None else []
        known += [tcp.pmtu for tcp in (self.single, self.several) if tcp is not None and tcp.pmtu]
        sizes = [size for size in known if size]
        return min(sizes, default=self.sizes.passed)

    @property
    def capacity_bps(self) -> float | None:
        """Most payload that arrived in any way that lasted: what this direction can carry at least."""
        tcp = [one for one in (self.single, self.several) if one is not None]
        known = [max(one.steady_bps, one.peak_bps) for one in tcp]
        known += [udp.goodput_bps for udp in (self.udp, self.line) if udp is not None]
        return max((rate for rate in known if rate > 0), default=None)

    @property
    def sustained_bps(self) -> float | None:
        """What lasts, when buckets are empty and queues full: the second halves of the transfers."""
        known = [one.steady_bps for one in (self.single, self.several) if one is not None]
        known += [self.udp.goodput_bps] if self.udp is not None else []
        return max((rate for rate in known if rate > 0), default=None)

    @property
    def loaded_rtt_ns(self) -> int | None:
        """Median round trip while one TCP flow ran."""
        return None if self.single is None else self.single.loaded_rtt_ns

    @property
    def queue_ns(self) -> int | None:
        """By how much TCP lengthened the round trip at its 95th percentile: what load makes wait."""
        tcp = [one for one in (self.single, self.several) if one is not None]
        known = [one.loaded_p95_ns or (one.rtt_ns[2] if one.rtt_ns else None) for one in tcp]
        longest = max((trip for trip in known if trip), default=None)
        return None if longest is None or self.idle_rtt_ns is None else max(0, longest - self.idle_rtt_ns)

    @property
    def standing_ns(self) -> int | None:
        """By how much TCP lengthened the round trip at its median: what waits all the time."""
        tcp = [one for one in (self.single, self.several) if one is not None]
        known = [one.loaded_rtt_ns or (one.rtt_ns[1] if one.rtt_ns else None) for one in tcp]
        longest = max((trip for trip in known if trip), default=None)
        return None if longest is None or self.idle_rtt_ns is None else max(0, longest - self.idle_rtt_ns)

    @property
    def bdp_bytes(self) -> float | None:
        """What is in flight when the path is just full (RFC 6349, 3.3.1), of the capacity that was seen."""
        if self.capacity_bps is None or self.idle_rtt_ns is None:
            return None
        return self.capacity_bps * self.idle_rtt_ns * 1e-9 / 8

    @property
    def single_bps(self) -> float | None:
        """What one flow reached."""
        return None if self.single is None else self.single.goodput_bps

    @property
    def several_bps(self) -> float | None:
        """What several flows reached together."""
        return None if self.several is None else self.several.goodput_bps

    def document(self) -> dict[str, Any]:
        """As JSON values, with what follows from them."""
        derived = ("path_mtu", "capacity_bps", "loaded_rtt_ns", "queue_ns", "bdp_bytes")
        return asdict(self) | {name: getattr(self, name) for name in derived}

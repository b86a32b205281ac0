"""What is known of a flow when one asks why it was slow: numbers, free of where they were measured."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rushhour.causes.evidence import OPTION_SACK, OPTION_WSCALE, REFUSED
from rushhour.causes.thresholds import LASTING, WAITED, WAITED_S
from rushhour.explain import counted, holes, netem, origins, policers, queues, tuned
from rushhour.explain.first_windows import FirstWindows, first_windows
from rushhour.explain.lost import drops, lost, taken, worst
from rushhour.explain.outages import Outages, outages, with_recovery
from rushhour.explain.outages import shares as with_outages
from rushhour.explain.traffic import Beside, Room, arrived, beside, payload_part, room, what
from rushhour.metrics.repair import unprompted
from rushhour.metrics.tcp import came_marked, ideal_bps, last
from rushhour.record import courses, keys
from rushhour.series.handshake import handshake_s, syn_retransmits
from rushhour.series.timeline import timelines
from rushhour.series.waits import Wait, waits
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rushhour.causes.evidence import Shown
    from rushhour.record.context import End, Flow
    from rushhour.record.record import Record
    from rushhour.series.timeline import Timeline


@dataclass(frozen=True)
class Other:
    """Another TCP flow at the same bottleneck."""

    name: str
    cc: str
    goodput_bps: float
    base_rtt_s: float | None


@dataclass(frozen=True)
class RecordedFlow:
    """One TCP flow. Sizes in bytes, times in s, rates in bit/s of payload unless said; None: not known.

    Attributes:
        possible_bps: The most payload that the bottleneck carries, or its ceiling there lets through.
        possible_between: The least and the most of that over time, where it changes.
        shared_bps: What the link carries there for all, where a ceiling below it is not what decides.
        full_of: What is full instead of the path, where that is its ceiling: `class gold (10 Mbit/s)`.
        window: Greatest window of the peer; `inflight`: most data outstanding.
        rcvbuf: Receive buffer of the receiver's socket, as the kernel counts it (twice what was asked).
        sndbuf: Send buffer of the sender's socket, likewise.
        asked: What the scenario sets of the socket: rcvbuf, sndbuf, rate, pacing, bytes, read.
        group: What the scenario calls the flow.
        sysctls: The sysctls that the scenario sets on sender (`from`) and receiver (`to`).
        own: Node → the sysctls that the scenario sets for it alone.
        options: TCPI_OPT_* that both ends agreed on.
        handshake_s: From the start to the connection; `syns`: how many SYNs were sent again.
        moved: Payload that arrived.
        hole: The MTU of a switch that drops its full packets in silence; `filtered`: share of what arrives
            that the receiver's packet filter drops; `ack_filtered` the sender's.
        first: The windows that it began with.
        threshold: Segments at which its slow start ends by what stood there when it began.
        ratio: The sysctl of pacing that held it while its window could have, and its value in per cent.
        outages: When its way was dead. What was lost and dropped then counts in none of these; `shares` have
            a limit of its own for it (`outages`), which a timeline has not.
        slots: Those of netem on its way; `overtaking` where netem lets packets overtake others, in words.
        damaged: Packets that came to the receiver's node with a wrong checksum, of all flows.
        refused: How often the receiver's node threw away data that had arrived, of all flows.
        short: How often the memory of all TCP sockets of a host's kernel ran short, by host.
        marked: Segments that the sender took for marked; `came_marked`: that came to the receiver so, where
            accurate ECN tells of each.
        unsaid: How many sends without a copy waited for room for the message about them.
        segments: Segments with payload that were sent; `all_came`: whether every one of them arrived.
        waits: The wait in every queue, of data and of ACKs, the longest first.
        beside: What else crosses the bottleneck and is no lasting TCP flow.
        wire_loss: Share of data packets lost on the wires, without SYNs; `ack_loss` of ACKs, at the
            sender's filter, too; `worst_loss`, `worst_ack_loss` the greatest share that a pattern lost, for a
            time.
        queue_drops: Packets that the queues on the data's way dropped, of all flows; `policed` by policers.
        bucket: Bytes that the policer lets pass at once; `burst_key` the scenario's key of it; empty: none.
        policed_packets: How many packets a second a policer lets pass that counts them.
        queue_s: Median wait in the queue; `rtt_s`: median of the RTT.
        at_sender: The bottleneck is the sender's own egress.
        buffer_key: The scenario's key of that queue's limit, `queue_key` of its discipline; empty: none.
    """

    name: str
    sender: str
    receiver: str
    cc: str
    length_s: float
    goodput_bps: float
    shares: Mapping[str, float]
    timeline: Timeline | None
    possible_bps: float | None = None
    possible_between: tuple[float, ...] = ()
    shared_bps: float | None = None
    full_of: str = ""
    base_rtt_s: float | None = None
    rtt_s: float | None = None
    queue_s: float | None = None
    mss: float | None = None
    window: float | None = None
    inflight: float | None = None
    rcvbuf: float | None = None
    sndbuf: float | None = None
    asked: Mapping[str, float] = field(default_factory=dict)
    sysctls: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    options: int = OPTION_SACK | OPTION_WSCALE
    segments: int = 0
    all_came: bool = False
    retransmits: int = 0
    duplicates: int = 0
    unprompted: int = 0
    timeouts: int = 0
    marked: int = 0
    came_marked: int | None = None
    unsaid: int = 0
    wire_loss: float = 0.0
    ack_loss: float = 0.0
    worst_loss: float = 0.0
    worst_ack_loss: float = 0.0
    queue_drops: int = 0
    policed: int = 0
    policer_bps: float | None = None
    policed_packets: int | None = None
    policed_too: tuple[str, ...] = ()
    bucket: float | None = None
    burst_key: str = ""
    buffer: float | None = None
    bottleneck: str = ""
    queue: str = ""
    at_sender: bool = False
    buffer_key: str = ""
    queue_key: str = ""
    others: tuple[Other, ...] = ()
    beside: tuple[Beside, ...] = ()
    waits: tuple[Wait, ...] = ()
    handshake_s: float | None = None
    syns: int = 0
    group: str = ""
    own: Mapping[str, frozenset[str]] = field(default_factory=dict)
    moved: int = 0
    damaged: int = 0
    refused: int = 0
    short: Mapping[str, int] = field(default_factory=dict)
    hole: int | None = None
    filtered: float = 0.0
    ack_filtered: float = 0.0
    first: FirstWindows = field(default_factory=FirstWindows)
    threshold: float | None = None
    ratio: tuple[str, str] | None = None
    outages: Outages | None = None
    slots: netem.Slots | None = None
    overtaking: tuple[str, str] = ("", "")

    def called(self, host: str) -> str:
        """A host as a sentence calls it: by its node's name."""
        return host

    def program(self, host: str) -> str:
        """The application at an end."""
        return f"The {'sending' if host == self.sender else 'receiving'} application on {host}"

    def shown(self, key: str, _host: str = "") -> Shown | None:
        """What the record shows of a cause; of the processors of its hosts it knows nothing."""
        return origins.shown(self, key)

    def pressures(self, host: str) -> int:
        """How often the memory of all TCP sockets of a host ran short."""
        return self.short.get(host, 0)

    def setting(self, host: str, name: str) -> str | None:
        """A sysctl of a host; None where the scenario does not set it."""
        return self.sysctls.get(host, {}).get(name)

    @property
    def bdp(self) -> float | None:
        """Payload in flight that fills the idle path."""
        if self.possible_bps is None or self.base_rtt_s is None:
            return None
        return self.possible_bps * self.base_rtt_s / 8

    @property
    def taken_bps(self) -> float:
        """What traffic that does not give way, or comes and goes, has of the bottleneck."""
        return math.fsum(one.rate_bps for one in self.beside)

    @property
    def fair_bps(self) -> float | None:
        """An equal share of what the bottleneck leaves to lasting TCP flows."""
        if self.possible_bps is None:
            return None
        whole = self.possible_bps if self.shared_bps is None else self.shared_bps
        return min(self.possible_bps, max(0.0, whole - self.taken_bps) / (1 + len(self.others)))

    def limited(self, *limits: str) -> float:
        """Share of its time in which these limits held together."""
        return math.fsum(self.shares.get(limit, 0.0) for limit in limits)

    def connected(self, limit: str) -> float:
        """The share of the time of a limit, of the time since the connection."""
        return self.shares.get(limit, 0.0) / max(1e-9, 1 - self.shares.get("handshake", 0.0))

    @property
    def flow_key(self) -> str:
        """How `--set` begins a key of this flow."""
        return f"flow.{self.group or self.name}"

    def sysctl_key(self, host: str, name: str) -> str:
        """How `--set` calls a sysctl of a host: of its own where the scenario gives it one."""
        mine = name in self.own.get(host, ())
        return f"node.{host}.sysctl.{name}" if mine else f"sysctl.{name}"

    @property
    def acks_wait(self) -> Wait | None:
        """The queue in which ACKs wait longest; None where that is little beside the idle round trip."""
        longest = next((wait for wait in self.waits if wait.acks), None)
        known = longest is not None and longest.median_s > max(WAITED_S, WAITED * (self.base_rtt_s or 0))
        return longest if known else None

    @property
    def acks_waited(self) -> bool:
        """Whether its ACKs waited for a good part of the round trip."""
        return self.acks_wait is not None

    @property
    def data_wait(self) -> Wait | None:
        """The queue in which data wait longest."""
        return next((wait for wait in self.waits if not wait.acks), None)


_ASKED = ("rcvbuf", "sndbuf", "rate_bps", "pacing_bps", "bytes", "read_bps", "message_bytes")


def evidence(record: Record, flow: Flow) -> RecordedFlow | None:
    """What a record knows of a TCP flow; None where the flow never sent or the kernel gave no readings."""
    found = record.once(timelines).get(flow.id)
    span = flow.active_ns
    if found is None or span is None:
        return None
    planned = record.asked(flow)
    ends = record.context.ends
    limit = ends.get(-1 if flow.bottleneck_end is None else flow.bottleneck_end)
    way = [ends[number] for number in sorted(flow.crossed) if number in ends]
    policing = [end for end in way if end.role == "police"]
    sent = (span[0], min(span[1], flow.stop_ns or span[1]))
    seconds = (span[1] - span[0]) * 1e-9
    moved = 8 * (flow.outcome.bytes_received or 0)
    within = room(record, flow)
    syns, others = syn_retransmits(record, flow), tuple(_others(record, flow, within))
    segments = last(record, flow, "data_segs_out") or 0
    again = max(0, (last(record, flow, "total_retrans") or 0) - syns)
    dead = outages(record, flow)
    spans = () if dead is None else dead.whole
    back = [ends[number] for number in flow.reverse_ends if number in ends]
    slotted = netem.slots(way, back, flow.frame_bytes or 0, flow.payload_per_packet or 0)
    ack_filtered = counted.dropped(record, planned.from_)
    made = RecordedFlow(
        name=flow.name,
        sender=planned.from_,
        receiver=planned.to,
        cc=counted.algorithm(record, flow),
        length_s=seconds,
        goodput_bps=moved / seconds,
        shares=with_outages(found, dead),
        timeline=found,
        possible_bps=_possible(record, flow, policing, seconds, slotted),
        possible_between=() if slotted else _between(record, flow),
        slots=slotted,
        overtaking=netem.overtaking(way),
        base_rtt_s=_idle_s(record, flow),
        rtt_s=counted.median(record, "srtt_us", flow),
        queue_s=counted.median(record, "srtt_queue_delay_us", flow),
        mss=last(record, flow, "snd_mss"),
        window=counted.greatest(record, "snd_wnd", flow),
        inflight=counted.greatest(record, "inflight", flow),
        rcvbuf=counted.memory(record, flow, 1, "rcvbuf"),
        sndbuf=counted.memory(record, flow, 0, "sndbuf"),
        asked={key: float(value) for key in _ASKED if (value := getattr(planned, key)) is not None},
        sysctls={node.name: node.settings for node in record.plan.nodes},
        options=last(record, flow, "options") or 0,
        segments=segments,
        all_came=0 < segments <= (last(record, flow, "data_segs_in", 1) or 0),
        retransmits=again,
        duplicates=last(record, flow, "dsack_dups") or 0,
        unprompted=unprompted(record, flow),
        timeouts=counted.struck(record, flow, syns),
        marked=last(record, flow, "delivered_ce") or 0,
        came_marked=came_marked(record, flow),
        unsaid=flow.outcome.zerocopy_refused or 0,
        wire_loss=max(0.0, lost(record, flow.ways, sent, spans) - syns / max(1, segments)),
        ack_loss=1 - (1 - lost(record, flow.reverse_ways, sent, spans)) * (1 - ack_filtered),
        worst_loss=worst(record, flow.ways, sent, passing=dead is not None),
        worst_ack_loss=worst(record, flow.reverse_ways, sent, passing=dead is not None),
        queue_drops=queues.dropped(record, flow, filter(_is_queue, way), spans),
        policed=drops(record, policing),
        policed_too=policers.others(record, flow, policing),
        bucket=policers.bucket(policing, flow.frame_bytes or 0),
        burst_key="" if any(map(policers.counts_packets, policing)) else keys.of_burst(record, policing),
        policer_bps=policers.rate_bps(policing, flow.frame_bytes or 0),
        policed_packets=policers.per_second(policing),
        **queues.at(record, flow, limit),
        at_sender=limit is not None and limit.node == planned.from_,
        others=others,
        beside=beside(record, flow, [other.name for other in others], within),
        shared_bps=within.bps,
        full_of="" if within.by is None else what(within.by),
        waits=waits(record, flow),
        handshake_s=handshake_s(flow),
        syns=syns,
        group=flow.group,
        own=keys.own_sysctls(record.manifest.scenario.resolved),
        moved=flow.outcome.bytes_received or 0,
        damaged=counted.risen(record, planned.to, "Tcp.InCsumErrors"),
        refused=counted.risen(record, planned.to, *REFUSED),
        short={host: counted.pressures(record, host) for host in (planned.from_, planned.to)},
        hole=holes.hole(record, flow),
        filtered=counted.dropped(record, planned.to),
        ack_filtered=ack_filtered,
        outages=dead,
    )
    made = replace(
        made,
        first=first_windows(record, flow, made),
        threshold=tuned.threshold(record, flow, made),
        ratio=tuned.ratio(record, flow, made),
    )
    return made if dead is None else _recovering(made, found, dead, taken(record, flow, spans))


def _recovering(made: RecordedFlow, found: Timeline, dead: Outages, taken: float) -> RecordedFlow:
    """The same, where outages took more than all else: with SACK all that TCP makes of it is theirs."""
    others = made.wire_loss * made.segments + made.queue_drops + made.policed + made.refused + made.damaged
    if (taken <= others and others) or not made.options & OPTION_SACK:
        return made
    shares, dead = with_recovery(found, dead)
    return replace(made, shares=shares, outages=dead)


def _idle_s(record: Record, flow: Flow) -> float | None:
    """RTT of the idle path while the flow was active."""
    found = courses.mean_base_rtt_ns(flow, record.context.ends)
    return None if found is None else found * 1e-9


def _possible(
    record: Record, flow: Flow, policing: Sequence[End], seconds: float, slotted: netem.Slots | None
) -> float | None:
    """The most payload that the bottleneck carries; a policer lets pass what its bucket holds, besides.

    Slots carry no more than fits into them.
    """
    possible = ideal_bps(record, flow)
    most = None if slotted is None else slotted.rate_bps
    if most is not None and most < (possible or math.inf):
        return most
    bucket = policers.bucket(policing, flow.frame_bytes or 0) or 0.0
    return possible if possible is None else possible + 8 * bucket / seconds


def _is_queue(end: End) -> bool:
    """Whether what is dropped there found no room."""
    return end.role != "police" and not (end.role == "netem" and netem.drops_by_chance(end))


def _between(record: Record, flow: Flow) -> tuple[float, ...]:
    """The least and the most payload that is possible, where that changes; none of what nothing passes."""
    known = courses.bottleneck_extent(flow, record.context.ends)
    return tuple(bps * payload_part(flow) for bps in known) if len(known) > 1 else ()


def _others(record: Record, flow: Flow, within: Room) -> Iterable[Other]:
    """The other TCP flows that take from what it may have, active for half of its time or more."""
    span = flow.active_ns
    for other in record.flows(*kinds.TCP_STREAMS):
        theirs = other.active_ns
        if (
            other.id == flow.id
            or not {*other.bottleneck_ends} & {*flow.bottleneck_ends}
            or None in (span, theirs)
            or not within.has(other)
        ):
            continue
        assert span is not None
        assert theirs is not None
        common = min(span[1], theirs[1]) - max(span[0], theirs[0])
        if common >= LASTING * (span[1] - span[0]):
            # In our time: what it had before or after, alone, says nothing of how they shared.
            rate = 8e9 * arrived(record, other, span) / (span[1] - span[0])
            yield Other(other.name, counted.algorithm(record, other), rate, _idle_s(record, other))

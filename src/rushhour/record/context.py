"""What a plan means, typed: flows with their paths, link ends with their settings, what became of each flow.

Takes the `context` of a manifest, the plan and the agent's result; gives frozen values that metrics can
rely on. Everything that a damaged or foreign file can get wrong is caught here, so that no metric needs to
ask.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from rushhour.errors import RecordError
from rushhour.record.context_file import ContextFile
from rushhour.record.document import read
from rushhour.record.found import FOUND, outcomes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.record.context_file import ContextClass, ContextEnd, ContextFlow
    from rushhour.record.courses import Course
    from rushhour.record.plan_file import PlanFile, PlanFlow
    from rushhour.record.result_file import FlowResult, ResultFile

_LIMIT = 1 << 63
_HINT = "the record is damaged or was written by another program; run the cell again with --fresh"
_SETTINGS = ("rate_bps", "delay_ns", "jitter_ns", "loss", "serial_bps")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the agent says became of a flow (`result.json`); None where it cannot know.

    Times in ns from the start of the experiment, sizes in bytes of payload. `bytes_received` and
    `packets_received` were counted by the receiver; `classes` are its datagrams by their traffic class,
    where it read that; `sends_refused` are sends of datagrams that failed, where one did; `reads` are the
    calls that gave datagrams, where one may give several. `corrupted_bytes` arrived and are not what was
    sent, where the receiver looked; `first_corrupted` is where the first was: its place in the stream, or its
    datagram's number.
    """

    connected_ns: int | None = None
    sender_done_ns: int | None = None
    receiver_done_ns: int | None = None
    bytes_sent: int | None = None
    bytes_received: int | None = None
    packets_sent: int | None = None
    packets_received: int | None = None
    zerocopy_sends: int | None = None
    zerocopy_copied: int | None = None
    zerocopy_refused: int | None = None
    sends_refused: int | None = None
    reads: int | None = None
    corrupted_bytes: int | None = None
    first_corrupted: int | None = None
    classes: Mapping[int, int] = field(default_factory=dict)
    error: str | None = None


INITIAL_WINDOW = 10
"""Segments that leave before the first acknowledgement."""


@dataclass(frozen=True, slots=True)
class Flow:
    """One flow: what was asked (context and plan) and what became of it.

    `arrival`: it is one of many of an arrival process, which ran from when to when in ns; such flows are
    judged together, as a group.
    """

    id: int
    name: str
    group: str
    kind: str
    start_ns: int
    stop_ns: int | None
    ends: tuple[int, ...]
    reverse_ends: tuple[int, ...]
    base_rtt_ns: int | None
    bottleneck_end: int | None
    bottleneck_bps: int | None
    payload_per_packet: int | None
    frame_bytes: int | None
    request_frame_bytes: int
    """Bytes of the frame that goes there in a round trip on the idle path; 0 where it is not told."""
    answer_frame_bytes: int
    """Likewise of the frame that comes back."""
    bytes: int | None
    packet_bytes: int | None
    count: int | None
    outcome: Outcome
    generator: str = "agent"
    arrival: tuple[int, int] | None = None
    ways: tuple[tuple[int, ...], ...] = ()
    """Ends of every way its packets may take, the first as `ends`; one, unless something spreads them."""
    reverse_ways: tuple[tuple[int, ...], ...] = ()
    bottleneck_ends: tuple[int, ...] = ()
    """The bottlenecks of the ways, `bottleneck_end` among them."""
    ceiling_bps: int | None = None
    """What the path allows this flow at most, beside its links' rates: a class, a policer, fq, netem."""
    ceilings: Course = ()
    """The same from when on, where that changes; `ceiling_bps` is the mean then."""
    arrived_ns: int | None = None
    """When its last data arrived, as far as is known, where the receiver never came to its end."""
    in_turn: bool = False
    """Whether its packets take the ways in turn, each another one than the packet before."""

    @property
    def is_stamped(self) -> bool:
        """Whether the agent sent it itself, and noted each of its datagrams."""
        return self.generator == "agent"

    @property
    def is_found(self) -> bool:
        """Whether no plan names it."""
        return self.generator == FOUND

    @property
    def is_brief(self) -> bool:
        """Whether it was found and its bytes fit into an initial window (RFC 6928): nothing can limit it."""
        least = INITIAL_WINDOW * (self.payload_per_packet or 0)
        return self.is_found and (self.outcome.bytes_sent or self.outcome.bytes_received or 0) < least

    @property
    def crossed(self) -> frozenset[int]:
        """Every end that its data may cross."""
        return frozenset(end for way in self.ways for end in way)

    @property
    def path(self) -> tuple[int, ...]:
        """The ends that its packets and their answers cross."""
        return (*self.ends, *self.reverse_ends)

    @property
    def active_ns(self) -> tuple[int, int] | None:
        """From the connection (the start, where there is none) to the last byte that arrived.

        Of a receiver that never came to its end: to the end of the sender, or to the last data known to have
        arrived, whichever is later. None when the flow never began or its end is unknown.
        """
        begin = self.start_ns if self.outcome.connected_ns is None else self.outcome.connected_ns
        done = self.outcome.receiver_done_ns
        if done is None and self.outcome.sender_done_ns is not None:
            done = max(self.outcome.sender_done_ns, self.arrived_ns or 0)
        return (begin, done) if done is not None and done > begin else None

    def ended_early_ns(self, end_ns: int) -> int | None:
        """When it ended before its time was over, by what it had to send or by an error; else None.

        What is under way when a flow's time is over arrives later. `end_ns`: the end of the experiment.
        """
        span = self.active_ns
        return span[1] if span is not None and span[1] < min(end_ns, self.stop_ns or end_ns) else None


@dataclass(frozen=True, slots=True)
class LinkClass:
    """One class of a link end: tc's number, its rates, the scenario's flows that it carries, its queue."""

    name: str
    classid: int
    parent: str | None
    leaf: bool
    rate_bps: int | None
    ceil_bps: int | None
    flows: tuple[str, ...]
    ceilings: Course = ()  # `ceil_bps` from when on, where that changes; 0 once the class is gone
    queue: str | None = None  # None: it has none, or an older version wrote the record
    buffer_bytes: int | None = None
    buffer_packets: int | None = None


@dataclass(frozen=True, slots=True)
class End:
    """One link end: the egress of one direction (index 2·link + side), or behind these an ingress.

    `over_time` holds the settings that change during the experiment (`rate_bps`, `delay_ns`, `jitter_ns`,
    `loss`, `serial_bps`) as instants in ns with the value from then on; the setting itself is then the mean
    over the experiment (`rushhour.record.courses`).
    """

    end: int
    label: str
    node: str
    dev: str
    rate_bps: int | None
    buffer_bytes: int | None
    buffer_packets: int | None
    delay_ns: int
    jitter_ns: int
    loss: float
    queue: str | None
    role: str
    serial_bps: int | None = None
    """At which it sends what the shaper before it lets go; None: that takes no time."""
    over_time: Mapping[str, Course] = field(default_factory=dict)
    classes: tuple[LinkClass, ...] = ()
    bundle: str | None = None
    """What it shares with the ends over which the same packets are spread."""


@dataclass(frozen=True, slots=True)
class Context:
    """What the plan means: flows by id, ends by index, duration and warm-up in ns.

    `end_ns` is when the experiment ended, from its start: what comes then or later is taken down.
    """

    flows: Mapping[int, Flow]
    ends: Mapping[int, End]
    duration_ns: int
    warmup_ns: int
    end_ns: int

    def flow(self, which: int | str) -> Flow:
        """The flow of this id or name.

        Raises:
            RecordError: there is none; the hint lists those there are.
        """
        if which in self.flows:
            return self.flows[int(which)]
        for flow in self.flows.values():
            if which == flow.name:
                return flow
        raise RecordError(
            f"there is no flow {which!r} in this record",
            hint="flows: " + (", ".join(flow.name for flow in self.flows.values()) or "none"),
        )

    def end(self, which: int | str) -> End:
        """The link end of this index or label.

        Raises:
            RecordError: there is none; the hint lists those there are.
        """
        if which in self.ends:
            return self.ends[int(which)]
        for end in self.ends.values():
            if which == end.label:
                return end
        raise RecordError(
            f"there is no link end {which!r} in this record",
            hint="ends: " + (", ".join(end.label for end in self.ends.values()) or "none"),
        )


def read_context(context: object, plan: PlanFile, result: ResultFile, where: str) -> Context:
    """Make a `Context` from the manifest's `context`, the plan and the result of a record.

    Raises:
        RecordError: an entry is missing or of the wrong type; says which.
    """
    top = read(ContextFile, context, where, _HINT, key="context")
    became = {one.id: one for one in (*result.flows, *outcomes(result))}
    return Context(
        {one.id: _flow(one, plan.flow(one.id), became.get(one.id), where) for one in top.flows},
        {one.end: _end(one, where) for one in top.ends},
        top.duration_ns,
        top.warmup_ns,
        top.duration_ns if result.ended_ns is None else result.ended_ns,
    )


def _fault(key: str, found: object, wanted: str, where: str) -> RecordError:
    return RecordError(f"{key} is {str(found)[:60]!r}; expected {wanted}", where=where, hint=_HINT)


def _flow(entry: ContextFlow, asked: PlanFlow, became: FlowResult | None, where: str) -> Flow:
    narrowest = entry.bottleneck_end
    return Flow(
        id=entry.id,
        name=entry.name,
        group=entry.name if entry.group is None else entry.group,
        kind=entry.kind,
        start_ns=entry.start_ns,
        stop_ns=asked.stop_ns if entry.stop_ns is None else entry.stop_ns,
        ends=entry.ends,
        reverse_ends=entry.reverse_ends,
        base_rtt_ns=entry.base_rtt_ns,
        bottleneck_end=narrowest,
        bottleneck_bps=entry.bottleneck_bps,
        payload_per_packet=entry.payload_per_packet,
        frame_bytes=entry.frame_bytes,
        request_frame_bytes=entry.request_frame_bytes,
        answer_frame_bytes=entry.answer_frame_bytes,
        bytes=asked.bytes,
        packet_bytes=asked.packet_bytes,
        count=asked.count,
        outcome=Outcome() if became is None else _outcome(became),
        generator=entry.generator or asked.generator or "agent",
        arrival=_span(entry.arrival, where),
        ways=_ways(entry.ways, entry.ends, where),
        reverse_ways=_ways(entry.reverse_ways, entry.reverse_ends, where),
        bottleneck_ends=entry.bottleneck_ends or (() if narrowest is None else (narrowest,)),
        ceiling_bps=entry.ceiling_bps,
        ceilings=_changing(entry.over_time, "ceiling_bps", "context.flows", where),
        in_turn=entry.in_turn is True,
    )


def _span(found: tuple[int, ...] | None, where: str) -> tuple[int, int] | None:
    if found is None:
        return None
    if len(found) != 2 or found[1] < found[0]:
        raise _fault("context.flows.arrival", found, "a begin and an end", where)
    return found[0], found[1]


def _ways(
    found: tuple[tuple[int, ...], ...] | None, only: tuple[int, ...], where: str
) -> tuple[tuple[int, ...], ...]:
    if found is None:
        return (only,)
    if not found:
        raise _fault("context.flows.ways", found, "a list of ways", where)
    return found


def _outcome(entry: FlowResult) -> Outcome:
    return Outcome(
        connected_ns=entry.connected_ns,
        sender_done_ns=entry.sender_done_ns,
        receiver_done_ns=entry.receiver_done_ns,
        bytes_sent=entry.bytes_sent,
        bytes_received=entry.bytes_received,
        packets_sent=entry.packets_sent,
        packets_received=entry.packets_received,
        zerocopy_sends=entry.zerocopy_sends,
        zerocopy_copied=entry.zerocopy_copied,
        zerocopy_refused=entry.zerocopy_refused,
        sends_refused=entry.sends_refused,
        reads=entry.reads,
        corrupted_bytes=entry.corrupted_bytes,
        first_corrupted=entry.first_corrupted,
        classes={int(name): count for name, count in entry.classes.items()},
        error=None if entry.error is None else str(entry.error),
    )


def _end(entry: ContextEnd, where: str) -> End:
    told = entry.over_time
    if entry.loss > 1:
        raise _fault("context.ends.loss", entry.loss, "a fraction from 0 to 1", where)
    return End(
        end=entry.end,
        label=entry.label,
        node=entry.node,
        dev=entry.dev,
        rate_bps=entry.rate_bps,
        buffer_bytes=entry.buffer_bytes,
        buffer_packets=entry.buffer_packets,
        delay_ns=entry.delay_ns,
        jitter_ns=entry.jitter_ns,
        loss=float(entry.loss),
        queue=entry.queue,
        role=entry.role,
        serial_bps=entry.serial_bps,
        over_time={name: _changing(told, name, "context.ends", where) for name in _SETTINGS if name in told},
        bundle=entry.bundle,
        classes=tuple(_class(one, where) for one in entry.classes),
    )


def _class(entry: ContextClass, where: str) -> LinkClass:
    classid = re.fullmatch(r"([0-9a-f]{1,4}):([0-9a-f]{1,4})", entry.classid)
    if classid is None:
        raise _fault("context.ends.classes.classid", entry.classid, "a number of tc such as 1:10", where)
    number = int(classid[1], 16) << 16 | int(classid[2], 16)
    ceilings = _changing(entry.over_time, "ceil_bps", "context.ends.classes", where)
    return LinkClass(
        entry.name, number, entry.parent, bool(entry.leaf), entry.rate_bps, entry.ceil_bps, entry.flows,
        ceilings, entry.queue, entry.buffer_bytes, entry.buffer_packets,
    )  # fmt: skip


def _changing(over_time: Mapping[str, object], name: str, key: str, where: str) -> Course:
    return _course(over_time[name], f"{key}.over_time.{name}", where) if name in over_time else ()


def _course(value: object, key: str, where: str) -> Course:
    steps = value if isinstance(value, list) else []
    course = tuple((step[0], float(step[1])) for step in steps if _is_step(step))
    if not course or len(course) < len(steps) or any(a[0] >= b[0] for a, b in pairwise(course)):
        raise _fault(key, value, "a list of ascending instants in ns with their values", where)
    return course


def _is_step(step: object) -> bool:
    match step:
        case [int(t_ns), int(value) | float(value)]:
            return abs(t_ns) < _LIMIT and 0 <= value < _LIMIT
    return False

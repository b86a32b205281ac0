"""What a plan means, typed: flows with their paths, link ends with their settings, what became of each flow.

Takes the `context` of a manifest, the plan and the agent's result; gives frozen values that metrics can
rely on. Everything that a damaged or foreign file can get wrong is caught here, so that no metric needs to
ask.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rushhour.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.record.courses import Course

_LIMIT = 1 << 63
_SETTINGS = ("rate_bps", "delay_ns", "jitter_ns", "loss", "serial_bps")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the agent says became of a flow (`result.json`); None where it cannot know.

    Times in ns from the start of the experiment, sizes in bytes of payload. `bytes_received` and
    `packets_received` were counted by the receiver.
    """

    connected_ns: int | None = None
    sender_done_ns: int | None = None
    receiver_done_ns: int | None = None
    bytes_sent: int | None = None
    bytes_received: int | None = None
    packets_sent: int | None = None
    packets_received: int | None = None
    error: str | None = None


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
    """What the path allows this flow at most, whatever the rates of its links: a class, a policer, fq."""
    in_turn: bool = False
    """Whether its packets take the ways in turn, each another one than the packet before."""

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

        None when the flow never began or its end is unknown.
        """
        begin = self.start_ns if self.outcome.connected_ns is None else self.outcome.connected_ns
        done = self.outcome.receiver_done_ns
        done = self.outcome.sender_done_ns if done is None else done
        return (begin, done) if done is not None and done > begin else None


@dataclass(frozen=True, slots=True)
class LinkClass:
    """One class of a link end: tc's number of it, its rates, the scenario's flows that it carries."""

    name: str
    classid: int
    parent: str | None
    leaf: bool
    rate_bps: int | None
    ceil_bps: int | None
    flows: tuple[str, ...]


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
    """What the plan means: flows by id, ends by index, duration and warm-up in ns."""

    flows: Mapping[int, Flow]
    ends: Mapping[int, End]
    duration_ns: int
    warmup_ns: int

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


def read_context(context: Any, plan: Any, result: Any, where: str) -> Context:
    """Make a `Context` from the three JSON documents of a record.

    Raises:
        RecordError: an entry is missing or of the wrong type; says which.
    """
    read = _Reader(where)
    top = read.mapping(context, "context")
    planned = read.by_id(read.mapping(plan, "plan").get("flows", []), "id", "plan.flows")
    outcomes = read.by_id(read.mapping(result, "result").get("flows", []), "id", "result.flows")
    flows = read.by_id(top.get("flows"), "id", "context.flows")
    ends = read.by_id(top.get("ends"), "end", "context.ends")
    return Context(
        {
            number: read.flow(entry, planned.get(number, {}), outcomes.get(number, {}))
            for number, entry in flows.items()
        },
        {number: read.end(entry) for number, entry in ends.items()},
        read.number(top, "duration_ns", "context"),
        read.number(top, "warmup_ns", "context", 0),
    )


def _is_step(step: object) -> bool:
    match step:
        case [int(t_ns), int(value) | float(value)]:
            return abs(t_ns) < _LIMIT and 0 <= value < _LIMIT
    return False


class _Reader:
    # Takes values out of JSON, or says which one is wrong.

    def __init__(self, where: str) -> None:
        self.where = where

    def fault(self, key: str, found: object, wanted: str) -> RecordError:
        return RecordError(
            f"{key} is {str(found)[:60]!r}; expected {wanted}",
            where=self.where,
            hint="the record is damaged or was written by another program; run the cell again with --fresh",
        )

    def mapping(self, value: object, key: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise self.fault(key, value, "a JSON object")
        return value

    def by_id(self, value: object, name: str, key: str) -> dict[int, Mapping[str, Any]]:
        if not isinstance(value, list):
            raise self.fault(key, value, "a list")
        entries = [self.mapping(entry, key) for entry in value]
        return {self.number(entry, name, key): entry for entry in entries}

    def optional(self, entry: Mapping[str, Any], name: str, key: str) -> int | None:
        value = entry.get(name)
        if isinstance(value, float) and value.is_integer() and abs(value) < _LIMIT:
            value = int(value)
        if value is None or (isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LIMIT):
            return value
        raise self.fault(f"{key}.{name}", value, "a whole number of 64 bits or null")

    def number(self, entry: Mapping[str, Any], name: str, key: str, default: int | None = None) -> int:
        value = self.optional(entry, name, key)
        value = default if value is None else value
        if value is None:
            raise self.fault(f"{key}.{name}", entry.get(name), "a whole number")
        return value

    def text(self, entry: Mapping[str, Any], name: str, key: str, default: str | None = None) -> str:
        value = entry.get(name, default)
        if not isinstance(value, str):
            raise self.fault(f"{key}.{name}", value, "a string")
        return value

    def fraction(self, entry: Mapping[str, Any], name: str, key: str) -> float:
        value = entry.get(name) or 0
        if not isinstance(value, int | float) or not 0 <= value <= 1:
            raise self.fault(f"{key}.{name}", value, "a fraction from 0 to 1")
        return float(value)

    def texts(self, entry: Mapping[str, Any], name: str, key: str) -> tuple[str, ...]:
        value = entry.get(name, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.fault(f"{key}.{name}", value, "a list of texts")
        return tuple(value)

    def numbers(self, entry: Mapping[str, Any], name: str, key: str) -> tuple[int, ...]:
        value = entry.get(name, [])
        if not isinstance(value, list | tuple) or not all(isinstance(item, int) for item in value):
            raise self.fault(f"{key}.{name}", value, "a list of whole numbers")
        return tuple(value)

    def span(self, entry: Mapping[str, Any], name: str, key: str) -> tuple[int, int] | None:
        if entry.get(name) is None:
            return None
        numbers = self.numbers(entry, name, key)
        if len(numbers) != 2 or numbers[1] < numbers[0]:
            raise self.fault(f"{key}.{name}", entry[name], "a begin and an end")
        return numbers[0], numbers[1]

    def ways(self, entry: Mapping[str, Any], name: str, only: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
        value = entry.get(name, [only])
        if not isinstance(value, list) or not value:
            raise self.fault(f"context.flows.{name}", value, "a list of ways")
        return tuple(self.numbers({name: way}, name, "context.flows") for way in value)

    def flow(self, entry: Mapping[str, Any], planned: Mapping[str, Any], outcome: Mapping[str, Any]) -> Flow:
        key, wanted = "context.flows", "plan.flows"
        stop_ns = self.optional(entry, "stop_ns", key)
        ends, reverse_ends = self.numbers(entry, "ends", key), self.numbers(entry, "reverse_ends", key)
        narrowest = self.optional(entry, "bottleneck_end", key)
        return Flow(
            id=self.number(entry, "id", key),
            name=self.text(entry, "name", key),
            group=self.text(entry, "group", key, self.text(entry, "name", key)),
            kind=self.text(entry, "kind", key),
            start_ns=self.number(entry, "start_ns", key),
            stop_ns=self.optional(planned, "stop_ns", wanted) if stop_ns is None else stop_ns,
            ends=ends,
            reverse_ends=reverse_ends,
            base_rtt_ns=self.optional(entry, "base_rtt_ns", key),
            bottleneck_end=narrowest,
            bottleneck_bps=self.optional(entry, "bottleneck_bps", key),
            payload_per_packet=self.optional(entry, "payload_per_packet", key),
            frame_bytes=self.optional(entry, "frame_bytes", key),
            request_frame_bytes=self.number(entry, "request_frame_bytes", key, 0),
            answer_frame_bytes=self.number(entry, "answer_frame_bytes", key, 0),
            bytes=self.optional(planned, "bytes", wanted),
            packet_bytes=self.optional(planned, "packet_bytes", wanted),
            count=self.optional(planned, "count", wanted),
            outcome=self.outcome(outcome),
            generator=self.text(planned, "generator", wanted, "agent"),
            arrival=self.span(entry, "arrival", key),
            ways=self.ways(entry, "ways", ends),
            reverse_ways=self.ways(entry, "reverse_ways", reverse_ends),
            bottleneck_ends=self.numbers(entry, "bottleneck_ends", key)
            or (() if narrowest is None else (narrowest,)),
            ceiling_bps=self.optional(entry, "ceiling_bps", key),
            in_turn=entry.get("in_turn") is True,
        )

    def outcome(self, entry: Mapping[str, Any]) -> Outcome:
        key, error = "result.flows", entry.get("error")
        return Outcome(
            connected_ns=self.optional(entry, "connected_ns", key),
            sender_done_ns=self.optional(entry, "sender_done_ns", key),
            receiver_done_ns=self.optional(entry, "receiver_done_ns", key),
            bytes_sent=self.optional(entry, "bytes_sent", key),
            bytes_received=self.optional(entry, "bytes_received", key),
            packets_sent=self.optional(entry, "packets_sent", key),
            packets_received=self.optional(entry, "packets_received", key),
            error=None if error is None else str(error),
        )

    def end(self, entry: Mapping[str, Any]) -> End:
        key = "context.ends"
        return End(
            end=self.number(entry, "end", key),
            label=self.text(entry, "label", key),
            node=self.text(entry, "node", key, ""),
            dev=self.text(entry, "dev", key, ""),
            rate_bps=self.optional(entry, "rate_bps", key),
            buffer_bytes=self.optional(entry, "buffer_bytes", key),
            buffer_packets=self.optional(entry, "buffer_packets", key),
            delay_ns=self.number(entry, "delay_ns", key, 0),
            jitter_ns=self.number(entry, "jitter_ns", key, 0),
            loss=self.fraction(entry, "loss", key),
            queue=None if entry.get("queue") is None else self.text(entry, "queue", key),
            role=self.text(entry, "role", key, "plain"),
            serial_bps=self.optional(entry, "serial_bps", key),
            over_time={
                name: self.course(course, f"{key}.over_time.{name}")
                for name, course in self.mapping(entry.get("over_time", {}), f"{key}.over_time").items()
                if name in _SETTINGS
            },
            bundle=None if entry.get("bundle") is None else self.text(entry, "bundle", key),
            classes=self.classes(entry),
        )

    def classes(self, entry: Mapping[str, Any]) -> tuple[LinkClass, ...]:
        key, found = "context.ends.classes", entry.get("classes", [])
        if not isinstance(found, list):
            raise self.fault(key, found, "a list")
        return tuple(self.link_class(self.mapping(own, key), key) for own in found)

    def link_class(self, entry: Mapping[str, Any], key: str) -> LinkClass:
        classid = re.fullmatch(r"([0-9a-f]{1,4}):([0-9a-f]{1,4})", self.text(entry, "classid", key))
        if classid is None:
            raise self.fault(f"{key}.classid", entry.get("classid"), "a number of tc such as 1:10")
        return LinkClass(
            name=self.text(entry, "name", key),
            classid=int(classid[1], 16) << 16 | int(classid[2], 16),
            parent=None if entry.get("parent") is None else self.text(entry, "parent", key),
            leaf=bool(entry.get("leaf", True)),
            rate_bps=self.optional(entry, "rate_bps", key),
            ceil_bps=self.optional(entry, "ceil_bps", key),
            flows=self.texts(entry, "flows", key),
        )

    def course(self, value: object, key: str) -> Course:
        steps = value if isinstance(value, list) else []
        course = tuple((step[0], float(step[1])) for step in steps if _is_step(step))
        if not course or len(course) < len(steps) or any(a[0] >= b[0] for a, b in pairwise(course)):
            raise self.fault(key, value, "a list of ascending instants in ns with their values")
        return course

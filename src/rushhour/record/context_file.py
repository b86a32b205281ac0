"""What a plan means, as a manifest keeps it: its `context`, typed (docs/record-format.md)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from rushhour.record.document import EMPTY, Amount, Document, Exact


class ContextClass(Document):
    """One class of an end: its number in tc, its rates, the flows that it carries."""

    name: str
    classid: str
    parent: str | None = None
    leaf: object = True
    rate_bps: Exact | None = None
    ceil_bps: Exact | None = None
    flows: tuple[str, ...] = ()
    queue: str | None = None
    buffer_bytes: Exact | None = None
    buffer_packets: Exact | None = None
    over_time: Mapping[str, object] = EMPTY


class ContextEnd(Document):
    """An end and what was asked of it; numbers that change are told in `over_time` (instants and values)."""

    end: Exact
    label: str
    node: str = ""
    dev: str = ""
    rate_bps: Exact | None = None
    buffer_bytes: Exact | None = None
    buffer_packets: Exact | None = None
    delay_ns: Exact = Exact(0)
    jitter_ns: Exact = Exact(0)
    loss: Amount = Amount(0)
    queue: str | None = None
    role: str = "plain"
    serial_bps: Exact | None = None
    over_time: Mapping[str, object] = EMPTY
    classes: tuple[ContextClass, ...] = ()
    bundle: str | None = None


class ContextFlow(Document):
    """A flow, the ends that it crosses, and what its path is like."""

    id: Exact
    name: str
    group: str | None = None
    kind: str
    start_ns: Exact
    stop_ns: Exact | None = None
    ends: tuple[Exact, ...] = ()
    reverse_ends: tuple[Exact, ...] = ()
    base_rtt_ns: Exact | None = None
    bottleneck_end: Exact | None = None
    bottleneck_bps: Exact | None = None
    payload_per_packet: Exact | None = None
    frame_bytes: Exact | None = None
    request_frame_bytes: Exact = Exact(0)
    answer_frame_bytes: Exact = Exact(0)
    arrival: tuple[Exact, ...] | None = None
    ways: tuple[tuple[Exact, ...], ...] | None = None
    reverse_ways: tuple[tuple[Exact, ...], ...] | None = None
    bottleneck_ends: tuple[Exact, ...] = ()
    ceiling_bps: Exact | None = None
    over_time: Mapping[str, object] = EMPTY
    in_turn: object = None
    generator: str | None = None


class ContextPair(Document):
    """What a flow of a kind from one node to another would be, but for its number, name and times."""

    from_: str
    to: str
    kind: str


class ContextFile(Document):
    """What a plan means: its flows and ends, and for how long."""

    flows: tuple[ContextFlow, ...]
    ends: tuple[ContextEnd, ...]
    duration_ns: Exact
    warmup_ns: Exact = Exact(0)
    pairs: tuple[ContextPair, ...] = ()

    @cached_property
    def by_number(self) -> Mapping[int, ContextEnd]:
        """The ends by their number."""
        return {end.end: end for end in self.ends}

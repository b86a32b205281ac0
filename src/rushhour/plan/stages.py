"""Stages on egresses: from links with directions to cables whose ends each carry at most one stage.

Takes a `Graph`, gives `Cable`s. Each direction of a link is a list of stages in the order *queue, netem,
wire*, and each stage needs an egress of its own (two root qdiscs do not fit one device). The wire behind a
shaper also takes the time that packets need to be sent. A router lends its own egress; a host does not,
unless the scenario asks for it, because TCP small queues would hide the queue and netem would see segments
before they are cut. What finds no egress goes on **emulators**, small routers put into the link: where a
switch or a bond is at either end, they are small switches.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from rushhour.errors import PlanError
from rushhour.plan import netem
from rushhour.plan.classes import PlannedClass, tree
from rushhour.plan.graph import Wire
from rushhour.plan.queues import (
    NS,
    Limit,
    below_control,
    beside_control,
    change_lines,
    in_the_end,
    known_limit,
    later_lines,
    microsecond,
    queue_lines,
    resolve_buffer,
    stated_flow_rate,
    stated_limit,
    stated_rate,
)
from rushhour.quantities.units import Rate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rushhour.plan.graph import Direction, Graph, Link, Policer, Queue
    from rushhour.spec.course import Course

LACP = "802.3ad"
WIRE_LIMIT = 1_000_000  # packets under way that no sane experiment reaches; a number, not memory
FASTEST_BPS = 10**10  # what an unlimited link is taken for where a bound is needed
_HORIZON_NS = 9 * NS  # fq drops what is stamped later than its horizon, 10 s by default
NEVER_NS = 10**18
_LONGEST_NS = 1000 * NS
_MOST_NS = 4000 * NS  # fq takes its horizon in microseconds and 32 bits


class Change(NamedTuple):
    """One setting that becomes another at an instant; `lines` change a shaper in tc's words."""

    t_ns: int
    key: str
    value: float
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stage:
    """What one egress (or ingress) does: tc's lines for it, and what they mean."""

    role: str = "plain"  # queue, netem, wire, police, plain
    qdiscs: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    rate_bps: int | None = None
    limit: Limit = field(default_factory=lambda: Limit(None, None))
    words: str | None = None
    delay_ns: int = 0
    jitter_ns: int = 0
    wire: Wire | None = None
    changes: tuple[Change, ...] = ()
    classes: tuple[PlannedClass, ...] = ()
    inner_bps: int | None = None  # what the discipline under a shaper keeps by its own words
    flow_bps: int | None = None  # what it allows each flow
    loss: float = 0.0  # netem's, of independent packets; a wire has its own
    serial_bps: int | None = None  # at which a wire sends what the shaper before it lets go
    ahead_bytes: int = 0  # what that shaper may let go before it can be sent
    known: Limit | None = None  # the limit as records tell it, where `limit` is a guess to try it with


PLAIN = Stage()
Ingress = tuple[Stage, ...]  # at the node that packets reach, in the order in which they meet them


@dataclass(frozen=True, slots=True)
class Cable:
    """A piece of a link between two nodes, and the stage on the egress of either end.

    `ingress[side]` is what packets that `side` transmits meet on arrival at the other one.
    """

    name: str
    link: int
    nodes: tuple[str, str]
    stages: tuple[Stage, Stage]
    ingress: tuple[Ingress, Ingress] = ((), ())
    stem: str = ""  # the link's name, or one cable's of a bond
    member: int = 0
    layer2: bool = False  # what the plan puts into it switches


def cables(graph: Graph, rtt_of: Callable[[int, bool], int]) -> list[list[Cable]]:
    """Give for each link its cables in order from `a` to `b`.

    `rtt_of(link, forward)` is the base RTT in ns that a buffer in BDPs means there.
    """
    lenders = {node.name for node in graph.nodes if node.forwards}
    switches = {node.name for node in graph.nodes if node.switch}
    return [
        [
            cable
            for member in range(link.bond.links if link.bond else 1)
            for cable in _cables_of(
                index, member, link, lenders, rtt_of, layer2=bool(link.bond or {link.a, link.b} & switches)
            )
        ]
        for index, link in enumerate(graph.links)
    ]


def emulators(stem: str, count: int) -> list[str]:
    """Names of the emulators in a link, or in one cable of a bond."""
    return [f"{stem}.{number}" for number in range(1, count + 1)]


def _cables_of(
    index: int,
    member: int,
    link: Link,
    lenders: set[str],
    rtt_of: Callable[[int, bool], int],
    *,
    layer2: bool,
) -> list[Cable]:
    stem = f"{link.name}#{member + 1}" if link.bond else link.name
    ways = []  # for a → b and b → a: the stage on the node's own egress (or none), the other stages
    for node, forward in ((link.a, True), (link.b, False)):
        direction = link.direction(forward=forward)
        stages = _stages(link, direction, rtt_of(index, forward))
        own = PLAIN
        if direction.access is not None:
            own = _queue(direction.access, link, 0)
        elif stages and (node in lenders or link.own_egress):
            own = stages.pop(0)
        ways.append((own, stages))
    (own_a, forward_stages), (own_b, reverse_stages) = ways
    count = max(len(forward_stages), len(reverse_stages))
    nodes = [link.a, *emulators(stem, count), link.b]
    there = _padded(own_a, forward_stages, count)
    back = _padded(own_b, reverse_stages, count)[::-1]
    arriving = _ingress(link, link.forward), _ingress(link, link.reverse)
    return [
        Cable(
            stem if count == 0 else f"{stem}:{piece}",
            index,
            (nodes[piece], nodes[piece + 1]),
            (there[piece], back[piece]),
            (arriving[0] if piece == count else (), arriving[1] if piece == 0 else ()),
            stem,
            member,
            layer2,
        )
        for piece in range(count + 1)
    ]


def _padded(own: Stage, stages: list[Stage], count: int) -> list[Stage]:
    """Stages by egress in the order of the packets: the node's, then the emulators', as early as possible."""
    return [own, *stages, *[PLAIN] * (count - len(stages))]


def _stages(link: Link, direction: Direction, rtt_ns: int) -> list[Stage]:
    """The stages on egresses of a direction in the order in which a packet meets them."""
    stages = []
    if direction.access is not None and direction.access.serialise:
        stages.append(_wire(Wire(), link, direction.access))
    sender, wire = None, direction.wire or Wire()
    if direction.queue is not None:
        stages.append(_queue(direction.queue, link, rtt_ns))
        sender = direction.queue if direction.queue.rate_bps and direction.queue.serialise else None
    rate = (direction.queue.fastest_bps if direction.queue else None) or FASTEST_BPS
    if direction.netem is not None and not direction.at_ingress:
        # What netem delays, drops or doubles has been sent before.
        if sender is not None:
            stages.append(_wire(Wire(), link, sender))
            sender = None
        stages.append(_netem(direction.netem, rate, link.frame))
    if wire.acts or sender is not None:
        stages.append(_wire(wire, link, sender, rate))
    return [stage for stage in stages if stage.qdiscs]


def _ingress(link: Link, direction: Direction) -> Ingress:
    """What meets the packets of a direction on arrival: first the policer, then netem on an ifb."""
    found = []
    if direction.policer is not None:
        found.append(_police(direction.policer, link))
    if direction.netem is not None and direction.at_ingress:
        rate = (direction.queue.rate_bps if direction.queue else None) or FASTEST_BPS
        found.append(_netem(direction.netem, rate, link.frame))
    return tuple(found)


def _police(policer: Policer, link: Link) -> Stage:
    if policer.rate_bps is None:
        words = f"police pkts_rate {policer.per_s} pkts_burst {policer.burst}"
        shown = f"police of {policer.per_s} packets a second, burst {policer.burst}"
    else:
        # The policer drops what is longer than its mtu, which tc rounds; by default 2 kB.
        words = f"police rate {policer.rate_bps}bit burst {policer.burst}b mtu {max(2048, 2 * link.frame)}b"
        words += f" peakrate {policer.peak_bps}bit" if policer.peak_bps else ""
        shown = f"police burst {policer.burst}b"
        shown += f" at {Rate(policer.peak_bps)}" if policer.peak_bps else ""
    line = f"ingress protocol all prio 2 matchall action {words} conform-exceed drop/continue"
    return Stage("police", (), (f"filter {line}",), policer.rate_bps, Limit(None, None), shown)


def _queue(queue: Queue, link: Link, rtt_ns: int) -> Stage:
    limit = resolve_buffer(queue.buffer, queue.rate_bps, rtt_ns, link.frame)
    if queue.classes:
        if queue.course:
            raise PlanError(
                "a pattern changes a rate that classes divide, whose own rates would stay",
                where=f"link {link.name}",
                hint="divide the rate of another link, or leave the pattern out",
            )
        made = tree(queue, rtt_ns, link.frame)
        shown = f"{queue.scheduler}: {', '.join(entry.name for entry in queue.classes)}"
        return Stage("queue", made.qdiscs, made.filters, queue.rate_bps, limit, shown, classes=made.classes)
    stated = stated_limit(queue, limit, link.frame)
    first = replace(queue, rate_bps=queue.first_bps)
    qdiscs, classes = queue_lines(first, limit, link.frame)
    controlled = link.bond is not None and link.bond.mode == LACP
    if controlled:
        qdiscs, classes = beside_control(qdiscs, classes)
    inner = stated_rate(queue.words)
    outer = inner if queue.rate_bps is None else first.rate_bps
    kind, *own_words = in_the_end(queue.words) or ["fifo"]
    own = " ".join(own_words) if kind == "netem" else ""
    return Stage(
        "queue",
        tuple(qdiscs),
        tuple(classes),
        min(outer, inner) if outer and inner else outer,
        stated,
        queue.words,
        delay_ns=netem.delay_ns(own)[0],
        changes=(
            *_rate_changes(queue, limit, link.frame, controlled=controlled),
            *_later_changes(queue, controlled=controlled),
        ),
        inner_bps=inner,
        flow_bps=stated_flow_rate(queue.words),
        loss=netem.loss(own),
        known=known_limit(queue, stated),
    )


def _rate_changes(queue: Queue, limit: Limit, frame: int, *, controlled: bool) -> tuple[Change, ...]:
    """When the queue's rate changes, and by which lines; `controlled`: packets of the bond pass beside it."""
    ends = [t_ns for t_ns, _ in queue.course[1:]] + [NEVER_NS]

    def lines(rate_bps: int, until_ns: int) -> tuple[str, ...]:
        found = change_lines(replace(queue, rate_bps=rate_bps), limit, frame, until_ns)
        return tuple(below_control(line) for line in found) if controlled else tuple(found)

    return tuple(
        Change(t_ns, "rate", value, lines(int(value), end_ns - t_ns))
        for (t_ns, value), end_ns in zip(queue.course, ends, strict=False)
        if t_ns > 0
    )


def _later_changes(queue: Queue, *, controlled: bool) -> Iterator[Change]:
    """When the queue's discipline becomes another by its own words, and by which lines."""
    for at_ns, line in later_lines(queue):
        yield Change(at_ns, "class", 0.0, (below_control(line) if controlled else line,))


def _netem(words: str, fastest_bps: int, frame: int) -> Stage:
    mean, jitter = netem.delay_ns(words)
    return Stage(
        "netem",
        (netem.line(words, fastest_bps, frame),),
        rate_bps=netem.rate_bps(words),
        words=f"netem {words}",
        delay_ns=mean,
        jitter_ns=jitter,
        loss=netem.loss(words),
    )


def _wire(wire: Wire, link: Link, sender: Queue | None, fastest_bps: int = FASTEST_BPS) -> Stage:
    """The delay of a direction; behind a shaper also the time that a packet takes to be sent."""
    longest, first = wire.longest_ns, wire.first
    if longest > _LONGEST_NS:
        raise PlanError(
            f"a delay of {longest / NS:g} s is longer than the kernel's fq can hold a packet back",
            where=f"link {link.name}",
            hint=f"at most {_LONGEST_NS // NS} s one way; split the delay over several links",
        )
    limit = max(WIRE_LIMIT, 2 * fastest_bps * longest // (8 * NS * link.frame))
    ahead, sending = 0, sender.sending if sender else ()
    if sender is not None:
        ahead = _ahead(sender, link.frame)
        longest = min(_MOST_NS, longest + _sent_ns(sender, ahead + link.frame))
    # Released at the stamped instant: fq's default timer slack of 10 µs would make every packet that late.
    words = f"fq limit {limit} flow_limit {limit} nopacing timer_slack 1ns"
    if longest > _HORIZON_NS:
        words += f" horizon {longest // NS + 2}s"
    return Stage(
        "wire",
        (f"root handle 1: {words}",),
        delay_ns=first.delay_ns,
        jitter_ns=first.jitter_ns,
        wire=first,
        changes=tuple(
            Change(t_ns, key, value)
            for key, course in (*wire.courses, *_sending(sender))
            for t_ns, value in course
            if t_ns > 0
        ),
        serial_bps=int(sending[0][1]) if sending else None,
        ahead_bytes=ahead,
    )


def _sending(sender: Queue | None) -> tuple[tuple[str, Course], ...]:
    """How what a shaper lets go is sent, over time: the rate, and until when nothing is."""
    if sender is None:
        return ()
    held = tuple((start, float(NEVER_NS if end is None else end)) for start, end in sender.outages)
    return ("serial", sender.sending[1:]), ("hold", held)


def _ahead(sender: Queue, frame: int) -> int:
    """What a shaper lets go at most before it can be sent: its bucket, or the largest of its classes."""
    bursts = [entry.burst.bytes for entry in sender.classes if entry.burst]
    return max([frame, *bursts]) + microsecond(sender.fastest_bps or 0)


def _sent_ns(sender: Queue, size: int) -> int:
    """The longest that it takes until so much has been sent; an outage without an end does not count."""
    slowest = min(value for _, value in sender.sending)
    waits = [end - start for start, end in sender.outages if end is not None]
    return int(size * 8 * NS // max(1, slowest)) + max(waits, default=0)

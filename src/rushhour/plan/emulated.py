"""What an emulator in the middle does: the bottleneck and the delays of a drawing on two devices.

Takes a lowered cell, gives for each direction what stands on which device. All flows must share one
bottleneck and one delay a direction, for there is one device a direction. A packet's queue is on the device
by which it leaves. Where a direction also has a delay, that is met where packets arrive, on an ifb device: a
delay does not care whether it comes before the queue or after it, and each stage needs an egress of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rushhour.errors import PlanError
from rushhour.quantities.words import plural
from rushhour.record.context_file import ContextEnd
from rushhour.record.document import read
from rushhour.record.plan_file import PlanWire

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rushhour.plan.lower import Lowered
    from rushhour.record.context_file import ContextFlow
    from rushhour.record.plan_file import PlanEgress

LONGEST_NS = 9 * 10**9  # of a delay: fq's horizon is 10 s
_NONE: Mapping[str, object] = {
    "rate_bps": None,
    "buffer_bytes": None,
    "buffer_packets": None,
    "delay_ns": 0,
    "jitter_ns": 0,
    "loss": 0.0,
}
_STAGE = (*_NONE, "queue", "role", "classes")


@dataclass(frozen=True, slots=True)
class Emulator:
    """The machine in the middle: `forward` is the device towards the receivers, `backward` to the senders."""

    name: str
    forward: str
    backward: str


@dataclass(frozen=True)
class Way:
    """What packets meet in one direction of the drawing, by the numbers of its ends there."""

    queue: int | None
    netem: int | None
    wires: tuple[int, ...]
    delay: Mapping[str, object]
    passed: tuple[int, ...] = ()
    """Queues that are left out: they are wider than the bottleneck, or the hosts' own."""


@dataclass(frozen=True)
class Direction:
    """One direction at the emulator: the plan's `egress` entries, and the ends of the context."""

    way: Way
    egress: list[dict[str, object]] = field(default_factory=list)
    ends: list[ContextEnd] = field(default_factory=list)
    crossed: list[int] = field(default_factory=list)
    bottleneck: int | None = None

    def carries(self, flow: ContextFlow) -> bool:
        """Whether a flow's data goes this way: it crosses this way's queue, or its delay."""
        mine = {self.way.queue, self.way.netem, *self.way.wires} - {None}
        return bool(mine & set(flow.ends))


def end(
    number: int, label: str, node: str, dev: str, stage: Mapping[str, object] | None = None
) -> ContextEnd:
    """An end of the context; without a stage nothing is asked of it."""
    own = {**_NONE, "queue": None, "role": "plain"} if stage is None else stage
    told = {"end": number, "label": label, "node": node, "dev": dev}
    return read(ContextEnd, told | {key: own[key] for key in _STAGE if key in own}, "the context")


def directions(lowered: Lowered, emulator: Emulator, first_end: int) -> tuple[Direction, Direction]:
    """What the emulator does towards the receivers of the first flow, and back.

    Raises:
        PlanError: one device a direction cannot do what the drawing does; says what.
    """
    forward, backward = shared_ways(lowered)
    there = _direction(lowered, forward, emulator, first_end, back=False)
    return there, _direction(lowered, backward, emulator, first_end + len(there.ends), back=True)


def shared_ways(lowered: Lowered) -> tuple[Way, Way]:
    """The way of the first flow's data, and back; all other flows must have these two.

    Raises:
        PlanError: they have not, or a way has more than one machine can do.
    """
    # Of many flows on one path one tells.
    flows = list(
        {(*flow.ends, None, *flow.reverse_ends): flow for flow in lowered.context.flows[::-1]}.values()
    )[::-1]
    ways = [(_way(lowered, flow, back=False), _way(lowered, flow, back=True)) for flow in flows]
    first = ways[0]
    for flow, pair in zip(flows, ways, strict=True):
        if not (_alike(first, pair) or _alike(first, pair[::-1])):
            raise PlanError(
                f"it takes another bottleneck or another delay than flow {flows[0]['name']}; "
                "an emulator with one device a direction has one of each",
                where=f"flow {flow.name}",
                hint="leave out `rtts` and further links, or run the whole drawing: --lab uml or netns",
            )
    if len({end for flow in lowered.plan.flows for end in (flow.from_, flow.to)}) > 2:
        _refuse_shared_drops(lowered, first)
    return first


def left_out(lowered: Lowered, made: tuple[Direction, Direction] | None) -> tuple[str, ...]:
    """Sentences for the record: what of the drawing is not there."""
    ends = lowered.context.by_number
    crossed = {number for flow in lowered.context.flows for number in (*flow.ends, *flow.reverse_ends)}
    if made is None:
        asked = [words for number in sorted(crossed) for words in _asked(ends[number])]
        if not asked:
            return ()
        return (
            "the path as found: nothing of the drawing was made (" + "; ".join(dict.fromkeys(asked)) + ")",
        )
    passed = sorted({number for direction in made for number in direction.way.passed})
    told = [f"{ends[number].label} at {(ends[number].rate_bps or 0) / 1e6:g} Mbit/s" for number in passed]
    return (f"rates above the bottleneck's were not made: {', '.join(told)}",) if told else ()


def _asked(one: ContextEnd) -> Iterator[str]:
    if one.rate_bps:
        yield f"rate {one.rate_bps / 1e6:g} Mbit/s"
    if one.rate_bps and one.buffer_bytes:
        yield f"buffer {one.buffer_bytes} B"
    elif one.rate_bps and one.buffer_packets:
        yield f"buffer {plural(one.buffer_packets, 'packet')}"
    if one.role in ("netem", "police"):
        yield str(one.queue)
    if one.role == "wire" and one.delay_ns:
        yield f"delay {one.delay_ns / 1e6:g} ms"
    if one.role == "wire" and one.loss:
        yield f"loss {one.loss:g}"


def _alike(one: tuple[Way, Way], other: tuple[Way, Way]) -> bool:
    return all(
        (a.queue, a.netem, a.delay) == (b.queue, b.netem, b.delay) for a, b in zip(one, other, strict=True)
    )


def _way(lowered: Lowered, flow: ContextFlow, *, back: bool) -> Way:
    if len((flow.reverse_ways if back else flow.ways) or ()) > 1:
        raise _cannot(flow, "packets that take several ways")
    ends = lowered.context.by_number
    hosts = {end for planned in lowered.plan.flows for end in (planned.from_, planned.to)}
    stages = [ends[number] for number in (flow.reverse_ends if back else flow.ends)]
    if any(one.role == "police" for one in stages):
        raise _cannot(flow, "a policer")
    queues = [one for one in stages if one.role == "queue"]
    queue = _bottleneck(flow, [one for one in queues if one.node not in hosts or len(queues) == 1])
    netems = [one.end for one in stages if one.role == "netem"]
    # The machine's own link takes its time to send; a wire that does nothing else is left out.
    wires = [one.end for one in stages if one.role == "wire" and _acts(lowered, one.end)]
    if len(netems) > 1 or (netems and wires and queue is not None):
        raise _cannot(flow, "netem beside a delay and a queue: three stages on two devices")
    # The seed differs from wire to wire and is no setting.
    delay: Mapping[str, object] = _summed(lowered, wires) | {"seed": 0} if wires else {}
    passed = tuple(one.end for one in queues if one.end != queue and one.rate_bps)
    return Way(queue, netems[0] if netems else None, tuple(wires), delay, passed)


def _acts(lowered: Lowered, number: int) -> bool:
    wire = _planned(lowered, number).wire
    return wire is not None and any((wire.delay_ns, wire.jitter_ns, wire.loss, wire.drop))


def _bottleneck(flow: ContextFlow, queues: Sequence[ContextEnd]) -> int | None:
    narrow = [one for one in queues if one.rate_bps] or list(queues)
    if not narrow:
        return None
    least = min(one.rate_bps or 0 for one in narrow)
    found = [one for one in narrow if (one.rate_bps or 0) == least]
    if len(found) > 1:
        raise _cannot(flow, f"several bottlenecks ({', '.join(one.label for one in found)})")
    return found[0].end


def _cannot(flow: ContextFlow, what: str) -> PlanError:
    return PlanError(
        f"an emulator with one device a direction cannot do this: {what}",
        where=f"flow {flow.name}",
        hint="run the whole drawing (--lab uml or netns), or draw one bottleneck",
    )


def _planned(lowered: Lowered, number: int) -> PlanEgress:
    """An end of the plan: of a link, or on arrival."""
    found = lowered.plan.place(number)
    assert found is not None, "the context names ends of its plan"
    return found


def _summed(lowered: Lowered, wires: Sequence[int]) -> PlanWire:
    """One wire that does what several do in a row: delays add up, a packet survives all losses."""
    every = [wire for number in wires if (wire := _planned(lowered, number).wire) is not None]
    dropping = [wire for wire in every if wire.drop]
    if len(dropping) > 1:
        raise PlanError("packets are dropped by number at two places", where="link", hint="drop them at one")
    sums = {
        "delay_ns": sum(wire.delay_ns for wire in every),
        "jitter_ns": sum(wire.jitter_ns for wire in every),
        "reorder": any(wire.reorder for wire in every),
        "loss": 1 - math.prod(1 - wire.loss for wire in every) if len(every) > 1 else every[0].loss,
        "drop": [*dropping[0].drop] if dropping else [],
        "seed": (dropping or every)[0].seed,
    }
    return read(PlanWire, sums, "the plan")


def _refuse_shared_drops(lowered: Lowered, ways: tuple[Way, Way]) -> None:
    for way in ways:
        if way.wires and _summed(lowered, way.wires).drop:
            raise PlanError(
                "`drop` names packets of one link, and several hosts would share its numbers",
                where="link",
                hint="use `loss`, or two hosts",
            )


def _direction(lowered: Lowered, way: Way, emulator: Emulator, number: int, *, back: bool) -> Direction:
    devices = emulator.forward, emulator.backward
    leave, arrive = devices[::-1] if back else devices
    ends = lowered.context.by_number
    made = Direction(way)
    stages = []
    if way.netem is not None or way.wires:
        wire = _summed(lowered, way.wires) if way.wires else None
        drawn = way.netem if way.netem is not None else max(way.wires, key=lambda one: ends[one].delay_ns)
        stages.append((drawn, wire))
    if way.queue is not None:
        stages.append((way.queue, None))
    for place, (drawn, wire) in enumerate(stages):
        planned, last = _planned(lowered, drawn), place == len(stages) - 1
        ifb = None if last else f"rush{number}"
        entry: dict[str, object] = {
            "node": emulator.name,
            "dev": leave if last else arrive,
            "end": number,
            "qdiscs": [*planned.qdiscs],
            "filters": [*planned.filters] if last and wire is None else [],
            "wire": wire,
        }
        made.egress.append(entry if ifb is None else entry | {"ifb": ifb})
        meant: dict[str, object] = dict(ends[drawn])
        label = ends[drawn].label
        if wire is not None:
            meant |= {"delay_ns": wire.delay_ns, "jitter_ns": wire.jitter_ns, "loss": wire.loss}
            _check_delay(wire)
            label += ", delay"
        made.ends.append(end(number, label, emulator.name, ifb or leave, meant))
        made.crossed.append(number)
        number += 1
    bottleneck = made.crossed[-1] if way.queue is not None and ends[way.queue].rate_bps else None
    return Direction(way, made.egress, made.ends, made.crossed, bottleneck)


def _check_delay(wire: PlanWire) -> None:
    if wire.delay_ns + wire.jitter_ns > LONGEST_NS:
        raise PlanError(
            f"a delay of {wire.delay_ns / 1e9:g} s is longer than fq holds a packet back by default",
            where="link",
            hint=f"at most {LONGEST_NS / 1e9:g} s one way",
        )

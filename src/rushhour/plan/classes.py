"""Classes in tc's own words: a scheduler under the link's rate, its classes, their queues, their filters.

Takes a `Queue` with classes and the flows that cross, gives the lines of an egress and what its classes are.

    htb, hfsc            the scheduler is the shaper: 1:1 is the link, the classes hang below it
    drr, qfq, ets, prio  the scheduler (2:) is the discipline under the shaper (1:)

What no class names must go somewhere, or htb would send it unshaped and drr drop it: where no class is left
without flows, there is one more, the rest, which owns next to nothing and may borrow everything. The packets
of calibration take that way too, so a train meets the link's rate and not a class's.

A flow is told by its ports and a ping by its identifier, which hold the flow's number: u32 finds both in IPv4
and IPv6 alike, because no packet here has anything between its header and its ports. Fragments but the first
have no ports and go with the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from rushhour.errors import PlanError
from rushhour.plan.flows import FIRST_DPORT
from rushhour.plan.graph import Queue
from rushhour.plan.queues import (
    Limit,
    discipline_lines,
    known_limit,
    later_lines,
    microsecond,
    resolve_buffer,
    stated_flow_rate,
    stated_limit,
    tbf,
)
from rushhour.quantities.units import Rate
from rushhour.spec.control import BANDED, SHAPING, Class
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rushhour.plan.flows import PlannedFlow
    from rushhour.spec.control import Later

Course = tuple[tuple[int, int], ...]  # instants in ns, and bit/s from then on
REST = "(rest)"  # no name that a scenario can give
REST_RATE = Rate(8_000)  # beside rates that may already add up to the link's
_FIRST_MINOR, _FIRST_HANDLE = 0x10, 0x100
TCP, UDP = 6, 17
_PRIOMAP = 16  # TC_PRIO_MAX + 1


class Crossing(NamedTuple):
    """A flow that crosses a direction, with its data or with what answers them."""

    flow: PlannedFlow
    data: bool


@dataclass(frozen=True, slots=True)
class PlannedClass:
    """One class as it is built; `flows` are the scenario's that it carries, `leaf` whether it queues."""

    name: str
    classid: str
    parent: str | None
    rate_bps: int | None
    ceil_bps: int | None
    flows: tuple[str, ...]
    limit: Limit
    words: str
    leaf: bool
    prio: int = 1  # of its filters: one that goes has its own, by which they are taken away
    then: Later | None = None
    then_line: str = ""
    later_ceil_bps: int | None = None  # what its ceiling becomes; None: curves say it
    known: Limit | None = None  # the limit of its queue as records tell it; None: it has no queue


@dataclass(frozen=True, slots=True)
class Tree:
    """The classes of a direction, and tc's lines that make them."""

    classes: tuple[PlannedClass, ...]
    qdiscs: tuple[str, ...]
    filters: tuple[str, ...]


def tree(queue: Queue, rtt_ns: int, frame: int) -> Tree:
    """Lay out the classes of a queue that has some.

    `rtt_ns` is what a buffer in BDPs means here, `frame` the bytes of a full one. The filters that tell flows
    are not among the tree's: they need the run's numbers (`class_filters`).
    """
    entries = _in_order(queue)
    names = [entry.name for entry in entries]
    rest = next(entry.name for entry in entries if not entry.flows and not _is_inner(queue, entry))
    handle = 1 if queue.scheduler in SHAPING else 2
    first = 1 if queue.scheduler in BANDED else _FIRST_MINOR
    ids = {name: f"{handle}:{first + number:x}" for number, name in enumerate(names)}
    planned, leaves, classes = [], [], []
    gone = [entry.name for entry in entries if entry.then and entry.then.gone]
    top = f"{handle}:1" if queue.scheduler in SHAPING else f"{handle}:"
    for number, entry in enumerate(entries):
        place = f"parent {ids[entry.parent] if entry.parent else top} classid {ids[entry.name]}"
        own = replace(
            _planned(queue, entry, ids[entry.name], _limit(queue, entry, rtt_ns, frame)),
            prio=2 + gone.index(entry.name) if entry.name in gone else 1,
            then_line=f"class {place} {_class_words(queue, entry.later, frame)}" if entry.then else "",
        )
        leaf = Queue(own.ceil_bps or queue.rate_bps, entry.buffer or queue.buffer, own.words, "htb")
        if own.leaf:
            own = replace(own, known=known_limit(leaf, stated_limit(leaf, own.limit, frame)))
        planned.append(own)
        if queue.scheduler not in BANDED:
            classes.append(f"class {place} {_class_words(queue, entry, frame)}")
        if own.leaf:
            if later_lines(leaf):
                raise PlanError(
                    f'class {entry.name}: queue = "{own.words}": the queue of a class stays what it is',
                    where="topology.class",
                    hint='without "at" after "then" the words hold before packets pass',
                )
            place = f"parent {own.classid} handle {_FIRST_HANDLE + number:x}:"
            leaves += discipline_lines(place, leaf, own.limit, frame)
    roots, above = _roots(queue, entries, ids[rest], frame)
    if queue.scheduler in ("drr", "qfq"):  # which drop what no filter sends to a class
        classes.append(f"filter parent {handle}: prio {2 + len(gone)} matchall flowid {ids[rest]}")
    return Tree(tuple(planned), (*roots, *leaves), (*above, *classes))


def class_filters(
    classes: Sequence[PlannedClass], crossing: Sequence[Crossing], *, ipv6: bool
) -> Iterator[str]:
    """The filters that send the flows which cross a direction to its classes."""
    for entry in classes:
        carried = [one for one in crossing if one.flow.group in entry.flows]
        scheduler = entry.classid.split(":")[0]
        for line in _matches(carried, entry.prio, ipv6=ipv6):
            yield f"filter parent {scheduler}: {line} flowid {entry.classid}"


def class_changes(
    classes: Sequence[PlannedClass], crossing: Sequence[Crossing]
) -> Iterator[tuple[int, list[str]]]:
    """When classes become others or go, and by which lines: first the filters that send flows there."""
    for entry in classes:
        if entry.then is None:
            continue
        lines = [entry.then_line]
        if entry.then.gone:
            scheduler = entry.classid.split(":")[0]
            lines = [f"delete class classid {entry.classid}"]
            if any(one.flow.group in entry.flows for one in crossing):
                lines.insert(0, f"delete filter parent {scheduler}: prio {entry.prio}")
        yield entry.then.at.ns, lines


def ceilings(classes: Sequence[PlannedClass], flow: str, link_bps: int | None) -> Course:
    """The least ceiling on a flow's way through the tree, from when on; empty where it never has one.

    The discipline of a class may allow each of its flows less. A flow whose class goes is then in the class
    of what no other names.
    """
    rest = next((entry for entry in classes if entry.leaf and not entry.flows), None)
    mine = next((entry for entry in classes if flow in entry.flows), rest)
    edges = {0, *(entry.then.at.ns for entry in classes if entry.then)}
    found: list[tuple[int, int | None]] = []
    for t_ns in sorted(edges):
        now = rest if mine and _is_gone(mine, t_ns) else mine
        least = min(_chain(classes, now, t_ns), default=None)
        if not found or found[-1][1] != least:
            found.append((t_ns, least))
    unbound = link_bps or 0
    known = any(most is not None for _, most in found) and (unbound or all(most for _, most in found))
    return tuple((t_ns, most or unbound) for t_ns, most in found) if known else ()


def ceilings_of(entry: PlannedClass, link_bps: int | None) -> Course:
    """The ceiling of one class from when on, 0 once it is gone; empty where it has none, or keeps it."""
    if entry.then is None or not entry.ceil_bps:
        return ()
    later = 0 if entry.then.gone else entry.later_ceil_bps or link_bps or 0
    return (0, entry.ceil_bps), (entry.then.at.ns, later)


def _is_gone(entry: PlannedClass, t_ns: int) -> bool:
    return entry.then is not None and entry.then.gone and entry.then.at.ns <= t_ns


def _chain(classes: Sequence[PlannedClass], entry: PlannedClass | None, t_ns: int) -> Iterator[int]:
    """What a class allows at an instant: each flow, all of the class, all of what that is part of."""
    each = stated_flow_rate(entry.words) if entry else None
    if each:
        yield each
    own = {one.name: one for one in classes}
    while entry is not None:
        became = entry.then is not None and entry.then.at.ns <= t_ns
        most = entry.later_ceil_bps if became else entry.ceil_bps
        if most:
            yield most
        entry = own.get(entry.parent) if entry.parent else None


def _in_order(queue: Queue) -> list[Class]:
    """Every class after its parent, the rest if no class takes it; of ets' bands the strict ones first."""
    entries = list(queue.classes)
    if all(entry.flows or _is_inner(queue, entry) for entry in entries):
        rate = queue.rate_bps
        shaping = queue.scheduler in SHAPING
        weighted = queue.scheduler == "ets" and not _is_strict(entries[-1])
        entries.append(
            Class.model_construct(
                name=REST,
                rate=REST_RATE if shaping else None,
                ceil=Rate(rate) if shaping and rate else None,
                weight=1 if weighted else None,
            )
        )
    depth: dict[str | None, int] = {None: 0}
    while len(depth) <= len(entries):
        depth |= {e.name: depth[e.parent] + 1 for e in entries if e.parent in depth}
    strict = queue.scheduler == "ets"
    return sorted(entries, key=lambda entry: (strict and not _is_strict(entry), depth[entry.name]))


def _is_inner(queue: Queue, entry: Class) -> bool:
    return any(other.parent == entry.name for other in queue.classes)


def _is_strict(entry: Class) -> bool:
    return entry.weight is None and entry.quantum is None


def _limit(queue: Queue, entry: Class, rtt_ns: int, frame: int) -> Limit:
    """The buffer of a class, its own or the link's, at the most that it may send."""
    most = entry.ceil or entry.rate
    return resolve_buffer(entry.buffer or queue.buffer, most.bps if most else queue.rate_bps, rtt_ns, frame)


def _planned(queue: Queue, entry: Class, classid: str, limit: Limit) -> PlannedClass:
    rate, later = entry.rate.bps if entry.rate else None, entry.later
    most = later.ceil or later.rate
    by_curves = entry.then is not None and entry.then.curves is not None
    return PlannedClass(
        name=entry.name,
        classid=classid,
        parent=entry.parent,
        rate_bps=rate,
        ceil_bps=entry.ceil.bps if entry.ceil else rate,
        flows=entry.flows,
        limit=limit,
        words=entry.queue or queue.words,
        leaf=not _is_inner(queue, entry),
        then=entry.then,
        later_ceil_bps=most.bps if most and not by_curves else None,
    )


def _class_words(queue: Queue, entry: Class, frame: int) -> str:
    """What follows `class add … classid …`, of ets `class change …`."""
    rate = entry.rate.bps if entry.rate else 0
    ceil = entry.ceil.bps if entry.ceil else rate
    quantum = entry.quantum.bytes if entry.quantum else (entry.weight or 1) * frame
    match queue.scheduler:
        case "htb":
            buckets = (entry.burst.bytes,) * 2 if entry.burst else (microsecond(rate), microsecond(ceil))
            return _htb(rate, ceil, buckets, f"prio {entry.prio or 0} quantum {quantum}")
        case "hfsc":
            return f"hfsc {entry.curves or f'sc rate {rate}bit ul rate {ceil}bit'}"
        case "qfq":
            # Classes of one weight and one length share a turn, idle ones too: the rest must not join them.
            return f"qfq weight {entry.weight or 1} maxpkt {frame + (entry.name == REST)}"
    return f"{queue.scheduler} quantum {quantum}"


def _htb(rate: int, ceil: int, buckets: tuple[int, int], more: str) -> str:
    return f"htb rate {rate}bit ceil {ceil}bit burst {buckets[0]}b cburst {buckets[1]}b {more}"


def _roots(queue: Queue, entries: Sequence[Class], rest: str, frame: int) -> tuple[list[str], list[str]]:
    """The scheduler's qdisc lines, and the class that stands for the whole link."""
    rate = queue.rate_bps or 0
    default = rest.split(":")[1]
    if queue.scheduler == "htb":
        buckets = (microsecond(rate), microsecond(rate))
        link = _htb(rate, rate, buckets, f"quantum {frame}")
        return [f"root handle 1: htb default {default}"], [f"class parent 1: classid 1:1 {link}"]
    if queue.scheduler == "hfsc":
        link = f"hfsc sc rate {rate}bit ul rate {rate}bit"
        return [f"root handle 1: hfsc default {default}"], [f"class parent 1: classid 1:1 {link}"]
    words: str = queue.scheduler
    if queue.scheduler in BANDED:
        words += f" bands {len(entries)}"
        quanta = [
            e.quantum.bytes if e.quantum else (e.weight or 1) * frame for e in entries if not _is_strict(e)
        ]
        if queue.scheduler == "ets":
            words += f" strict {len(entries) - len(quanta)}" if len(quanta) < len(entries) else ""
            words += " quanta " + " ".join(map(str, quanta)) if quanta else ""
        words += " priomap " + " ".join([str(int(default, 16) - 1)] * _PRIOMAP)
    limit = resolve_buffer(queue.buffer, rate, 0, frame)  # of tbf's own fifo, which the scheduler replaces
    return [tbf(rate, limit, frame), f"parent 1:1 handle 2: {words}"], []


def _matches(carried: Sequence[Crossing], prio: int, *, ipv6: bool) -> Iterator[str]:
    """u32's words for the packets of these flows: by protocol, then by a 16-bit word with their numbers."""
    family, header, icmp = ("ip6", 40, 58) if ipv6 else ("ip", 20, 1)
    numbers: dict[tuple[int, int], list[int]] = {}
    for crossing in carried:
        kind, number = crossing.flow.keys.kind, crossing.flow.id
        if kind in kinds.ECHOES:  # request and answer have the identifier at the same place
            numbers.setdefault((icmp, header + 4), []).append(number & 0xFFFF)
        else:  # data go to the listening port, what answers comes from it
            protocol = UDP if kind in kinds.OVER_UDP else TCP
            numbers.setdefault((protocol, header + 2 * crossing.data), []).append(FIRST_DPORT + number)
    protocol_name = "ipv6" if ipv6 else "ip"
    for (protocol, place), known in numbers.items():
        for value, mask in blocks(sorted(set(known))):
            yield (
                f"protocol {protocol_name} prio {prio} u32 match {family} protocol {protocol} 0xff "
                f"match u16 {value} {mask:#x} at {place}"
            )


def blocks(ports: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Cover exactly these ports (ascending) with as few pairs of value and mask as aligned blocks allow."""
    known = set(ports)
    at = 0
    while at < len(ports):
        port, size = ports[at], 1
        while port % (2 * size) == 0 and all(port + k in known for k in range(size, 2 * size)):
            size *= 2
        yield port, 0xFFFF ^ (size - 1)
        at += size

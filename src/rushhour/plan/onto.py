"""A plan put onto machines: what of a scenario can be on hosts and a path that are there already.

Takes a `Lowered` cell and who takes which node's part, gives the plan that every machine gets with its own
name, and the context that goes with it. Nodes become machines; links, routes, neighbours and devices of the
drawing are left out, for the path is there. With an emulator in the middle the bottleneck's queue and the
delays of both directions go to its two devices; without one the path stays as it is found. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rushhour.errors import PlanError
from rushhour.plan import emulated
from rushhour.plan.emulated import Direction, Emulator
from rushhour.plan.nodes import TTL
from rushhour.record.context_file import ContextFile
from rushhour.record.document import read
from rushhour.record.plan_file import planned
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rushhour.plan.lower import Lowered
    from rushhour.record.context_file import ContextEnd, ContextFlow
    from rushhour.record.plan_file import PlanFile, PlanFlow

__all__ = ["Emulator", "Onto", "Seat", "onto", "talkers"]

_ELSEWHERE = "the labs uml and netns build the whole drawing: --lab uml"


@dataclass(frozen=True, slots=True)
class Seat:
    """A machine that takes the part of nodes: its name in the plan, its address in the experiment.

    `device` is the one by which it sends, `mtu` that device's; None where they are not known.
    """

    name: str
    address: str
    device: str | None = None
    mtu: int | None = None


@dataclass(frozen=True)
class Onto:
    """Plan and context for machines, the sysctls that the scenario wants by machine, what was left out."""

    plan: PlanFile
    context: ContextFile
    sysctls: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()


def talkers(plan: PlanFile) -> list[str]:
    """The nodes at which flows begin or end, in the order of the flows."""
    ends = (end for flow in plan.flows for end in (flow.from_, flow.to))
    return list(dict.fromkeys(ends))


def onto(lowered: Lowered, seats: Mapping[str, Seat], emulator: Emulator | None = None) -> Onto:
    """Put a lowered cell onto machines; `seats` has one for each of `talkers`.

    Raises:
        PlanError: the scenario asks for what machines on a path that is there cannot do; says what, and why.
    """
    plan = lowered.plan
    check_possible(plan)
    _check_seats(plan, seats)
    machines = list({seat.name: seat for seat in seats.values()}.values())
    own = [_own_end(number, seat) for number, seat in enumerate(m for m in machines if m.device)]
    directions = emulated.directions(lowered, emulator, len(own)) if emulator is not None else None
    emulators = [] if emulator is None else [emulator.name]
    put = _plan(plan, seats, [*(m.name for m in machines), *emulators])
    put["watch"] = [{"node": end.node, "dev": end.dev, "end": end.end} for end in own]
    if directions is not None:
        put["egress"] = [entry for direction in directions for entry in direction.egress]
    at = {end.node: end.end for end in own}
    flows = [_meaning(one, plan.flow(one.id), seats, at, directions) for one in lowered.context.flows]
    ends = own + [end for direction in directions or () for end in direction.ends]
    context = read(ContextFile, lowered.context | {"flows": flows, "ends": ends}, "the context")
    return Onto(planned(put), context, _sysctls(plan, seats), emulated.left_out(lowered, directions))


def _plan(plan: PlanFile, seats: Mapping[str, Seat], nodes: Sequence[str]) -> dict[str, object]:
    return {
        **{key: plan[key] for key in ("format", "seed", "duration_ns", "sample_ns")},
        "nodes": [_node(name) for name in nodes],
        "links": [],
        "routes": [],
        "neighbours": [],
        "flows": [_flow(flow, seats) for flow in plan.flows],
        "readings": plan.readings,
        "calibration": {"paths": _paths(plan, seats), "trains": []},
    } | _loads(plan, seats)


def _loads(plan: PlanFile, seats: Mapping[str, Seat]) -> dict[str, object]:
    found = [{**load, "node": seats[load.node].name} for load in plan.loads]
    return {"loads": found} if found else {}


def check_possible(plan: PlanFile) -> None:
    """Whether machines on a path that is there can do what a plan asks for.

    Raises:
        PlanError: they cannot; says what, and where it can be had.
    """
    if found := list(dict.fromkeys(_impossible(plan))):
        shown = ", ".join(found[:4]) + (f" and {len(found) - 4} more" if len(found) > 4 else "")
        raise PlanError(
            f"the lab `hosts` cannot do all that this scenario asks for: {shown}",
            where="scenario",
            hint=_ELSEWHERE,
        )


def _impossible(plan: PlanFile) -> Iterator[str]:
    """What no machine can do on a path that is there, as it is called in a scenario."""
    asked = {
        "[[program]]": plan.programs,
        "timestamps": any(route.microseconds for route in plan.routes),
        "readings.sojourn": plan.readings.get("sojourn"),
        "[[pattern]]: rates, delays and losses that change over time": plan.changes,
        "pause of a link": plan.pauses,
        "following sockets that no flow names": plan.found,
    }
    yield from (name for name, given in asked.items() if given)
    for node in plan.nodes:
        if node.drop_input:
            yield f"drop_input of node {node.name}"
    for name in dict.fromkeys(route.node for route in plan.routes if route.initcwnd or route.initrwnd):
        yield f"initcwnd or initrwnd of node {name}"
    for device in plan.devices:
        if device.bond is not None:
            yield f"the bond {device.dev} of node {device.node}"
    for name in dict.fromkeys(rule.node for rule in plan.rules if rule.mark is not None):
        yield f"balance of node {name}"
    for flow in plan.flows:
        if flow.kind in kinds.MPTCP_STREAMS:
            yield f"flow {flow.name} over several paths"
        if flow.generator:
            yield f"flow {flow.name} by {flow.generator}"


def _check_seats(plan: PlanFile, seats: Mapping[str, Seat]) -> None:
    for flow in plan.flows:
        one, other = seats[flow.from_], seats[flow.to]
        if one.name == other.name:
            raise PlanError(
                f"it would go from {one.name} to {one.name}: both of its nodes are on one machine",
                where=f"flow {flow.name}",
                hint=f"name machines for {flow.from_} and {flow.to}",
            )
        if (":" in one.address) != (":" in other.address):
            raise PlanError(
                f"{one.name} is {one.address} and {other.name} {other.address}: IPv4 and IPv6 do not meet",
                where=f"flow {flow.name}",
                hint="give both an `address` of one family in the inventory",
            )


def _node(name: str) -> dict[str, object]:
    return {"name": name, "forward": False, "sysctl": [], "addresses": []}


def _flow(flow: PlanFlow, seats: Mapping[str, Seat]) -> dict[str, object]:
    one, other = seats[flow.from_], seats[flow.to]
    return {**flow, "from": one.name, "to": other.name, "src": one.address, "dst": other.address}


def _paths(plan: PlanFile, seats: Mapping[str, Seat]) -> list[dict[str, object]]:
    """Pings between machines that talk, each pair once."""
    found: dict[tuple[str, str], dict[str, object]] = {}
    for path in plan.calibration.paths:
        one, other = seats[path.from_], seats[path.to]
        ends = {"from": one.name, "src": one.address, "to": other.name, "dst": other.address}
        found.setdefault((one.name, other.name), {**path, **ends})
    return list(found.values())


def _own_end(number: int, seat: Seat) -> ContextEnd:
    """A machine's own device, as an end of which nothing is asked."""
    return emulated.end(number, f"{seat.name} {seat.device}", seat.name, str(seat.device))


def _meaning(
    entry: ContextFlow,
    asked: PlanFlow,
    seats: Mapping[str, Seat],
    own: Mapping[str, int],
    directions: tuple[Direction, Direction] | None,
) -> dict[str, object]:
    """A flow of the context: its ends on the machines; the idle RTT is measured, not drawn."""
    one, other = seats[asked.from_], seats[asked.to]
    there = [own[one.name]] if one.name in own else []
    back = [own[other.name]] if other.name in own else []
    told = {key: value for key, value in entry.items() if key not in _OF_THE_DRAWING}
    if directions is not None:
        towards, away = directions if directions[0].carries(entry) else directions[::-1]
        there, back = there + towards.crossed, back + away.crossed
        narrow = (towards if entry.bottleneck_end in entry.ends else away).bottleneck
        told |= {"bottleneck_end": narrow, "bottleneck_bps": entry.bottleneck_bps}
    else:
        told |= {"bottleneck_end": None, "bottleneck_bps": None}
    return (
        told
        | {"ends": there, "reverse_ends": back, "base_rtt_ns": None}
        | _packet(entry, asked, (one, other))
    )


_OF_THE_DRAWING = ("ways", "reverse_ways", "bottleneck_ends", "in_turn")


def _packet(entry: ContextFlow, asked: PlanFlow, seats: Sequence[Seat]) -> dict[str, object]:
    """Payload and frame of a full TCP segment at the machines' own MTU, where that is known."""
    mtus = [seat.mtu for seat in seats if seat.mtu]
    if asked.kind in kinds.DATAGRAMS or asked.mss is not None or len(mtus) < len(seats):
        return {}
    more = min(mtus) + 14 - (entry.frame_bytes or 0)
    return {
        "payload_per_packet": (entry.payload_per_packet or 0) + more,
        "frame_bytes": (entry.frame_bytes or 0) + more,
    }


def _sysctls(plan: PlanFile, seats: Mapping[str, Seat]) -> dict[str, dict[str, str]]:
    """What the scenario wants set at machines; the drawing's hop limits are none of theirs."""
    found: dict[str, dict[str, str]] = {}
    for node in (node for node in plan.nodes if node.name in seats):
        own = found.setdefault(seats[node.name].name, {})
        for key, value, *_ in node.sysctl:
            if key == TTL or key.endswith("hop_limit"):
                continue
            if own.setdefault(key, value) != value:
                raise PlanError(
                    f"{key} would have to be {own[key]} and {value} at once",
                    where=f"host {seats[node.name].name}",
                    hint="give the nodes machines of their own",
                )
    return {name: own for name, own in found.items() if own}

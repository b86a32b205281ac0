"""A cell resolved to the last number: the plan for the agent, the context for metrics and plots.

Takes a `Scenario` without a sweep and a seed, gives `Lowered`. Pure: the same scenario and seed give the
same plan on every machine, in any order of cells.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from rushhour.errors import PlanError
from rushhour.plan import addresses
from rushhour.plan.calibration import calibration
from rushhour.plan.classes import class_changes, class_filters
from rushhour.plan.context import context
from rushhour.plan.flows import plan_entry
from rushhour.plan.found import followed
from rushhour.plan.layout import Layout
from rushhour.plan.loads import load_entries
from rushhour.plan.mptcp import back_of, path_entries, subflow_entry
from rushhour.plan.netem import seeded, with_draws
from rushhour.plan.nodes import node_entries
from rushhour.plan.patterns import with_patterns
from rushhour.plan.pauses import pauses
from rushhour.plan.presets import resolve
from rushhour.plan.programs import program_entries, program_nodes
from rushhour.plan.routes import BY_PACKET, FIRST_TABLE, Step, marking_lines, route_keys
from rushhour.plan.schedule import scheduled
from rushhour.plan.stages import Change
from rushhour.plan.tools import tools
from rushhour.plan.withdrawn import withdrawals
from rushhour.record.context_file import ContextFile
from rushhour.record.document import read
from rushhour.record.plan_file import PlanFile, planned

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rushhour.plan.addresses import Device
    from rushhour.plan.layout import Arrival
    from rushhour.plan.schedule import Scheduled
    from rushhour.plan.stages import Cable
    from rushhour.record.plan_file import PlanLink
    from rushhour.spec.scenario import Scenario

FORMAT = "rushhour-plan/1"
MOST_CHANGES = 100_000
JSON_SAFE_BITS = 52  # integers that survive a reader that keeps all numbers as doubles


@dataclass(frozen=True)
class Lowered:
    """`plan`: docs/plan-format.md. `context`: docs/overview.md. Both are JSON objects, typed."""

    plan: PlanFile
    context: ContextFile


def lower(scenario: Scenario, seed: int, found: Sequence[str] = ()) -> Lowered:
    """Lower a cell's scenario to the plan and its context.

    Args:
        scenario: Of one cell, without a sweep.
        seed: Of the run.
        found: Nodes whose sockets are followed although no flow is theirs; all that talk among themselves.

    Raises:
        PlanError: no path between two hosts that talk, no length, too many addresses or too long a delay.
    """
    return _Made.of(scenario, seed, found).lowered


class Lowering:
    """The plans of one cell for one seed after the other: what chance has no say in is worked out once.

    Gives what `lower` gives. May be used by several threads at once.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._last: _Made | None = None

    @cached_property
    def canonical(self) -> dict[str, Any]:
        """The cell's scenario, as its runs say what they were of."""
        return self.scenario.canonical()

    def of(self, seed: int) -> Lowered:
        """Lower the cell for a seed; see `lower`."""
        last = self._last
        # Patterns and netem throw dice before anything is laid out.
        if last is not None and not self.scenario.pattern and not seeded(last.layout.graph):
            if last.seed == seed:
                return last.lowered
            if scheduled(last.layout, seed) == last.flows:
                return last.reseeded(seed)
        self._last = _Made.of(self.scenario, seed)
        return self._last.lowered


@dataclass(frozen=True)
class _Made:
    """A plan, and what it was made of."""

    seed: int
    layout: Layout
    flows: Sequence[Scheduled]
    lowered: Lowered

    @classmethod
    def of(cls, scenario: Scenario, seed: int, found: Sequence[str] = ()) -> Self:
        """Lower a cell's scenario."""
        if scenario.span.ns <= 0:
            raise PlanError(
                "the experiment has no length", where="duration", hint='write, for example, duration = "30s"'
            )
        graph = with_patterns(with_draws(resolve(scenario), scenario.seed, seed), scenario, seed)
        talking = program_nodes(scenario)
        # A program that is alone talks to nobody whose sockets could be followed.
        alone = talking[0] if len(talking) == 1 else None
        layout = Layout(scenario, graph, followed([*found, *(() if alone else talking)], graph), alone=alone)
        flows = scheduled(layout, seed)
        _check_sojourn(layout)
        plan = _always(layout, scenario, flows, seed) | _where_asked(layout, scenario, flows)
        made = planned(plan)
        if needed := tools(made):
            made = planned(plan | {"tools": needed})
        return cls(
            seed, layout, flows, Lowered(made, read(ContextFile, context(layout, flows), "the context"))
        )

    def reseeded(self, seed: int) -> Lowered:
        """The same for a seed with which the flows are the same: only wires throw other dice."""
        plan = self.lowered.plan
        # What was read already is not read again.
        ready = {name: _listed(part) for name in plan if isinstance(part := getattr(plan, name), tuple)}
        links = [_rewired(link, self.layout.cables[number], seed) for number, link in enumerate(plan.links)]
        made = planned({**plan, **ready, "seed": seed, "links": links})
        return Lowered(made, self.lowered.context)


def _listed(part: object) -> object:
    """Tuples as the lists that a plan is read from, however deep."""
    return [_listed(one) for one in part] if isinstance(part, tuple) else part


def _rewired(link: PlanLink, cable: Cable, seed: int) -> dict[str, object]:
    """A link with the dice of another seed."""
    ends = [
        end if end.wire is None else {**end, "wire": {**end.wire, "seed": _wire_seed(cable, side, seed)}}
        for side, end in enumerate(link.ends)
    ]
    return {**link, "ends": ends}


def _wire_seed(cable: Cable, side: int, seed: int) -> int:
    wire = cable.stages[side].wire
    # What only sends throws no dice; the others keep theirs, whatever else their link carries.
    return element_seed(seed, cable.stem if wire is not None and wire.acts else cable.name, side)


def _always(layout: Layout, scenario: Scenario, flows: Sequence[Scheduled], seed: int) -> dict[str, object]:
    """What every plan has."""
    return {
        "format": FORMAT,
        "seed": seed,
        "duration_ns": scenario.span.ns,
        "sample_ns": scenario.sample_interval.ns,
        "nodes": node_entries(layout),
        "links": [_link(layout, number, seed, flows) for number in range(len(layout.cables))],
        "routes": layout.router.entries(layout.ways, path_entries(layout), route_keys(scenario)),
        "neighbours": _neighbours(layout),
        "flows": [
            plan_entry(
                one, layout.addressing.identity, scenario, layout.mtu(one.flow.sender, one.flow.receiver)
            )
            | subflow_entry(layout, one, flows)
            for one in flows
        ],
        "readings": scenario.readings.model_dump(),
        "calibration": calibration(layout),
    }


def _where_asked(layout: Layout, scenario: Scenario, flows: Sequence[Scheduled]) -> dict[str, object]:
    """What a plan has only if the scenario asks for it: a plan without it is the same as ever."""
    plan: dict[str, object] = {}
    if layout.addressing.devices:
        plan["devices"] = [_device(layout, device) for device in layout.addressing.devices]
    if rules := list(_rules(layout)):
        plan["rules"] = rules
    if due := _changes(layout, flows):
        plan["changes"] = due
    if stopped := pauses(layout):
        plan["pauses"] = stopped
    if loads := load_entries(scenario):
        plan["loads"] = loads
    plan |= program_entries(layout)
    if layout.found:
        numbers = (one.flow.id + 1 for one in flows)
        plan["found"] = {"nodes": list(layout.found), "first": max(numbers, default=0)}
    if layout.arrivals:
        plan["ingress"] = [_ingress(layout, arrival) for arrival in layout.arrivals]
    return plan


def _check_sojourn(layout: Layout) -> None:
    """Whether there is a queue to be timed, and packets stay whole in it."""
    if not layout.scenario.readings.sojourn:
        return
    timed = [
        layout.graph.links[cable.link]
        for cable in layout.cables
        if any(stage.role == "queue" for stage in cable.stages)
    ]
    if not timed:
        raise PlanError(
            "no link has a rate or a queue, so no packet ever waits in one",
            where="readings.sojourn",
            hint="give a link a rate, or leave the reading out",
        )
    if whole := [link.name for link in timed if link.offload]:
        raise PlanError(
            f"link {whole[0]} has offloads: its queue may cut one large packet into many, which cannot be "
            "followed",
            where="readings.sojourn",
            hint="offload = false, or leave the reading out",
        )


def element_seed(seed: int, link: str, side: int) -> int:
    """Seed of one wire: its own stream for each direction of each link, whatever else the topology holds."""
    digest = hashlib.sha256(f"wire/{seed}/{link}/{side}".encode()).digest()
    return int.from_bytes(digest[:8]) >> (64 - JSON_SAFE_BITS)


def _link(layout: Layout, number: int, seed: int, flows: Sequence[Scheduled]) -> dict[str, object]:
    cable = layout.cables[number]
    ends = []
    for side in (0, 1):
        of_classes: list[str] = []
        if classes := cable.stages[side].classes:
            crossing = layout.crossing(Step(number, side), (one.flow for one in flows))
            of_classes += class_filters(classes, crossing, ipv6=layout.scenario.family == "ipv6")
        ends.append(_end(layout, number, side, seed, of_classes))
    return {"name": cable.name, "ends": ends}


def _end(layout: Layout, number: int, side: int, seed: int, of_classes: Sequence[str]) -> dict[str, object]:
    cable = layout.cables[number]
    link = layout.graph.links[cable.link]
    end, stage = layout.addressing.ends[number][side], cable.stages[side]
    wire: dict[str, object] | None = None
    if stage.wire is not None:
        wire = {
            "delay_ns": stage.wire.delay_ns,
            "jitter_ns": stage.wire.jitter_ns,
            "reorder": stage.wire.reorder,
            "loss": stage.wire.loss,
            "drop": sorted(set(stage.wire.drop)),
            "seed": _wire_seed(cable, side, seed),
        }
        if stage.serial_bps:
            wire["serial"] = {"rate_bps": stage.serial_bps, "ahead_bytes": stage.ahead_bytes}
    here = layout.addressing.at.get((number, side)) if end.master is None else None
    qdiscs, filters = list(stage.qdiscs), list(stage.filters)
    node = layout.graph.by_name.get(end.node)
    if node is not None and node.balance == BY_PACKET:
        clsact, marks = marking_lines(layout.router.turns(node.name), layout.scenario.family)
        qdiscs.append(clsact)
        filters.append(marks)
    told: dict[str, object] = {
        "node": end.node,
        "dev": end.dev,
        "mac": end.mac,
        "mtu": link.mtu,
        "addresses": [f"{here.address}/{here.prefix}"] if here else [],
        "offload": link.offload,
        "qdiscs": qdiscs,
        "wire": wire,
        "filters": [*filters, *of_classes],
    }
    if layout.scenario.readings.sojourn and stage.role == "queue":
        told["sojourn"] = True
    if link.receive_offload:
        told["receive_offload"] = True
    return told | ({"master": end.master} if end.master else {})


def _device(layout: Layout, device: Device) -> dict[str, object]:
    """A bond or a bridge, keys that it does not need left out."""
    own = {(here.node, here.dev): here for network in layout.addressing.networks for here in network}
    here = own.get((device.node, device.dev))
    told: dict[str, object] = {"node": device.node, "dev": device.dev, "mac": device.mac, "mtu": device.mtu}
    told["addresses"] = [f"{here.address}/{here.prefix}"] if here else []
    if device.bond is not None:
        told["bond"] = {"mode": device.bond.mode} | ({"hash": device.bond.hash} if device.bond.hash else {})
    if device.master:
        told["master"] = device.master
    if device.wire:
        told["passes_lacp"] = True
    return told


def _rules(layout: Layout) -> Iterator[dict[str, object]]:
    """Which packets each node that takes them in turn routes by which table."""
    family = {"ipv6": True} if layout.scenario.family == "ipv6" else {}
    for node in layout.graph.nodes:
        if node.balance == BY_PACKET:
            for turn in range(layout.router.turns(node.name)):
                yield {"node": node.name, **family, "mark": turn + 1, "table": FIRST_TABLE + turn}
    own = dict.fromkeys((path.node, path.address, path.table) for path in path_entries(layout))
    for name, address, table in own:
        yield {"node": name, **family, "from": address, "table": table}


def _changes(layout: Layout, flows: Sequence[Scheduled]) -> list[dict[str, object]]:
    """What patterns and classes change, in the order of the instants; of one, in the order of the ends."""
    found = [
        (2 * number + side, change)
        for number, cable in enumerate(layout.cables)
        for side in (0, 1)
        for change in (*cable.stages[side].changes, *_of_classes(layout, number, side, flows))
    ]
    found += withdrawals(layout)
    if len(found) > MOST_CHANGES:
        raise PlanError(
            f"patterns change the links {len(found)} times, at most {MOST_CHANGES} are possible",
            where="pattern",
            hint="change less often, or fewer links",
        )
    found.sort(key=lambda one: one[1].t_ns)
    if found and found[-1][1].t_ns >= layout.scenario.span.ns:
        raise PlanError(
            f"a queue would change {found[-1][1].t_ns / 1e9:g} s after the start, "
            f"and the experiment ends after {layout.scenario.span}",
            where="topology",
            hint='an earlier instant after "then at", or a longer duration',
        )
    return [
        {"t_ns": change.t_ns, "end": end, "key": change.key, "value": change.value}
        | ({"lines": list(change.lines)} if change.lines else {})
        for end, change in found
    ]


def _of_classes(layout: Layout, number: int, side: int, flows: Sequence[Scheduled]) -> Iterator[Change]:
    """What becomes of the classes of an end."""
    classes = layout.cables[number].stages[side].classes
    if any(entry.then for entry in classes):
        crossing = layout.crossing(Step(number, side), (one.flow for one in flows))
        for t_ns, lines in class_changes(classes, crossing):
            yield Change(t_ns, "class", 0.0, tuple(lines))


def _ingress(layout: Layout, arrival: Arrival) -> dict[str, object]:
    """What packets meet at the far end of a step: filters there, and the device they are redirected to."""
    here = layout.addressing.ends[arrival.after.cable][1 - arrival.after.side]
    filters = list(arrival.stage.filters)
    if arrival.ifb is not None:
        action = f"mirred egress redirect dev {arrival.ifb}"
        filters.append(f"filter ingress protocol all prio 3 matchall action {action}")
    return {
        "end": arrival.end,
        "node": here.node,
        "dev": here.dev,
        "ifb": arrival.ifb,
        "mac": addresses.ifb_mac(arrival.end),
        "mtu": layout.graph.links[layout.cables[arrival.after.cable].link].mtu,
        "qdiscs": list(arrival.stage.qdiscs),
        "filters": filters,
    }


def _neighbours(layout: Layout) -> list[dict[str, object]]:
    """Permanent neighbour entries: of two on a network both know each other, of more those who talk."""
    pairs = [
        pair
        for network in layout.addressing.networks
        if len(network) == 2
        for pair in (network, network[::-1])
    ]
    crowded = {here for network in layout.addressing.networks if len(network) > 2 for here in network}
    for ways in (*layout.ways.values(), *([path, back_of(path)] for path in layout.paths.values())):
        for leg in (leg for hops in ways for leg in layout.router.legs(layout.router.steps(hops))):
            if leg.here in crowded:
                pairs += [(leg.here, leg.there), (leg.there, leg.here)]
    return [
        {"node": here.node, "dev": here.dev, "address": there.address, "mac": there.mac}
        for here, there in dict.fromkeys(pairs)
    ]

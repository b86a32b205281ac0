"""A cell resolved to the last number: the plan for the agent, the context for metrics and plots.

Takes a `Scenario` without a sweep and a seed, gives `Lowered`. Pure: the same scenario and seed give the
same plan on every machine, in any order of cells.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rushhour.errors import PlanError
from rushhour.plan import addresses
from rushhour.plan.calibration import calibration
from rushhour.plan.classes import class_filters
from rushhour.plan.context import context
from rushhour.plan.flows import plan_entry
from rushhour.plan.layout import Layout
from rushhour.plan.patterns import with_patterns
from rushhour.plan.presets import resolve
from rushhour.plan.routes import Step
from rushhour.plan.schedule import scheduled
from rushhour.plan.tools import tools

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rushhour.plan.layout import Arrival
    from rushhour.plan.schedule import Scheduled
    from rushhour.spec.scenario import Scenario

FORMAT = "rushhour-plan/1"
ECN = "net.ipv4.tcp_ecn"  # of IPv6, too
TTL = "net.ipv4.ip_default_ttl"
USUAL_HOPS, MOST_HOPS = 64, 255  # IPDEFTTL (RFC 1700); eight bits of the header
MOST_CHANGES = 100_000
JSON_SAFE_BITS = 52  # integers that survive a reader that keeps all numbers as doubles


@dataclass(frozen=True)
class Lowered:
    """`plan`: docs/plan-format.md. `context`: docs/overview.md. Both are plain JSON values."""

    plan: dict[str, Any]
    context: dict[str, Any]


def lower(scenario: Scenario, seed: int) -> Lowered:
    """Lower a cell's scenario to the plan and its context.

    Raises:
        PlanError: no path between two hosts that talk, no length, too many addresses or too long a delay.
    """
    if scenario.span.ns <= 0:
        raise PlanError(
            "the experiment has no length", where="duration", hint='write, for example, duration = "30s"'
        )
    layout = Layout(scenario, with_patterns(resolve(scenario), scenario, seed))
    flows = scheduled(layout, seed)
    plan: dict[str, Any] = {
        "format": FORMAT,
        "seed": seed,
        "duration_ns": scenario.span.ns,
        "sample_ns": scenario.sample_interval.ns,
        "nodes": _nodes(layout),
        "links": [_link(layout, number, seed, flows) for number in range(len(layout.cables))],
        "routes": [
            route._asdict() for route in layout.router.routes((*p, h) for p, h in layout.hops.items())
        ],
        "neighbours": _neighbours(layout),
        "flows": [
            plan_entry(
                one, layout.addressing.identity, scenario, layout.mtu(one.flow.sender, one.flow.receiver)
            )
            for one in flows
        ],
        "readings": scenario.readings.model_dump(),
        "calibration": calibration(layout),
    }
    if due := _changes(layout):
        plan["changes"] = due
    if layout.arrivals:
        plan["ingress"] = [_ingress(layout, arrival) for arrival in layout.arrivals]
    if needed := tools(plan):
        plan["tools"] = needed
    return Lowered(plan, context(layout, flows))


def element_seed(seed: int, link: str, side: int) -> int:
    """Seed of one wire: its own stream for each direction of each link, whatever else the topology holds."""
    digest = hashlib.sha256(f"wire/{seed}/{link}/{side}".encode()).digest()
    return int.from_bytes(digest[:8]) >> (64 - JSON_SAFE_BITS)


def _nodes(layout: Layout) -> list[dict[str, Any]]:
    """Nodes of the scenario, then the emulators."""
    loopback, host_prefix = layout.addressing.loopback, layout.addressing.host_prefix
    sysctl = _sysctls(layout)
    nodes = [
        {
            "name": node.name,
            "forward": node.router,
            "sysctl": sysctl[node.name],
            "addresses": [f"{loopback[node.name]}/{host_prefix}"] if node.name in loopback else [],
        }
        for node in layout.graph.nodes
    ]
    taken = {node.name for node in layout.graph.nodes}
    for link in layout.links:
        for cable in link[:-1]:
            name = cable.nodes[1]
            if name in taken:
                raise PlanError(
                    f"two nodes are called {name}: one is a small router that carries a stage of a link",
                    where="topology",
                    hint="rename the node or the link",
                )
            taken.add(name)
            nodes.append({"name": name, "forward": True, "sysctl": [], "addresses": []})
    return nodes


def _sysctls(layout: Layout) -> dict[str, list[list[str]]]:
    """Sysctls by node, the later over the earlier: of all nodes, the node's own, what ECN asks for."""
    scenario = layout.scenario
    merged = {node.name: dict(scenario.sysctl) | dict(node.sysctl) for node in layout.graph.nodes}
    if scenario.ecn is not None:
        hosts = {node.name for node in layout.graph.nodes if not node.router}
        for name in sorted(hosts | {name for pair in layout.hops for name in pair}):
            merged[name][ECN] = str(int(scenario.ecn))
    for flow in layout.flows:
        if flow.keys.ecn is not None and flow.keys.kind in ("tcp", "rr", "crr"):
            merged[flow.sender][ECN] = merged[flow.receiver][ECN] = str(int(flow.keys.ecn))
    for host, name in _hop_limits(layout):
        merged[host].setdefault(name, str(MOST_HOPS))
    return {name: [[key, value] for key, value in own.items()] for name, own in merged.items()}


def _hop_limits(layout: Layout) -> Iterator[tuple[str, str]]:
    """Hosts whose packets would die on the way, and the setting that lets them live."""
    for pair in layout.hops:
        steps = layout.steps(*pair)
        if len(steps) > MOST_HOPS:
            raise PlanError(
                f"the path {pair[0]} → {pair[1]} has {len(steps)} hops, an IP packet lives for {MOST_HOPS}",
                where="topology",
                hint="emulators count too: a link with a rate and a delay may need one in each direction",
            )
        if len(steps) > USUAL_HOPS:
            dev = layout.addressing.ends[steps[0].cable][steps[0].side].dev
            family = layout.scenario.family
            yield pair[0], TTL if family == "ipv4" else f"net/ipv6/conf/{dev}/hop_limit"


def _link(layout: Layout, number: int, seed: int, flows: Sequence[Scheduled]) -> dict[str, Any]:
    cable = layout.cables[number]
    ends = [_end(layout, number, side, seed) for side in (0, 1)]
    for side, end in enumerate(ends):
        if classes := cable.stages[side].classes:
            crossing = layout.crossing(Step(number, side), (one.flow for one in flows))
            end["filters"] += class_filters(classes, crossing, ipv6=layout.scenario.family == "ipv6")
    return {"name": cable.name, "ends": ends}


def _end(layout: Layout, number: int, side: int, seed: int) -> dict[str, Any]:
    cable = layout.cables[number]
    link = layout.graph.links[cable.link]
    end, stage = layout.addressing.ends[number][side], cable.stages[side]
    wire = None
    if stage.wire is not None:
        wire = {
            "delay_ns": stage.wire.delay_ns,
            "jitter_ns": stage.wire.jitter_ns,
            "reorder": stage.wire.reorder,
            "loss": stage.wire.loss,
            "drop": sorted(set(stage.wire.drop)),
            "seed": element_seed(seed, link.name, side),
        }
    return {
        "node": end.node,
        "dev": end.dev,
        "mac": end.mac,
        "mtu": link.mtu,
        "addresses": [f"{end.address}/{layout.addressing.link_prefix}"],
        "offload": link.offload,
        "qdiscs": list(stage.qdiscs),
        "wire": wire,
        "filters": list(stage.filters),
    }


def _changes(layout: Layout) -> list[dict[str, Any]]:
    """What patterns change, in the order of its instants; of one instant, in the order of the ends."""
    found = [
        {"t_ns": change.t_ns, "end": 2 * number + side, "key": change.key, "value": change.value}
        | ({"lines": list(change.lines)} if change.lines else {})
        for number, cable in enumerate(layout.cables)
        for side in (0, 1)
        for change in cable.stages[side].changes
    ]
    if len(found) > MOST_CHANGES:
        raise PlanError(
            f"patterns change the links {len(found)} times, at most {MOST_CHANGES} are possible",
            where="pattern",
            hint="change less often, or fewer links",
        )
    return sorted(found, key=lambda change: change["t_ns"])


def _ingress(layout: Layout, arrival: Arrival) -> dict[str, Any]:
    """What packets meet at the far end of a step: filters there, and the device they are redirected to."""
    here = layout.addressing.ends[arrival.after.cable][1 - arrival.after.side]
    filters = list(arrival.stage.filters)
    if arrival.ifb is not None:
        action = f"mirred egress redirect dev {arrival.ifb}"
        filters.append(f"filter ingress protocol all prio 2 matchall action {action}")
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


def _neighbours(layout: Layout) -> list[dict[str, Any]]:
    """Permanent neighbour entries: both ends of every cable know each other."""
    return [
        {"node": here.node, "dev": here.dev, "address": there.address, "mac": there.mac}
        for pair in layout.addressing.ends
        for here, there in (pair, pair[::-1])
    ]

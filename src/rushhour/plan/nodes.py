"""The nodes of a plan: those of the scenario and the emulators, with their addresses and sysctls.

Takes a `Layout`, gives entries of the plan.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.errors import PlanError
from rushhour.plan.mptcp import managers
from rushhour.plan.routes import balancing_sysctls
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.plan.layout import Layout

ECN = "net.ipv4.tcp_ecn"  # of IPv6, too
TTL = "net.ipv4.ip_default_ttl"
USUAL_HOPS, MOST_HOPS = 64, 255  # IPDEFTTL (RFC 1700); eight bits of the header


def node_entries(layout: Layout) -> list[dict[str, object]]:
    """Nodes of the scenario, then the emulators."""
    loopback, host_prefix = layout.addressing.loopback, layout.addressing.host_prefix
    sysctl = _sysctls(layout)
    drops = {node.name: node.drop_input.p for node in layout.scenario.node if node.drop_input is not None}
    multipath = managers(layout)
    nodes: list[dict[str, object]] = [
        {
            "name": node.name,
            "forward": node.router,
            "sysctl": sysctl[node.name],
            "addresses": [f"{loopback[node.name]}/{host_prefix}"] if node.name in loopback else [],
            **({"drop_input": drops[node.name]} if drops.get(node.name) else {}),
            **({"mptcp": multipath[node.name]} if node.name in multipath else {}),
        }
        for node in layout.graph.nodes
    ]
    taken = {node.name for node in layout.graph.nodes}
    switches = {device.node for device in layout.addressing.devices if device.wire}
    for link in layout.links:
        for name in (cable.nodes[1] for cable in link if cable.nodes[1] not in layout.graph.by_name):
            if name in taken:
                raise PlanError(
                    f"two nodes are called {name}: one is a small router that carries a stage of a link",
                    where="topology",
                    hint="rename the node or the link",
                )
            taken.add(name)
            nodes.append({"name": name, "forward": name not in switches, "sysctl": [], "addresses": []})
    return nodes


def _sysctls(layout: Layout) -> dict[str, list[list[str]]]:
    """Sysctls by node, the later over the earlier: of all nodes, the node's own, what ECN asks for."""
    scenario = layout.scenario
    merged = {
        node.name: balancing_sysctls(node.balance, scenario.family)
        | dict(scenario.sysctl)
        | dict(node.sysctl)
        for node in layout.graph.nodes
    }
    if scenario.ecn is not None:
        hosts = {node.name for node in layout.graph.nodes if not node.forwards}
        for name in sorted(hosts | {name for pair in layout.ways for name in pair}):
            merged[name][ECN] = str(int(scenario.ecn))
    for flow in layout.flows:
        if flow.keys.ecn is not None and flow.keys.kind in kinds.OVER_TCP:
            merged[flow.sender][ECN] = merged[flow.receiver][ECN] = str(int(flow.keys.ecn))
    for host, name in _hop_limits(layout):
        merged[host].setdefault(name, str(MOST_HOPS))
    return {name: [[key, value] for key, value in own.items()] for name, own in merged.items()}


def _hop_limits(layout: Layout) -> Iterator[tuple[str, str]]:
    """Hosts whose packets would die on the way, and the setting that lets them live."""
    for pair in layout.ways:
        steps = layout.steps(*pair)
        if len(steps) > MOST_HOPS:
            raise PlanError(
                f"the path {pair[0]} → {pair[1]} has {len(steps)} hops, an IP packet lives for {MOST_HOPS}",
                where="topology",
                hint="emulators count too: a link with a rate and a delay may need one in each direction",
            )
        if len(steps) > USUAL_HOPS:
            dev = layout.addressing.at[steps[0].cable, steps[0].side].dev
            family = layout.scenario.family
            yield pair[0], TTL if family == "ipv4" else f"net/ipv6/conf/{dev}/hop_limit"

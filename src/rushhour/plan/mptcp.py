"""Connections of several paths (MPTCP, RFC 8684): subflows as flows, where each goes, what nodes hear.

Each path leaves its sender by a link of its own and has the address of the sender there; from the far end of
that link it goes on as everything else does. What comes back to that address goes the same way in reverse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.errors import PlanError
from rushhour.plan.flows import FIRST_DPORT, PlannedFlow
from rushhour.plan.graph import Hop
from rushhour.plan.routes import OwnPath

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rushhour.plan.graph import Graph
    from rushhour.plan.layout import Layout
    from rushhour.plan.schedule import Scheduled

Path = tuple[str, str, str]
"""Sender, link of the sender, receiver."""
FIRST_TABLE = 201


def subflows(flows: Iterable[PlannedFlow]) -> list[PlannedFlow]:
    """The subflows of all flows: of each one for each of its paths, in their order."""
    found = []
    for flow in flows:
        for link in flow.keys.paths or ():
            keys = flow.keys.model_copy(update={"kind": "subflow", "bytes": None, "paths": None})
            name, group = f"{flow.name}.{link}", f"{flow.group}.{link}"
            found.append(PlannedFlow(-1, name, group, keys, flow.sender, flow.receiver, link, flow.name))
    return found


def path_of(flow: PlannedFlow) -> Path:
    """Which path a subflow goes."""
    return flow.sender, flow.path or "", flow.receiver


def paths(graph: Graph, flows: Iterable[PlannedFlow]) -> dict[Path, list[Hop]]:
    """The hops of every path that a subflow goes.

    Raises:
        PlanError: it does not lead there, or only back through its sender.
    """
    numbers = {link.name: number for number, link in enumerate(graph.links)}
    found: dict[Path, list[Hop]] = {}
    for flow in flows:
        sender, name, receiver = path_of(flow)
        where = f"flow {flow.of}.paths"
        number = numbers.get(name, -1)
        if number < 0 or sender not in (graph.links[number].a, graph.links[number].b):
            raise PlanError(f"no link of {sender} is called {name}", where=where)
        first = Hop(number, graph.links[number].a == sender)
        far = graph.far(first)
        rest = [] if far == receiver else graph.path(far, receiver)
        if sender in (graph.far(hop) for hop in rest):
            raise PlanError(
                f"from {far}, at the far end of {name}, the way to {receiver} leads back through {sender}",
                where=where,
                hint="each path needs a way of its own to the receiver",
            )
        found[sender, name, receiver] = [first, *rest]
    return found


def back_of(path: Sequence[Hop]) -> list[Hop]:
    """The same way in reverse."""
    return [hop.back for hop in reversed(path)]


def path_entries(layout: Layout) -> list[OwnPath]:
    """What has to be routed for the subflows: every path once, with its sender's address and table."""
    tables: dict[tuple[str, str], int] = {}
    found = []
    for (sender, link, receiver), hops in layout.paths.items():
        table = tables.setdefault((sender, link), FIRST_TABLE + sum(node == sender for node, _ in tables))
        found.append(OwnPath(sender, _address(layout, hops), receiver, tuple(hops), table))
    return found


def _address(layout: Layout, hops: Sequence[Hop]) -> str:
    """The sender's address on the first link of a path."""
    step = layout.router.steps(hops[:1])[0]
    return layout.addressing.at[step.cable, step.side].address


def subflow_entry(layout: Layout, one: Scheduled, flows: Sequence[Scheduled]) -> dict[str, Any]:
    """What the plan says more of a subflow, and of the flow that begins with the first of them."""
    flow = one.flow
    if flow.of is not None:
        of = next(other.flow.id for other in flows if other.flow.name == flow.of)
        src = _address(layout, layout.paths[path_of(flow)])
        return {"src": src, "sport": 0, "dport": FIRST_DPORT + of, "of": of}
    if flow.keys.paths:
        first = layout.paths[flow.sender, flow.keys.paths[0], flow.receiver]
        return {"src": _address(layout, first)}
    return {}


def managers(layout: Layout) -> dict[str, dict[str, Any]]:
    """What the path manager of each node is told that has such connections."""
    found: dict[str, dict[str, Any]] = {}
    for flow in (flow for flow in layout.flows if flow.keys.paths):
        links = flow.keys.paths or ()
        for node in (flow.sender, flow.receiver):
            own = found.setdefault(node, {"subflows": 0, "endpoints": []})
            own["subflows"] = max(own["subflows"], len(links) - 1)
        endpoints = found[flow.sender]["endpoints"]
        for link in links:
            address = _address(layout, layout.paths[flow.sender, link, flow.receiver])
            backup = {"backup": True} if link in (flow.keys.backup or ()) else {}
            if (endpoint := {"address": address} | backup) not in endpoints:
                endpoints.append(endpoint)
    return found

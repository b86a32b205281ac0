"""Connections of several paths (MPTCP, RFC 8684): subflows as flows, where each goes, what nodes hear.

Each path leaves its sender by a link of its own and has the address of the sender there; from the far end of
that link it goes on as everything else does. One to an address that the receiver announces goes the usual way
to the near end of the link with that address. What comes back to either goes the same way in reverse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from rushhour.errors import PlanError
from rushhour.plan.flows import FIRST_DPORT, PlannedFlow
from rushhour.plan.graph import Hop
from rushhour.plan.routes import OwnPath

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rushhour.plan.graph import Graph
    from rushhour.plan.layout import Layout
    from rushhour.plan.schedule import Scheduled


class Path(NamedTuple):
    """From a sender to a receiver over a link: the sender's, or the receiver's if it announces it."""

    sender: str
    link: str
    receiver: str
    announced: bool = False


FIRST_TABLE = 201


def subflows(flows: Iterable[PlannedFlow]) -> list[PlannedFlow]:
    """The subflows of all flows: for each of its paths and each announced link, in their order."""
    found = []
    for flow in flows:
        own = [(link, False) for link in flow.keys.paths or ()]
        for link, announced in (*own, *((link, True) for link in flow.keys.announced or ())):
            keys = flow.keys.model_copy(
                update={"kind": "subflow", "bytes": None, "paths": None, "announced": None}
            )
            name, group = f"{flow.name}.{link}", f"{flow.group}.{link}"
            ends = flow.sender, flow.receiver
            found.append(PlannedFlow(-1, name, group, keys, *ends, link, flow.name, announced))
    return found


def path_of(flow: PlannedFlow) -> Path:
    """Which path a subflow goes."""
    return Path(flow.sender, flow.path or "", flow.receiver, flow.announced)


def paths(graph: Graph, flows: Iterable[PlannedFlow]) -> dict[Path, list[Hop]]:
    """The hops of every path that a subflow goes.

    Raises:
        PlanError: it does not lead there, or only back through its sender, or through its receiver before.
    """
    return {path_of(flow): _hops(graph, path_of(flow), flow.of or flow.name) for flow in flows}


def _hops(graph: Graph, path: Path, name: str) -> list[Hop]:
    sender, link, receiver, announced = path
    owner, where = (receiver, f"flow {name}.announced") if announced else (sender, f"flow {name}.paths")
    number = next((n for n, one in enumerate(graph.links) if one.name == link), -1)
    if number < 0 or owner not in (graph.links[number].a, graph.links[number].b):
        raise PlanError(f"no link of {owner} is called {link}", where=where)
    out = Hop(number, graph.links[number].a == owner)
    far, other = graph.far(out), sender if announced else receiver
    rest = [] if far == other else graph.path(*((other, far) if announced else (far, other)))
    if owner in (graph.far(hop) for hop in rest):
        raise PlanError(
            f"the way between {far}, at the far end of {link}, and {other} leads back through {owner}"
            if announced
            else f"from {far}, at the far end of {link}, the way to {other} leads back through {owner}",
            where=where,
            hint=f"each path needs a way of its own to the {'sender' if announced else 'receiver'}",
        )
    return [*rest, out.back] if announced else [out, *rest]


def back_of(path: Sequence[Hop]) -> list[Hop]:
    """The same way in reverse."""
    return [hop.back for hop in reversed(path)]


def path_entries(layout: Layout) -> list[OwnPath]:
    """What has to be routed for the subflows: every path once, with its sender's address and table.

    To an announced address it is two: what comes from there leaves by its link, and the other way round.
    """
    tables: dict[tuple[str, int], int] = {}
    found = []
    for path, hops in layout.paths.items():
        ends = [(path.sender, path.receiver, hops)]
        if path.announced:
            ends.insert(0, (path.receiver, path.sender, back_of(hops)))
        for node, to, way in ends:
            table = FIRST_TABLE + sum(one == node for one, _ in tables)
            table = tables.setdefault((node, way[0].link), table)
            found.append(OwnPath(node, _address(layout, way), to, tuple(way), table))
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
        hops = layout.paths[path_of(flow)]
        told = {"src": _address(layout, hops), "sport": 0, "dport": FIRST_DPORT + of, "of": of}
        return told | ({"dst": _address(layout, back_of(hops))} if flow.announced else {})
    if flow.keys.paths:
        first = layout.paths[Path(flow.sender, flow.keys.paths[0], flow.receiver)]
        return {"src": _address(layout, first)}
    return {}


def managers(layout: Layout) -> dict[str, dict[str, Any]]:
    """What the path manager of each node is told that has such connections."""
    found: dict[str, dict[str, Any]] = {}
    for flow in (flow for flow in layout.flows if flow.keys.paths):
        links, announced = flow.keys.paths or (), flow.keys.announced or ()
        for node in (flow.sender, flow.receiver):
            own = found.setdefault(node, {"subflows": 0, "endpoints": []})
            own["subflows"] = max(own["subflows"], len(links) + len(announced) - 1)
        if announced:
            own = found[flow.sender]
            own["accepted"] = max(own.get("accepted", 0), len(announced))
        for node, endpoint in _endpoints(layout, flow):
            if endpoint not in (endpoints := found[node]["endpoints"]):
                endpoints.append(endpoint)
    return found


def _endpoints(layout: Layout, flow: PlannedFlow) -> Iterator[tuple[str, dict[str, Any]]]:
    """The addresses from which the sender opens subflows, and those that the receiver announces."""
    for link in flow.keys.paths or ():
        hops = layout.paths[Path(flow.sender, link, flow.receiver)]
        yield flow.sender, {"address": _address(layout, hops)} | _backup(flow, link)
    for link in flow.keys.announced or ():
        back = back_of(layout.paths[Path(flow.sender, link, flow.receiver, announced=True)])
        yield flow.receiver, {"address": _address(layout, back)} | _backup(flow, link) | {"signal": True}


def _backup(flow: PlannedFlow, link: str) -> dict[str, bool]:
    return {"backup": True} if link in (flow.keys.backup or ()) else {}

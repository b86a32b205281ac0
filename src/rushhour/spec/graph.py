"""Who is there and who talks to whom: the names of a scenario's nodes and the ends of its flows.

Takes a `Scenario`, gives names; addresses and routes are the plan's business.
"""

from __future__ import annotations

from collections import Counter
from itertools import cycle, pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rushhour.spec.scenario import Scenario
    from rushhour.spec.workload import Flow


class Conversation(NamedTuple):
    """One copy of a flow with its ends; None where the scenario leaves an end open and has no default."""

    name: str
    flow: Flow
    position: int  # of the flow in the scenario
    sender: str | None
    receiver: str | None


def nodes(scenario: Scenario) -> tuple[str, ...]:
    """Names of all nodes in the order in which the scenario names them."""
    if scenario.topology is not None:
        top = scenario.topology
        return (*top.senders, *top.routers, *top.receivers)
    linked = [name for link in scenario.link for name in link.between]
    return tuple(dict.fromkeys([*(node.name for node in scenario.node), *linked]))


def hosts(scenario: Scenario) -> tuple[str, ...]:
    """Names of the hosts: by role, else the nodes with a single link."""
    if scenario.topology is not None:
        return (*scenario.topology.senders, *scenario.topology.receivers)
    roles = {node.name: node.role for node in scenario.node}
    degree = Counter(name for link in scenario.link for name in link.between)
    default = {name: "host" if degree[name] <= 1 else "router" for name in nodes(scenario)}
    return tuple(name for name in nodes(scenario) if (roles.get(name) or default[name]) == "host")


def links(scenario: Scenario) -> tuple[str, ...]:
    """Names of all links, in the order of the graph."""
    top = scenario.topology
    if top is None:
        return tuple(link.label for link in scenario.link)
    routers = top.routers
    first, last = [routers[0]] * len(top.senders), [routers[-1]] * len(top.receivers)
    if top.preset == "chain":
        first, last = [routers[0], *routers[:-1]], [routers[-1], *routers[1:]]
    pairs = [
        *zip(top.senders, first, strict=True),
        *pairwise(routers),
        *zip(last, top.receivers, strict=True),
    ]
    return tuple(f"{a}-{b}" for a, b in pairs)


def conversations(scenario: Scenario) -> Iterator[Conversation]:
    """Give every copy of every flow with its ends.

    Where a flow names no ends, presets give their pairs in turn (copy after copy), a graph of two hosts gives
    the first and the second. Where it names one end of a pair, the other is its partner; a host that is in
    several pairs (the receiver of a star) takes its partners in turn.
    """
    pairs = _pairs(scenario)
    partners: dict[str, list[str]] = {}
    for one, other in pairs:
        partners.setdefault(one, []).append(other)
        partners.setdefault(other, []).append(one)
    partner = {name: cycle(others) for name, others in partners.items()}
    turn = 0
    for position, flow in enumerate(scenario.flow):
        for copy in range(1, flow.count + 1):
            name = flow.label if flow.count == 1 else f"{flow.label}.{copy}"
            sender, receiver = flow.from_, flow.to
            if sender is None and receiver is None and pairs:
                sender, receiver = pairs[turn % len(pairs)]
                turn += 1
            yield Conversation(name, flow, position, *_complete(sender, receiver, partner))


def subflow_names(scenario: Scenario) -> list[str]:
    """What subflows are called, in order: `FLOW.LINK`, of copies `FLOW.1.LINK`."""
    return [
        f"{flow.label}{copy}.{path}"
        for flow in scenario.flow
        for copy in ([""] if flow.count == 1 else [f".{k}" for k in range(1, flow.count + 1)])
        for path in (*(flow.paths or ()), *(flow.announced or ()))
    ]


def _complete(
    sender: str | None, receiver: str | None, partner: Mapping[str, Iterator[str]]
) -> tuple[str | None, str | None]:
    if sender is None and receiver is not None:
        sender = next(partner.get(receiver, iter(())), None)
    elif receiver is None and sender is not None:
        receiver = next(partner.get(sender, iter(())), None)
    return sender, receiver


def _pairs(scenario: Scenario) -> list[tuple[str, str]]:
    """Hosts that talk to each other unless told otherwise."""
    if scenario.topology is not None:
        receivers = cycle(scenario.topology.receivers)
        return list(zip(scenario.topology.senders, receivers, strict=False))
    ends = hosts(scenario)
    return [(ends[0], ends[1])] if len(ends) == 2 else []


def switches(scenario: Scenario) -> set[str]:
    """Names of the switches: nodes that only a table can make so."""
    return {node.name for node in scenario.node if node.role == "switch"}


def components(scenario: Scenario) -> dict[str, int]:
    """Number the parts of a free graph that hang together: nodes of one number can reach each other."""
    part = {name: number for number, name in enumerate(nodes(scenario))}
    members = {number: [name] for name, number in part.items()}
    for link in scenario.link:
        a, b = (part[name] for name in link.between)
        if a == b:
            continue
        small, large = sorted((a, b), key=lambda number: len(members[number]))
        for name in members[small]:
            part[name] = large
        members[large] += members.pop(small)
    return part

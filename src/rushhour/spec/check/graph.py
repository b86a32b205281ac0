"""Checks of free graphs: names, ends, what hangs together."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rushhour.spec.check.problem import REAL_TIME_ONLY, Problem
from rushhour.spec.graph import components, hosts, nodes
from rushhour.spec.keys import nearest
from rushhour.spec.topology import MAX_NODES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.spec.scenario import Scenario

_OF_HOSTS = {
    "drop_input": "nothing arrives for it",
    "initcwnd": "no connection begins there",
    "initrwnd": "no connection begins there",
}
"""Keys of a node that mean nothing at a router or a switch, and why."""
_EITHER = 'either [topology] with preset = "dumbbell", "chain" or "star", or [[link]] tables'


def check_graph(scenario: Scenario) -> Iterator[Problem]:
    """Check that there is one topology, and that a graph is one."""
    drawn = "link" if scenario.link else "node"
    if scenario.topology is None and not scenario.link:
        yield Problem((drawn,) if scenario.node else (), "there is no topology", f"give {_EITHER}")
        return
    forwarding = set(nodes(scenario)) - set(hosts(scenario))
    for index, node in enumerate(scenario.node):
        for key, why in _OF_HOSTS.items():
            if getattr(node, key) is not None and node.name in forwarding:
                yield Problem(("node", index, key), f"{node.name} forwards: {why}", "take a host")
    if scenario.topology is not None:
        yield from _check_beside_preset(scenario)
        return
    yield from _check_names(scenario)
    yield from _check_links(scenario)
    linked = {name for link in scenario.link for name in link.between}
    for index, node in enumerate(scenario.node):
        if node.name not in linked:
            yield Problem(("node", index), f'"{node.name}" has no link', "nothing can reach it")
    if len(nodes(scenario)) > MAX_NODES:
        yield Problem(("link",), f"{len(nodes(scenario))} nodes are more than {MAX_NODES}")
    parts = len(set(components(scenario).values()) if not _self_linked(scenario) else ())
    if parts > 1 and linked >= {node.name for node in scenario.node}:
        yield from _unreachable(scenario)


def _check_beside_preset(scenario: Scenario) -> Iterator[Problem]:
    """A preset draws the graph; node tables may only say how its nodes are set."""
    if scenario.link:
        yield Problem(("link", 0), "a graph is drawn beside a preset", f"give {_EITHER}")
        return
    names = nodes(scenario)
    for index, node in enumerate(scenario.node):
        if node.name not in names:
            yield Problem(
                ("node", index, "name"), f'the preset has no node "{node.name}"', nearest(node.name, names)
            )
        if node.role is not None:
            yield Problem(("node", index, "role"), "the preset gives its nodes their roles", "leave it out")


def _check_names(scenario: Scenario) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    for index, node in enumerate(scenario.node):
        if node.name in seen:
            yield Problem(
                ("node", index, "name"), f'"{node.name}" is already the name of a node', "nodes differ"
            )
        seen[node.name] = index
    labels = Counter(link.label for link in scenario.link)
    taken: set[str] = set()
    for index, link in enumerate(scenario.link):
        if labels[link.label] > 1 and link.label in taken:
            key = "name" if link.name else "between"
            hint = 'give each a name of its own, for example name = "second"'
            yield Problem(("link", index, key), f'"{link.label}" is already the name of a link', hint)
        taken.add(link.label)


def _check_links(scenario: Scenario) -> Iterator[Problem]:
    for index, link in enumerate(scenario.link):
        a, b = link.between
        if a == b:
            yield Problem(("link", index, "between"), f'links "{a}" to itself', "name two nodes")
    rateless = all(link.rate is link.forward.rate is link.reverse.rate is None for link in scenario.link)
    if rateless and scenario.virtual:
        yield Problem(
            ("link", 0),
            "no link has a rate: in virtual time, in which the scenario may run, flows know no limit",
            f"give one a rate, or {REAL_TIME_ONLY}",
        )


def _self_linked(scenario: Scenario) -> bool:
    return any(a == b for a, b in (link.between for link in scenario.link))


def _unreachable(scenario: Scenario) -> Iterator[Problem]:
    """Blame the first link of every part but the first."""
    part = components(scenario)
    known = {part[scenario.link[0].between[0]]}
    for index, link in enumerate(scenario.link):
        number = part[link.between[0]]
        if number not in known:
            known.add(number)
            first = scenario.link[0].between[0]
            message = f'no path leads from "{link.between[0]}" to "{first}"'
            yield Problem(("link", index, "between"), message, "link the parts of the graph")

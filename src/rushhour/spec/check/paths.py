"""Checks of what is between hosts: switches, bonds, nodes that balance."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rushhour.spec.check.problem import Problem
from rushhour.spec.graph import hosts, nodes, switches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.spec.check.problem import Path
    from rushhour.spec.scenario import Scenario
    from rushhour.spec.topology import Bond

MOST_CABLES = 64
_HASHING = ("802.3ad", "balance-xor")


def check_paths(scenario: Scenario) -> Iterator[Problem]:
    """Check bonds, switches and balancing of a free graph."""
    for index, link in enumerate(scenario.link):
        if link.bond is not None:
            yield from _check_bond(link.bond, ("link", index, "bond"))
    if scenario.topology is not None:
        for index, node in enumerate(scenario.node):
            if node.balance is not None:
                yield Problem(
                    ("node", index, "balance"),
                    "a preset has one path only",
                    "draw the graph with [[link]] tables",
                )
        return
    yield from _check_balance(scenario)
    yield from _check_switches(scenario)


def _check_bond(bond: Bond, here: Path) -> Iterator[Problem]:
    if bond.links == 1:
        yield Problem(
            (*here, "links"), "a bond of one cable is a link", "give two or more, or leave bond out"
        )
    if bond.links > MOST_CABLES:
        yield Problem((*here, "links"), f"{bond.links} cables are more than {MOST_CABLES}")
    if bond.hash is not None and bond.mode not in _HASHING:
        yield Problem(
            (*here, "hash"),
            f'mode "{bond.mode}" hashes nothing',
            f"it belongs to {' and '.join(_HASHING)}",
        )


def _check_balance(scenario: Scenario) -> Iterator[Problem]:
    degree = Counter(name for link in scenario.link for name in link.between)
    ends = hosts(scenario)
    for index, node in enumerate(scenario.node):
        path = ("node", index, "balance")
        if node.balance is None:
            continue
        if node.role == "switch":
            yield Problem(path, "a switch has one way to everyone", "bond its links, or make it a router")
        elif degree[node.name] < 2:
            yield Problem(
                path, f'"{node.name}" has one link: there is nothing to balance', "draw a second link"
            )
        elif node.balance == "packet" and node.name in ends:
            yield Problem(
                path,
                "only a router takes packets in turn: a host's own packets come through no device",
                'put a router behind it, or bond its links with mode = "balance-rr"',
            )


def _check_switches(scenario: Scenario) -> Iterator[Problem]:
    """A switched network is a tree, for nothing breaks its loops; nobody has two links into one."""
    known = switches(scenario)
    for index, flow in enumerate(scenario.flow):
        for key, name in (("from", flow.from_), ("to", flow.to)):
            if name in known:
                yield Problem(("flow", index, key), f'"{name}" is a switch: it has no address', "name a host")
    # Names of networks: of what hangs together by switches, the last one joined.
    part = {name: name for name in nodes(scenario)}
    taken: set[tuple[str, str]] = set()
    hint = "join parallel links with bond = { links = 2 }: no spanning tree protocol runs here"
    for index, link in sorted(enumerate(scenario.link), key=lambda item: not set(item[1].between) <= known):
        a, b = link.between
        path = ("link", index, "between")
        if {a, b} <= known:
            if a != b and part[a] == part[b]:
                yield Problem(path, "closes a loop of switches", hint)
            old, new = part[a], part[b]
            part = {name: new if network == old else network for name, network in part.items()}
        elif a in known or b in known:
            switch, host = (a, b) if a in known else (b, a)
            if (host, part[switch]) in taken:
                yield Problem(path, f'"{host}" has a link into this switched network already', hint)
            taken.add((host, part[switch]))

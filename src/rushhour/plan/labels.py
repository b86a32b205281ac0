"""What link ends are called, and which of them share packets.

Takes a layout, gives labels and bundles by the index of the end.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rushhour.plan.graph import Hop

if TYPE_CHECKING:
    from rushhour.plan.layout import Layout
    from rushhour.plan.routes import Step


def of_ends(layout: Layout) -> dict[int, str]:
    """Name each end `a → b` after the link's nodes; where a direction has more stages, those by role."""
    labels: dict[int, str] = {}
    for index, link in enumerate(layout.graph.links):
        for member in range(link.bond.links if link.bond else 1):
            for forward in (True, False):
                steps = layout.router.steps([Hop(index, forward)], member)
                roles = {step.end: layout.stage(step).role for step in steps}
                labels |= _of_stages(roles, of_direction(layout, steps[0]))
    return labels


def of_direction(layout: Layout, step: Step) -> str:
    """`a → b` of the link that a step crosses, with a distinction from others between the same nodes."""
    cable = layout.cables[step.cable]
    link = layout.graph.links[cable.link]
    name = f"{link.a} → {link.b}" if step.side == 0 else f"{link.b} → {link.a}"
    number = f" #{cable.member + 1}" if link.bond else ""
    return name + _parallel(layout).get(link.name, "") + number


def bundles(layout: Layout) -> dict[int, str]:
    """Ends over which a bond, or a node that balances, spreads packets: each with what they share."""
    found: dict[int, str] = {}
    for pair in layout.ways:
        for node, hops in layout.choices(*pair).items():
            for hop in hops:
                found[layout.router.steps([hop])[0].end] = f"{node} → {pair[1]}"
    for index, link in enumerate(layout.graph.links):
        for member in range(link.bond.links if link.bond else 0):
            for forward, name in ((True, f"{link.a} → {link.b}"), (False, f"{link.b} → {link.a}")):
                found[layout.router.steps([Hop(index, forward)], member)[0].end] = name
    return found


def _parallel(layout: Layout) -> dict[str, str]:
    """Links that join the same nodes as another, by name, and what tells them apart."""
    between = Counter(frozenset((link.a, link.b)) for link in layout.graph.links)
    return {
        link.name: f" ({link.name})"
        for link in layout.graph.links
        if between[frozenset((link.a, link.b))] > 1
    }


def _of_stages(roles: dict[int, str], label: str) -> dict[int, str]:
    """The first stage of a direction has the plain label; the others add what they are."""
    main = next((end for end, role in roles.items() if role != "plain"), next(iter(roles)))
    labels = {main: label}
    for end, role in roles.items():
        if end != main:
            again = sum(1 for known in labels.values() if known.startswith(f"{label}, {role}"))
            labels[end] = f"{label}, {role}" + (f" {again + 1}" if again else "")
    return labels

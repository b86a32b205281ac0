"""Networks of the second layer: cables that switches, bonds and the emulators between them join.

Takes cables, gives for each network the interfaces in it. A network without switch or bond is a single cable
with an interface at either side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from rushhour.plan.graph import Graph
    from rushhour.plan.stages import Cable

Socket = tuple[int, int]  # number of a cable, side: where a cable is plugged in


def networks(cables: list[Cable], graph: Graph, switching: AbstractSet[str]) -> list[list[list[Socket]]]:
    """Give the networks in the order of their first cables: each a list of interfaces.

    An interface is the list of its sockets: one, or all those of a bond. `switching`: nodes that switch.
    """
    part = list(range(len(cables)))

    def root(number: int) -> int:
        while part[number] != number:
            part[number] = part[part[number]]
            number = part[number]
        return number

    first: dict[object, int] = {}
    for number, cable in enumerate(cables):
        joints: list[object] = [node for node in cable.nodes if node in switching]
        if graph.links[cable.link].bond is not None:
            joints.append(cable.link)
        for joint in joints:
            a, b = root(number), root(first.setdefault(joint, number))
            part[max(a, b)] = min(a, b)
    found: dict[int, dict[object, list[Socket]]] = {}
    for number, cable in enumerate(cables):
        interfaces = found.setdefault(root(number), {})
        bonded = graph.links[cable.link].bond is not None
        for side, node in enumerate(cable.nodes):
            if node not in switching:
                key = (cable.link, side) if bonded else (number, side, "cable")
                interfaces.setdefault(key, []).append((number, side))
    return [list(interfaces.values()) for _, interfaces in sorted(found.items())]

"""Static routes: every node on the way between two hosts that talk knows the way to both.

Takes the graph's paths and the cables, gives the physical path of each pair and the plan's routes. Nodes on a
single cable have a default route. Emulators are nodes like others here: they forward, and a path in the
graph leads through them because it leads through their link.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rushhour.plan.addresses import Addressing
    from rushhour.plan.graph import Graph, Hop
    from rushhour.plan.stages import Cable


class Step(NamedTuple):
    """One cable crossed: its number, and the side that transmits (0 or 1)."""

    cable: int
    side: int

    @property
    def end(self) -> int:
        """Index of the transmitting end, as in the raw tables."""
        return 2 * self.cable + self.side


class Route(NamedTuple):
    """At `node`, packets to `to` go out on `dev` to `via`."""

    node: str
    to: str
    via: str
    dev: str


@dataclass
class Router:
    """Finds paths over cables, and collects the routes that they need."""

    graph: Graph
    links: list[list[Cable]]
    addressing: Addressing
    _first: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._first = []
        number = 0
        for cables in self.links:
            self._first.append(number)
            number += len(cables)

    def steps(self, hops: Iterable[Hop]) -> list[Step]:
        """Expand a path over links into the cables crossed."""
        steps = []
        for hop in hops:
            numbers = range(self._first[hop.link], self._first[hop.link] + len(self.links[hop.link]))
            steps += [Step(n, 0) for n in numbers] if hop.forward else [Step(n, 1) for n in reversed(numbers)]
        return steps

    def routes(self, paths: Iterable[tuple[str, str, list[Hop]]]) -> list[Route]:
        """Give the routes for these paths (from, to, hops), and default routes; each once, in a stable order.

        Every node on a path gets the way to both its ends: a router's error message must find the sender.
        """
        default = self._default_routes()
        found: dict[tuple[str, str], Route | None] = {}
        for start, to, hops in paths:
            nodes = [start, *(self._far(hop) for hop in hops)]
            for node in nodes:
                self._fill(node, to, default, found)
                self._fill(node, start, default, found)
            # Ties may lead the way back past these links: their emulators return what they say as it came.
            for hop in hops:
                self._note(hop.back, start, default, found)
        return [*default.values(), *(route for route in found.values() if route is not None)]

    def _far(self, hop: Hop) -> str:
        link = self.graph.links[hop.link]
        return link.b if hop.forward else link.a

    def _fill(
        self, node: str, to: str, default: dict[str, Route], found: dict[tuple[str, str], Route | None]
    ) -> None:
        """Note the routes to `to` from `node` on, until a node that has one; its way is known already."""
        while node != to and (node, to) not in found:
            hop = self.graph.next_hop(node, to)
            self._note(hop, to, default, found)
            node = self._far(hop)

    def _note(
        self, hop: Hop, to: str, default: dict[str, Route], found: dict[tuple[str, str], Route | None]
    ) -> None:
        """Note the routes to `to` of those nodes along a hop that have none yet."""
        address = self.addressing.identity[to]
        prefix = f"{address}/{self.addressing.host_prefix}"
        for step in self.steps([hop]):
            pair = self.addressing.ends[step.cable]
            here, there = pair[step.side], pair[1 - step.side]
            if (here.node, to) not in found:
                known = there.address == address or here.node in default
                found[here.node, to] = None if known else Route(here.node, prefix, there.address, here.dev)

    def _default_routes(self) -> dict[str, Route]:
        """Give nodes with a single cable their default route."""
        ends: dict[str, list[Route]] = {}
        for pair in self.addressing.ends:
            for here, there in (pair, pair[::-1]):
                ends.setdefault(here.node, []).append(Route(here.node, "default", there.address, here.dev))
        return {node: routes[0] for node, routes in ends.items() if len(routes) == 1}

"""Static routes: every node on the way between two hosts that talk knows the way to both.

Takes the graph's paths and the cables, gives the physical path of each pair and the plan's routes. Nodes on a
single cable have a default route. Emulators are nodes like others here: they forward, and a path in the
graph leads through them because it leads through their link. Where switches or bonds are, a route leads over
them to the next node that has an address.

A node that balances has a route with several next hops, over which the kernel spreads flows. To take packets
in turn, which the kernel gave up with its route cache in 3.6, tc counts them where they come in and marks
them, and each mark has a routing table with one of the next hops.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from rushhour.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rushhour.plan.addresses import Addressing, Interface
    from rushhour.plan.graph import Graph, Hop
    from rushhour.plan.stages import Cable
    from rushhour.spec.scenario import Scenario

FIRST_TABLE = 101
BY_PACKET = "packet"
_WINDOWS = ("initcwnd", "initrwnd")
_SAID_BY = {"microseconds": "timestamps"}
"""What a scenario calls a key of the plan's routes, where it calls it otherwise."""
# What the kernel's fib_multipath_hash_policy is for each way of balancing, and what else it needs.
_POLICIES: dict[str, dict[str, str]] = {
    "addresses": {"fib_multipath_hash_policy": "0"},
    "flow": {"fib_multipath_hash_policy": "1"},
    "source": {"fib_multipath_hash_policy": "3", "fib_multipath_hash_fields": "1"},
}


class Step(NamedTuple):
    """One cable crossed: its number, and the side that transmits (0 or 1)."""

    cable: int
    side: int

    @property
    def end(self) -> int:
        """Index of the transmitting end, as in the raw tables."""
        return 2 * self.cable + self.side


class Route(NamedTuple):
    """At `node`, packets to `to` go out on `dev` to `via`: one address, or several to balance over."""

    node: str
    to: str
    via: tuple[str, ...]
    dev: str
    table: int | None = None

    def entry(self) -> dict[str, Any]:
        """The route as the plan's JSON has it."""
        one: dict[str, Any] = {"node": self.node, "to": self.to, "via": self.via[0], "dev": self.dev}
        if len(self.via) > 1:
            one = {"node": self.node, "to": self.to, "via": list(self.via)}
        return one if self.table is None else one | {"table": self.table}


class RouteKeys(NamedTuple):
    """What else routes say, as the plan has it: all of them, and those of single nodes."""

    everywhere: Mapping[str, object]
    by_node: Mapping[str, Mapping[str, object]]

    def of(self, node: str) -> dict[str, object]:
        """What each route of a node says."""
        return {**self.everywhere, **self.by_node.get(node, {})}


def route_keys(scenario: Scenario) -> RouteKeys:
    """What a scenario asks of its hosts' routes."""
    everywhere = {"microseconds": True} if scenario.timestamps == "us" else {}
    by_node = {
        node.name: {key: value for key in _WINDOWS if (value := getattr(node, key)) is not None}
        for node in scenario.node
    }
    return RouteKeys(everywhere, by_node)


class Leg(NamedTuple):
    """From one interface to the next, over whatever switches are between."""

    here: Interface
    there: Interface


class OwnPath(NamedTuple):
    """What `node` sends from an address of its own goes to `to` over these hops; `table` says so."""

    node: str
    address: str
    to: str
    hops: tuple[Hop, ...]
    table: int


Found = dict[tuple[str, str], list[Route]]


@dataclass
class Router:
    """Finds paths over cables, and collects the routes that they need."""

    graph: Graph
    links: list[list[Cable]]
    addressing: Addressing
    _members: list[list[list[int]]] = field(init=False)

    def __post_init__(self) -> None:
        # By link, by cable of a bond: the numbers of the pieces.
        self._members = []
        number = 0
        for cables in self.links:
            pieces: list[list[int]] = [[] for _ in range(1 + max(cable.member for cable in cables))]
            for cable in cables:
                pieces[cable.member].append(number)
                number += 1
            self._members.append(pieces)

    def steps(self, hops: Iterable[Hop], member: int = 0) -> list[Step]:
        """Expand a path over links into the cables crossed; of a bond that is cable number `member`."""
        steps = []
        for hop in hops:
            numbers = self._members[hop.link][member % len(self._members[hop.link])]
            steps += [Step(n, 0) for n in numbers] if hop.forward else [Step(n, 1) for n in reversed(numbers)]
        return steps

    def legs(self, steps: Iterable[Step]) -> list[Leg]:
        """Give the interfaces that a path from a node with an address leads over."""
        legs, here = [], None
        for step in steps:
            here = here or self.addressing.at[step.cable, step.side]
            there = self.addressing.at.get((step.cable, 1 - step.side))
            if there is not None:
                legs.append(Leg(here, there))
                here = None
        return legs

    def entries(
        self,
        ways: Mapping[tuple[str, str], list[list[Hop]]],
        own: Iterable[OwnPath],
        asked: RouteKeys,
    ) -> list[dict[str, Any]]:
        """The routes as the plan's JSON has them.

        Raises:
            PlanError: two hosts that talk are on one network, where no route of ours says anything.
        """
        routes = [
            route.entry() for route in self.routes(((*pair, found) for pair, found in ways.items()), own)
        ]
        for (one, other), found in ways.items():
            keys = [*asked.of(one), *asked.of(other)]
            if keys and any(len(self.legs(self.steps(hops))) == 1 for hops in found):
                raise PlanError(
                    f"{one} and {other} are on one network, and no route of theirs can say it",
                    where=_SAID_BY.get(keys[0], keys[0]),
                    hint="put a router between them",
                )
        return [route | asked.of(route["node"]) for route in routes]

    def routes(
        self, paths: Iterable[tuple[str, str, list[list[Hop]]]], own: Iterable[OwnPath] = ()
    ) -> list[Route]:
        """Give the routes for these paths (from, to, ways), and default routes; each once, in a stable order.

        Every node on a path gets the way to both its ends: a router's error message must find the sender.
        """
        default = self._default_routes()
        found: Found = {}
        for start, to, ways in paths:
            for hops in ways:
                for node in [start, *(self.graph.far(hop) for hop in hops)]:
                    self._fill(node, to, default, found)
                    self._fill(node, start, default, found)
                # Ties may lead the way back past these links: their emulators answer the way it came.
                for hop in hops:
                    if not self.graph.by_name[self.graph.far(hop)].switch:
                        for leg in self.legs(self._from_interface(hop.back)):
                            self._note([leg], start, default, found)
        for path in own:
            self._lead(path, default, found)
        return [*default.values(), *(route for routes in found.values() for route in routes)]

    def _lead(self, path: OwnPath, default: dict[str, Route], found: Found) -> None:
        """Note the way over given links: its sender's own table, and at all others both its ends."""
        first, *rest = self.legs(self.steps(path.hops))
        table = Route(path.node, "default", (first.there.address,), first.here.dev, path.table)
        found[path.node, f"from {path.address}"] = [table]
        for leg in rest:
            self._note([leg], path.to, default, found)
        prefix = f"{path.address}/{self.addressing.host_prefix}"
        for leg in self.legs(self.steps(hop.back for hop in reversed(path.hops))):
            if path.address == self.addressing.identity[path.node]:
                self._note([leg], path.node, default, found)
                continue
            node, via = leg.here.node, leg.there.address
            if via != path.address and node not in default:
                found.setdefault((node, path.address), [Route(node, prefix, (via,), leg.here.dev)])

    def _from_interface(self, hop: Hop) -> list[Step]:
        steps = self.steps([hop])
        return steps if (steps[-1].cable, 1 - steps[-1].side) in self.addressing.at else []

    def _fill(self, node: str, to: str, default: dict[str, Route], found: Found) -> None:
        """Note the routes to `to` from `node` on, until nodes that have one; their way is known already."""
        open_nodes = [node]
        while open_nodes:
            node = open_nodes.pop()
            if node == to or (node, to) in found or self.graph.by_name[node].switch:
                continue
            first = []
            for hop in self.graph.ahead(node, to):
                hops = [hop]
                while self.graph.by_name[self.graph.far(hops[-1])].switch:
                    hops.append(self.graph.next_hop(self.graph.far(hops[-1]), to))
                legs = self.legs(self.steps(hops))
                first.append(legs[0])
                for leg in legs[1:]:
                    self._note([leg], to, default, found)
                open_nodes.append(self.graph.far(hops[-1]))
            self._note(first, to, default, found)

    def _note(self, legs: list[Leg], to: str, default: dict[str, Route], found: Found) -> None:
        """Note the way of one node to `to`, unless it has one."""
        node = legs[0].here.node
        if (node, to) in found:
            return
        address = self.addressing.identity[to]
        prefix = f"{address}/{self.addressing.host_prefix}"
        vias = tuple(leg.there.address for leg in legs)
        if vias[0] == address or node in default:
            found[node, to] = []
        elif len(vias) > 1 and self.graph.by_name[node].balance == BY_PACKET:
            tables = max(self.turns(node), len(vias))
            own = [Route(node, prefix, vias[:1], legs[0].here.dev)]
            for turn in range(tables):
                leg = legs[turn % len(legs)]
                own.append(Route(node, prefix, (leg.there.address,), leg.here.dev, FIRST_TABLE + turn))
            found[node, to] = own
        else:
            found[node, to] = [Route(node, prefix, vias, legs[0].here.dev)]

    def turns(self, node: str) -> int:
        """Over how many ways a node that balances spreads packets at most: to anyone it can reach."""
        reachable = [name for name, other in self.graph.by_name.items() if name != node and not other.switch]
        return max(len(self.graph.next_hops(node, name)) for name in reachable)

    def _default_routes(self) -> dict[str, Route]:
        """Give nodes with a single interface, on a network of two, their default route."""
        ends: dict[str, list[Route]] = {}
        for network in self.addressing.networks:
            for here in network:
                there = next((other for other in network if other is not here), None)
                if there is not None:
                    route = Route(here.node, "default", (there.address,), here.dev)
                    ends.setdefault(here.node, []).extend([route] * (len(network) - 1))
        return {node: routes[0] for node, routes in ends.items() if len(routes) == 1}


def balancing_sysctls(balance: str | None, family: str) -> dict[str, str]:
    """Settings that a node needs to balance as asked."""
    return {f"net.{family}.{name}": value for name, value in _POLICIES.get(balance or "", {}).items()}


def marking_lines(ways: int, family: str) -> tuple[str, str]:
    """Lines of tc, a qdisc and a filter, that mark a device's incoming packets 1, …, `ways` in turn.

    Each `gact` lets every k-th of what is left pass as it was marked before, so each mark has the same share.
    """
    words = [
        f"action skbedit mark {mark} pipe action gact pipe random determ pass {ways + 1 - mark}"
        for mark in range(1, ways)
    ]
    words.append(f"action skbedit mark {ways} pass")
    protocol = {"ipv4": "ip", "ipv6": "ipv6"}[family]
    return "clsact", f"filter ingress protocol {protocol} prio 2 matchall " + " ".join(words)

"""A scenario laid out: who talks to whom over which cables, and what everything is called.

Takes a `Scenario` and its `Graph`, gives what `lower`, `context` and `calibration` write down.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from rushhour.errors import PlanError
from rushhour.plan import addresses, stages
from rushhour.plan.classes import Crossing
from rushhour.plan.flows import PlannedFlow, planned_flows
from rushhour.plan.graph import Hop
from rushhour.plan.mptcp import Path, back_of, path_of, paths, subflows
from rushhour.plan.netem import delay_ns
from rushhour.plan.routes import BY_PACKET, Router, Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rushhour.plan.addresses import Addressing
    from rushhour.plan.graph import Direction, Graph
    from rushhour.plan.stages import Cable, Stage
    from rushhour.spec.scenario import Scenario


class Arrival(NamedTuple):
    """A stage at an ingress: its index among the ends, the step after which packets meet it."""

    end: int
    after: Step
    stage: Stage

    @property
    def ifb(self) -> str | None:
        """The device that packets are redirected to, where the stage needs one of its own."""
        return f"ifb{self.end}" if self.stage.qdiscs else None


@dataclass
class Layout:
    """A scenario laid out: graph, flows, the paths of all pairs that talk, cables, addresses."""

    scenario: Scenario
    graph: Graph
    found: Sequence[str] = ()
    """Nodes whose sockets are followed, whoever they talk to among themselves."""
    alone: str | None = None
    """The only node with programs: nobody's answers are followed, and it may talk to every other."""
    flows: list[PlannedFlow] = field(init=False)
    ways: dict[tuple[str, str], list[list[Hop]]] = field(init=False)
    links: list[list[Cable]] = field(init=False)
    cables: list[Cable] = field(init=False)
    arrivals: list[Arrival] = field(init=False)
    addressing: Addressing = field(init=False)
    router: Router = field(init=False)
    subflows: list[PlannedFlow] = field(init=False)
    paths: dict[Path, list[Hop]] = field(init=False)
    """By sender, link and receiver: over which links the subflows go."""

    def __post_init__(self) -> None:
        self.flows = planned_flows(self.scenario, self.graph)
        pairs = dict.fromkeys((flow.sender, flow.receiver) for flow in self.flows)
        pairs |= dict.fromkeys(combinations(self.found, 2))
        if self.alone is not None:
            pairs |= dict.fromkeys((self.alone, other) for other in self.graph.reached_from(self.alone))
        both = dict.fromkeys(pair for one, other in pairs for pair in ((one, other), (other, one)))
        self.ways = {pair: self.graph.ways(*pair) for pair in both}
        self._check_balance()
        self.subflows = subflows(self.flows)
        self.paths = paths(self.graph, self.subflows)
        rtts = self._base_rtts()
        self.links = stages.cables(self.graph, lambda link, forward: rtts[link, forward])
        self.cables = [cable for link in self.links for cable in link]
        self.arrivals = _arrivals(self.cables)
        self.addressing = addresses.assign(self.graph, self.links, ipv6=self.scenario.family == "ipv6")
        self.router = Router(self.graph, self.links, self.addressing)

    def steps(self, sender: str, receiver: str) -> list[Step]:
        """Cables crossed from one node to another; the first of the ways."""
        return self.router.steps(self.ways[sender, receiver][0])

    def step_ways(self, sender: str, receiver: str) -> list[list[Step]]:
        """All ways that packets may take; of bonds each cable is in one of them at least."""
        ways = []
        for hops in self.ways[sender, receiver]:
            bonds = [bond.links for hop in hops if (bond := self.graph.links[hop.link].bond) is not None]
            ways += [self.router.steps(hops, member) for member in range(max(bonds, default=1))]
        return ways

    def own_ways(self, flow: PlannedFlow) -> tuple[list[list[Step]], list[list[Step]]] | None:
        """The ways there and back of a flow that has others than every flow between its ends; else None."""
        hops = [self.paths[path_of(one)] for one in self.subflows if flow.name in (one.name, one.of)]
        if not hops:
            return None
        steps = [self.router.steps(path) for path in hops]
        return steps, [self.router.steps(back_of(path)) for path in hops]

    def takes_turns(self, sender: str, receiver: str) -> bool:
        """Whether packets of one flow take several ways in turn."""
        hops = {hop for way in self.ways[sender, receiver] for hop in way}
        bonds = (self.graph.links[hop.link].bond for hop in hops)
        return any(bond is not None and bond.by_packet for bond in bonds) or any(
            self.graph.by_name[node].balance == BY_PACKET for node in self.choices(sender, receiver)
        )

    def choices(self, sender: str, receiver: str) -> dict[str, list[Hop]]:
        """Nodes on the ways of a pair that spread its packets, and the hops over which they do."""
        found: dict[str, list[Hop]] = {}
        for way in self.ways[sender, receiver]:
            for node in (sender, *(self.graph.far(hop) for hop in way[:-1])):
                if node not in found and len(ahead := self.graph.ahead(node, receiver)) > 1:
                    found[node] = ahead
        return found

    def _check_balance(self) -> None:
        """Nobody balances where there is one way only."""
        chosen = {node for pair in self.ways for node in self.choices(*pair)}
        for node in self.graph.nodes:
            if node.balance and node.name not in chosen:
                raise PlanError(
                    f'balance = "{node.balance}": no two shortest paths lead from here to a host that talks',
                    where=f"node {node.name}",
                    hint="a path is as long as it has links, whatever their rate and delay: draw a second "
                    "one of the same length, for example two links with names of their own between two nodes",
                )

    def stage(self, step: Step) -> Stage:
        """What the egress of a step does."""
        return self.cables[step.cable].stages[step.side]

    def ends(self, steps: Iterable[Step]) -> list[tuple[int, Stage]]:
        """The index of every end whose stage a packet meets on its way, in order, and the stage."""
        found: list[tuple[int, Stage]] = []
        for step in steps:
            found.append((step.end, self.stage(step)))
            found += [(a.end, a.stage) for a in self.arrivals if a.after == step]
        return found

    def mtu(self, sender: str, receiver: str) -> int:
        """Largest IP packet that passes the whole path."""
        return min(self.graph.links[hop.link].mtu for way in self.ways[sender, receiver] for hop in way)

    def crossing(self, step: Step, flows: Iterable[PlannedFlow]) -> list[Crossing]:
        """Which of these flows cross a step, with their data or with what answers them."""
        hop = Hop(self.cables[step.cable].link, step.side == 0)
        found = []
        for flow in flows:
            ends = flow.sender, flow.receiver
            own = [self.paths[path_of(one)] for one in self.subflows if one.of == flow.name]
            there, back = (own, list(map(back_of, own))) if own else (self.ways[ends], self.ways[ends[::-1]])
            found += [
                Crossing(flow, data=data)
                for data, ways in ((True, there), (False, back))
                if any(hop in way for way in ways)
            ]
        return found

    def _base_rtts(self) -> dict[tuple[int, bool], int]:
        """What a BDP means in each direction of each link: the longest base RTT of the flows that cross it.

        A preset's own RTT goes before; a direction without flows counts its link's delay there and back.
        """
        longest: dict[Hop, int] = {}
        for path in self.paths.values():
            rtt = self._delay(path) + self._delay(back_of(path))
            for hop in (*path, *back_of(path)):
                longest[hop] = max(rtt, longest.get(hop, 0))
        for (one, other), ways in self.ways.items():
            back = min(self._delay(hops) for hops in self.ways[other, one])
            for hops in ways:
                rtt = self._delay(hops) + back
                for hop in hops:
                    longest[hop] = max(rtt, longest.get(hop, 0))
        return {
            (index, forward): self.graph.rtt_ns
            if self.graph.rtt_ns is not None
            else longest.get(Hop(index, forward), _delay(link.forward) + _delay(link.reverse))
            for index, link in enumerate(self.graph.links)
            for forward in (True, False)
        }

    def _delay(self, hops: list[Hop]) -> int:
        return sum(_delay(self.graph.links[hop.link].direction(forward=hop.forward)) for hop in hops)


def _arrivals(cables: list[Cable]) -> list[Arrival]:
    """The ingress stages of all cables, numbered on from the last egress."""
    found = [
        (Step(number, side), stage)
        for number, cable in enumerate(cables)
        for side in (0, 1)
        for stage in cable.ingress[side]
    ]
    return [Arrival(2 * len(cables) + k, step, stage) for k, (step, stage) in enumerate(found)]


def _delay(direction: Direction) -> int:
    """Delay of one direction as asked for, without jitter."""
    wire = direction.wire.delay_ns if direction.wire else 0
    return wire + (delay_ns(direction.netem)[0] if direction.netem else 0)

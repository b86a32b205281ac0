"""From a scenario's topology to the resolved graph: presets, and the free graph's `[[node]]` and `[[link]]`.

Takes a `Scenario`, gives a `Graph`. Where a preset's stages sit:

* dumbbell, chain: the queues on the routers' egresses of the common links, what they send on an emulator
  behind each; the wire of the data direction on the last router's egress to each receiver, that of the other
  direction on the first router's egress to each sender. So every pair has its own delay.
* star: the queue and the wire of the data direction both belong to hub → r1; an emulator carries the
  second. With `rtts` the shortest one's half is the delay to r1, the rest of each leaf's RTT is on its way
  back.

`rtt` is the base RTT of every pair, also of a chain's cross traffic. With `shape_at = "sender"` the queues
move to the hosts' own egresses. The first flow of a chain is the long one.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from rushhour.plan.graph import Bond, Direction, Graph, Link, Node, Policer, Queue, Wire
from rushhour.quantities.units import Buffer, Duration
from rushhour.spec.topology import default_jitter

if TYPE_CHECKING:
    from rushhour.quantities.units import Rate
    from rushhour.spec.scenario import Scenario
    from rushhour.spec.topology import Direction as DirectionKeys
    from rushhour.spec.topology import Topology

DEFAULT_MTU = 1500
DEFAULT_BUFFER = Buffer(bdp=1.0)
ACCESS_BUFFER = Buffer(packets=1000)  # a network card's transmit queue: txqueuelen of an Ethernet device


def resolve(scenario: Scenario) -> Graph:
    """Resolve the scenario's topology, preset or free, to a graph."""
    if scenario.topology is None:
        return _free(scenario)
    own = {node.name: tuple(node.sysctl.items()) for node in scenario.node}
    graph = _PRESETS[scenario.topology.preset](_Preset(scenario.topology))
    nodes = tuple(Node(node.name, node.router, own.get(node.name, ())) for node in graph.nodes)
    return Graph(nodes, graph.links, graph.rtt_ns)


class _Preset:
    """A preset's keys with their defaults, and the links it is made of."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.mtu = topology.mtu.bytes if topology.mtu else DEFAULT_MTU
        self.at_sender = topology.shape_at == "sender"
        delay = topology.delay.ns * 2 if topology.delay else 0
        self.rtt = topology.rtt.ns if topology.rtt else delay
        given = topology.rtts
        self.rtts = [rtt.ns for rtt in given] if given else [self.rtt] * len(topology.senders)
        if given:
            self.rtt = max(self.rtts)
        self.access = topology.access_rates or (topology.access_rate,) * len(topology.senders)

    def queue(self, *, forward: bool) -> Queue | None:
        """The queue of the common link's direction; the reverse one is like the forward one unless given."""
        keys = self.topology
        rate, buffer, words = keys.rate, keys.buffer, keys.queue
        if not forward:
            rate = keys.reverse_rate or rate
            buffer = keys.reverse_buffer or buffer
            words = keys.reverse_queue or words
        if rate is None and words is None:
            return None
        queue = Queue(
            rate.bps if rate else None,
            buffer or DEFAULT_BUFFER,
            words or "fifo",
            keys.shaper or "tbf",
            serialise=keys.serialise is not False,
        )
        return _divided(queue, keys) if forward else queue

    def wire(self, delay_ns: int, rtt_ns: int, *, forward: bool) -> Wire:
        """The wire of one direction of a pair with this RTT."""
        keys = self.topology
        loss = keys.loss if forward else keys.reverse_loss
        jitter = default_jitter(Duration(rtt_ns)) if keys.jitter is None else keys.jitter
        return Wire(
            delay_ns,
            jitter.ns,
            loss.p if loss else 0.0,
            (keys.drop or ()) if forward else (),
            bool(keys.reorder),
        )

    def link(self, a: str, b: str, forward: Direction, reverse: Direction) -> Link:
        """Make a link with the keys that hold for all links of a preset."""
        return Link(
            f"{a}-{b}",
            a,
            b,
            forward,
            reverse,
            self.mtu,
            bool(self.topology.offload),
            bool(self.topology.receive_offload),
            own_egress=self.at_sender,
        )

    def common(self, a: str, b: str, wire: Wire | None = None) -> Link:
        """Make a common link: queues unless the hosts have them, netem's words, a wire."""
        keys = self.topology
        queues = (None, None) if self.at_sender else (self.queue(forward=True), self.queue(forward=False))
        at_ingress = keys.impair_at == "ingress"
        there = Direction(queues[0], keys.netem, wire, policer=_policer(keys), at_ingress=at_ingress)
        back = Direction(queues[1], keys.reverse_netem, None, at_ingress=at_ingress)
        return self.link(a, b, there, back)

    def host_egress(self, rate: Rate | None, *, forward: bool) -> Direction:
        """What a host's own egress carries: its line rate, or the queue if the scenario wants it there."""
        serialise = self.topology.serialise is not False
        access = Queue(rate.bps, ACCESS_BUFFER, serialise=serialise) if rate else None
        return Direction(queue=self.queue(forward=forward) if self.at_sender else None, access=access)

    def senders(self, routers: list[str], delays: list[int]) -> list[Link]:
        """Make the links of all senders, each to its router, with the wire on the way back."""
        names = zip(self.topology.senders, routers, delays, self.rtts, self.access, strict=True)
        return [
            self.link(
                host,
                router,
                self.host_egress(access, forward=True),
                Direction(wire=self.wire(delay, rtt, forward=False)),
            )
            for host, router, delay, rtt, access in names
        ]

    def receivers(self, routers: list[str]) -> list[Link]:
        """Make the links of all receivers, each from its router, with the data direction's wire."""
        names = zip(self.topology.receivers, routers, self.rtts, self.access, strict=True)
        return [
            self.link(
                router,
                host,
                Direction(wire=self.wire(rtt // 2, rtt, forward=True)),
                self.host_egress(access, forward=False),
            )
            for host, router, rtt, access in names
        ]

    def graph(self, links: list[Link]) -> Graph:
        """Make the graph: senders, routers, receivers."""
        keys = self.topology
        hosts = (*keys.senders, *keys.receivers)
        names = (*keys.senders, *keys.routers, *keys.receivers)
        return Graph(tuple(Node(name, name not in hosts) for name in names), tuple(links), self.rtt)


def _dumbbell(preset: _Preset) -> Graph:
    count = len(preset.rtts)
    back = [rtt - rtt // 2 for rtt in preset.rtts]
    return preset.graph(
        [
            *preset.senders(["left"] * count, back),
            preset.common("left", "right"),
            *preset.receivers(["right"] * count),
        ]
    )


def _chain(preset: _Preset) -> Graph:
    routers = list(preset.topology.routers)
    back = [rtt - rtt // 2 for rtt in preset.rtts]
    return preset.graph(
        [
            *preset.senders([routers[0], *routers[:-1]], back),
            *(preset.common(a, b) for a, b in pairwise(routers)),
            *preset.receivers([routers[-1], *routers[1:]]),
        ]
    )


def _star(preset: _Preset) -> Graph:
    there = min(preset.rtts) // 2
    back = [rtt - there for rtt in preset.rtts]
    wire = preset.wire(there, min(preset.rtts), forward=True)
    common = preset.common("hub", "r1", wire)
    own = preset.host_egress(preset.topology.access_rate, forward=False)
    reverse = replace(common.reverse, queue=own.queue or common.reverse.queue, access=own.access)
    return preset.graph(
        [*preset.senders(["hub"] * len(back), back), preset.link("hub", "r1", common.forward, reverse)]
    )


_PRESETS = {"dumbbell": _dumbbell, "chain": _chain, "star": _star}


def _free(scenario: Scenario) -> Graph:
    """The graph as drawn by `[[node]]` and `[[link]]`; nodes named only in links come in their order."""
    given = {node.name: node for node in scenario.node}
    names = list(dict.fromkeys([*given, *(end for link in scenario.link for end in link.between)]))
    degree = dict.fromkeys(names, 0)
    for link in scenario.link:
        for end in link.between:
            degree[end] += 1
    nodes = []
    for name in names:
        node = given.get(name)
        role = (node.role if node else None) or ("router" if degree[name] > 1 else "host")
        sysctl = tuple(node.sysctl.items()) if node else ()
        nodes.append(Node(name, role == "router", sysctl, role == "switch", node.balance if node else None))
    links = tuple(
        Link(
            link.label,
            *link.between,
            _stages(link.direction(forward=True)),
            _stages(link.direction(forward=False)),
            link.mtu.bytes if link.mtu else DEFAULT_MTU,
            bool(link.offload),
            bool(link.receive_offload),
            own_egress=link.shape_at == "sender",
            bond=Bond(link.bond.links, link.bond.mode, link.bond.hash) if link.bond else None,
        )
        for link in scenario.link
    )
    return Graph(tuple(nodes), links)


def _stages(keys: DirectionKeys) -> Direction:
    """The stages of a free link's direction. Without a delay there is no jitter unless it is asked for."""
    queue = None
    if keys.rate is not None or keys.queue is not None:
        rate = keys.rate.bps if keys.rate else None
        queue = Queue(rate, keys.buffer or DEFAULT_BUFFER, keys.queue or "fifo", keys.shaper or "tbf")
        queue = replace(queue, serialise=keys.serialise is not False, pause=bool(keys.pause))
        queue = _divided(queue, keys)
    delay = keys.delay.ns if keys.delay else 0
    by_default = default_jitter(Duration(2 * delay)).ns if delay else 0
    jitter = by_default if keys.jitter is None else keys.jitter.ns
    loss = keys.loss.p if keys.loss else 0.0
    wire = Wire(delay, jitter, loss, keys.drop or (), reorder=bool(keys.reorder))
    at_ingress = keys.impair_at == "ingress"
    withdrawn = tuple((begin.ns, end.ns) for begin, end in keys.withdrawn or ())
    policer = _policer(keys)
    return Direction(queue, keys.netem, wire, policer=policer, at_ingress=at_ingress, withdrawn=withdrawn)


def _divided(queue: Queue, keys: DirectionKeys) -> Queue:
    """The queue with the classes that divide its rate, if there are any."""
    return replace(queue, classes=keys.classes or (), scheduler=keys.scheduler or "htb")


def _policer(keys: DirectionKeys) -> Policer | None:
    police = keys.police
    if police is None:
        return None
    if police.rate is not None and police.burst is not None:
        return Policer(police.rate.bps, police.burst.bytes, peak_bps=police.peak.bps if police.peak else 0)
    per_s = round(police.packets.per_s) if police.packets else 0
    return Policer(None, police.packet_burst or 0, per_s)

"""Scenarios for tests, and a simulation of what the plan's routes do to a packet."""

import ipaddress
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from rushhour.plan import Lowered
from rushhour.spec import Scenario

Document = dict[str, Any]
Edge = tuple[tuple[str, str], Document]
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

DUMBBELL = {"preset": "dumbbell", "rate": "100mbit", "rtt": "20ms"}


def scenario(topology: Document | None = None, flows: Sequence[Document] = ({},), **keys: Any) -> Scenario:
    """A preset; what its links take to send a packet has tests of its own, and stages of its own."""
    topology = topology and {"serialise": False} | topology
    document: Document = {"duration": "10s", "flow": [dict(flow) for flow in flows], **keys}
    if topology is not None:
        document["topology"] = topology
    return Scenario.model_validate(document)


def graph(
    *links: Edge,
    flows: Sequence[Document],
    nodes: Sequence[Document] = (),
    **keys: Any,
) -> Scenario:
    """A free graph; each link is its two nodes and its keys. As for presets packets are sent in no time."""
    written = [
        {"between": list(between)} | ({"serialise": False} if "rate" in str(own) else {}) | own
        for between, own in links
    ]
    return scenario(None, flows, link=written, node=[dict(node) for node in nodes], **keys)


class Net:
    """Forwards as the kernel does: own addresses, then routes by longest prefix, then neighbours by MAC."""

    def __init__(self, plan: Document) -> None:
        self.forward = {node["name"]: node["forward"] for node in plan["nodes"]}
        self.own: dict[str, set[str]] = {node["name"]: set() for node in plan["nodes"]}
        self.routes: dict[str, dict[int, dict[Network, tuple[str | None, str]]]] = {
            node["name"]: {} for node in plan["nodes"]
        }
        self.peer: dict[tuple[str, str], Document] = {}
        self.end: dict[tuple[str, str], int] = {}
        for node in plan["nodes"]:
            self.own[node["name"]] |= {address.split("/")[0] for address in node["addresses"]}
        for index, link in enumerate(plan["links"]):
            for side, end in enumerate(link["ends"]):
                far = link["ends"][1 - side]
                key = end["node"], end["dev"]
                assert key not in self.peer, "two devices of one name"
                self.peer[key], self.end[key] = far, 2 * index + side
                for text in end["addresses"]:
                    network = _network(text)
                    self.own[end["node"]].add(text.split("/")[0])
                    self._add(end["node"], network, None, end["dev"])
        for route in plan["routes"]:
            to = "0.0.0.0/0" if ":" not in route["via"] else "::/0"
            self._add(
                route["node"],
                _network(to if route["to"] == "default" else route["to"]),
                route["via"],
                route["dev"],
            )
        self.neighbour = {(n["node"], n["dev"], n["address"]): n["mac"] for n in plan["neighbours"]}

    def _add(self, node: str, network: Network, via: str | None, dev: str) -> None:
        lengths = self.routes[node].setdefault(network.prefixlen, {})
        lengths[network] = (via, dev)

    def ends(self, node: str, address: str) -> list[int]:
        """End indices crossed from a node to an address; fails where a real network would lose the packet."""
        crossed: list[int] = []
        target = ipaddress.ip_address(address)
        while address not in self.own[node]:
            assert len(crossed) < 10_000, "a loop"
            assert not crossed or self.forward[node], f"{node} does not forward"
            via, dev = self._look_up(node, target)
            far = self.peer[node, dev]
            assert self.neighbour[node, dev, via or address] == far["mac"]
            crossed.append(self.end[node, dev])
            node = far["node"]
        return crossed

    def _look_up(self, node: str, target: Address) -> tuple[str | None, str]:
        for length in sorted(self.routes[node], reverse=True):
            network = ipaddress.ip_network((target, length), strict=False)
            if network in self.routes[node][length]:
                return self.routes[node][length][network]
        raise AssertionError(f"{node} has no route to {target}")


@lru_cache(maxsize=100_000)
def _network(text: str) -> Network:
    return ipaddress.ip_network(text, strict=False)


def check_plan(lowered: Lowered) -> Net:
    """What holds for every plan: unique names, ports and addresses, packets arrive on the context's paths."""
    plan, context = lowered.plan, lowered.context
    ends = [end for link in plan["links"] for end in link["ends"]]
    names = [node["name"] for node in plan["nodes"]]
    assert len(set(names)) == len(names)
    assert len({link["name"] for link in plan["links"]}) == len(plan["links"])
    assert len({end["mac"] for end in ends}) == len(ends)
    addresses = [text for item in (*ends, *plan["nodes"]) for text in item["addresses"]]
    assert len(set(addresses)) == len(addresses)
    assert all(0 < len(end["dev"]) <= 15 and end["dev"] not in ("lo", "all", "default") for end in ends)
    assert [flow["id"] for flow in plan["flows"]] == list(range(len(plan["flows"])))
    assert [end["end"] for end in context["ends"]] == list(range(len(ends)))
    assert len({end["label"] for end in context["ends"]}) == len(ends)
    seeds = [end["wire"]["seed"] for end in ends if end["wire"]]
    assert len(set(seeds)) == len(seeds)
    net = Net(plan)
    for flow, meant in zip(plan["flows"], context["flows"], strict=True):
        assert net.ends(flow["from"], flow["dst"]) == meant["ends"]
        assert net.ends(flow["to"], flow["src"]) == meant["reverse_ends"]
        for end in (ends[index] for index in (*meant["ends"], *meant["reverse_ends"])):
            assert net.ends(end["node"], flow["src"]) is not None  # a router's error message arrives
    for path in (*plan["calibration"]["paths"], *plan["calibration"]["trains"]):
        assert net.ends(path["from"], path["dst"])
        assert net.ends(path["to"], path["src"])
    return net

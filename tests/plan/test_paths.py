"""Switches, bonds and nodes that balance: what the plan makes of them, and what is refused."""

import shlex
from typing import Any

import pytest
from networks import Document, graph

from rushhour.errors import PlanError, ScenarioError
from rushhour.plan import commands, lower
from rushhour.plan.drawing import drawing
from rushhour.plan.routes import marking_lines
from rushhour.record.plan_file import planned
from rushhour.spec.load import load_scenario

RATE = {"rate": "10mbit"}
SWITCH = [{"name": "s", "role": "switch"}]


def parallel(balance: str, **keys: Any) -> Document:
    """a - m = n - b with two links between m and n."""
    lowered = lower(
        graph(
            (("a", "m"), {}),
            (("m", "n"), {"name": "upper", "delay": "1ms", **RATE}),
            (("m", "n"), {"name": "lower", "delay": "3ms", **RATE}),
            (("n", "b"), {}),
            nodes=[{"name": "m", "balance": balance}],
            flows=[{"from": "a", "to": "b"}],
            **keys,
        ),
        1,
    )
    return {"plan": lowered.plan, "context": lowered.context}


def test_hosts_on_a_switch_are_on_one_network_and_need_no_route() -> None:
    plan = lower(
        graph(
            *((("s", host), RATE) for host in "abc"),
            nodes=SWITCH,
            flows=[{"from": "a", "to": "b"}, {"from": "c", "to": "b"}],
        ),
        1,
    ).plan
    addresses = {end["node"]: end["addresses"] for link in plan["links"] for end in link["ends"]}
    # The hosts' lines are queued behind them, on the small switches s-a.1, s-b.1 and s-c.1.
    assert {name: own for name, own in addresses.items() if own} == {
        "a": ["10.0.1.1/24"],
        "b": ["10.0.1.2/24"],
        "c": ["10.0.1.3/24"],
    }
    assert plan["routes"] == []
    assert not any(node["forward"] for node in plan["nodes"])
    bridges = {device["node"]: device.get("passes_lacp", False) for device in plan["devices"]}
    assert bridges == {"s": False, "s-a.1": True, "s-b.1": True, "s-c.1": True}
    known = {(entry["node"], entry["address"]) for entry in plan["neighbours"]}
    assert known == {("a", "10.0.1.2"), ("b", "10.0.1.1"), ("c", "10.0.1.2"), ("b", "10.0.1.3")}


def test_a_router_on_a_switch_is_the_way_to_other_networks() -> None:
    plan = lower(
        graph(
            (("a", "s"), RATE),
            (("s", "r"), {}),
            (("r", "b"), {}),
            nodes=SWITCH,
            flows=[{"from": "a", "to": "b"}],
        ),
        1,
    ).plan
    routes = {(route["node"], route["to"]): (route["via"], route["dev"]) for route in plan["routes"]}
    assert routes["a", "default"] == ("10.0.0.2", "s")
    assert routes["b", "default"] == ("10.0.3.1", "r")
    assert ("r", "10.0.0.1/32") not in routes  # on its own network


def test_a_bond_has_its_queue_and_its_wire_on_each_cable() -> None:
    link = {"delay": "1ms", "loss": "1%", "bond": {"links": 3, "hash": "layer3+4"}, **RATE}
    lowered = lower(graph((("r", "q"), link), (("r", "a"), {}), (("q", "b"), {}), flows=[{}]), 1)
    plan, context = lowered.plan, lowered.context
    bonded = [link for link in plan["links"] if link["name"].startswith("r-q#")]
    wires = [end["wire"] for link in bonded for end in link["ends"] if end["wire"]]
    assert len(wires) == len({wire["seed"] for wire in wires}) == 6
    shapers = [line for link in bonded for end in link["ends"] for line in end["qdiscs"] if "tbf" in line]
    assert len(shapers) == 6
    assert all(line.startswith("parent 7:2 handle 1: tbf") for line in shapers)
    (one, other) = (device for device in plan["devices"] if "bond" in device)
    assert one["bond"] == other["bond"] == {"mode": "802.3ad", "hash": "layer3+4"}
    assert (one["addresses"], other["addresses"]) == (["10.0.0.1/30"], ["10.0.0.2/30"])
    (flow,) = context["flows"]
    assert len(flow["ways"]) == len(flow["reverse_ways"]) == 3
    assert len(flow["bottleneck_ends"]) == 3
    assert flow["bottleneck_bps"] == 10_000_000  # a flow is on one cable
    assert flow["base_rtt_ns"] == 2 * (1_000_000 + 100_000 // 2)
    labels = {end["label"]: end.get("bundle") for end in context["ends"]}
    assert len(labels) == len(context["ends"])
    assert labels["r → q #2"] == "r → q"


def test_a_bond_in_turn_gives_one_flow_the_rate_of_all() -> None:
    link = {"bond": {"links": 3, "mode": "balance-rr"}, **RATE}
    lowered = lower(graph((("a", "b"), link), flows=[{}]), 1)
    (flow,) = lowered.context["flows"]
    assert flow["in_turn"]
    assert flow["bottleneck_bps"] == 30_000_000


def test_flows_are_balanced_by_a_route_with_several_next_hops() -> None:
    plan, context = parallel("flow").values()
    (route,) = (route for route in plan["routes"] if isinstance(route["via"], list))
    assert route["node"] == "m"
    assert len(set(route["via"])) == 2
    settings = {node["name"]: dict(node["sysctl"]) for node in plan["nodes"]}
    assert settings["m"] == {"net.ipv4.fib_multipath_hash_policy": "1"}
    assert settings["n"] == {}
    (flow,) = context["flows"]
    assert len(flow["ways"]) == 2
    assert "reverse_ways" not in flow  # n does not balance
    assert flow["base_rtt_ns"] == 2 * (1_000_000 + 100_000 // 2)  # the shortest way there, the first back
    bundles = {end["label"]: end["bundle"] for end in context["ends"] if "bundle" in end}
    assert bundles == {"m → n (upper)": "m → b", "m → n (lower)": "m → b"}


def test_packets_are_balanced_by_marks_and_a_table_each() -> None:
    plan, context = parallel("packet", family="ipv6").values()
    tables = {route["table"]: route["via"] for route in plan["routes"] if "table" in route}
    assert set(tables) == {101, 102}
    assert len(set(tables.values())) == 2
    assert plan["rules"] == [
        {"node": "m", "ipv6": True, "mark": 1, "table": 101},
        {"node": "m", "ipv6": True, "mark": 2, "table": 102},
    ]
    assert "tools" not in plan
    assert context["flows"][0]["in_turn"]
    lines = commands(planned(plan))
    assert "ip -6 -n m rule add pref 102 fwmark 2 table 102" in lines
    assert any(line.startswith("ip -n m route add ") and " table 101 via " in line for line in lines)


@pytest.mark.parametrize("ways", [2, 3, 5])
def test_marks_come_in_turn(ways: int) -> None:
    """What the kernel's `gact … random determ` does: every k-th packet that reaches it has the other fate."""
    words = shlex.split(marking_lines(ways, "ipv4")[1].partition("matchall ")[2])
    actions = " ".join(words).split("action ")[1:]
    counts = [0] * len(actions)
    seen = []
    for _ in range(10 * ways):
        mark = 0
        for place, action in enumerate(actions):
            kind, *rest = action.split()
            if kind == "skbedit":
                mark = int(rest[1])
                if rest[2] == "pass":
                    break
            else:
                counts[place] += 1
                if counts[place] % int(rest[-1]) == 0:
                    break
        seen.append(mark)
    for start in range(0, len(seen), ways):
        assert sorted(seen[start : start + ways]) == list(range(1, ways + 1))


FREE = 'duration = "1s"\n[[flow]]\nfrom = "a"\nto = "b"\n'
FAULTS = {
    "a bond of one cable is a link": '[[link]]\nbetween = ["a", "b"]\nrate = "1mbit"\nbond = { links = 1 }\n',
    'mode "balance-rr" hashes nothing': """
[[link]]
between = ["a", "b"]
rate = "1mbit"
bond = { links = 2, mode = "balance-rr", hash = "layer2" }
""",
    '"lacp"': '[[link]]\nbetween = ["a", "b"]\nrate = "1mbit"\nbond = { links = 2, mode = "lacp" }\n',
    '"a" has one link: there is nothing to balance': """
[[node]]
name = "a"
balance = "flow"
[[link]]
between = ["a", "b"]
rate = "1mbit"
""",
    "closes a loop of switches": """
[[node]]
name = "s"
role = "switch"
[[node]]
name = "t"
role = "switch"
[[link]]
between = ["a", "s"]
rate = "1mbit"
[[link]]
between = ["s", "t"]
[[link]]
between = ["s", "t"]
name = "second"
[[link]]
between = ["t", "b"]
""",
    '"b" has a link into this switched network already': """
[[node]]
name = "s"
role = "switch"
[[link]]
between = ["a", "s"]
rate = "1mbit"
[[link]]
between = ["s", "b"]
[[link]]
between = ["s", "b"]
name = "second"
""",
    '"b" is a switch: it has no address': """
[[node]]
name = "b"
role = "switch"
[[link]]
between = ["a", "b"]
rate = "1mbit"
""",
    "only a router takes packets in turn": """
[[node]]
name = "a"
role = "host"
balance = "packet"
[[link]]
between = ["a", "b"]
rate = "1mbit"
[[link]]
between = ["a", "b"]
name = "second"
""",
}


@pytest.mark.parametrize("message", FAULTS)
def test_what_cannot_be_is_refused_with_its_place(message: str, tmp_path: Any) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(FREE + FAULTS[message])
    with pytest.raises(ScenarioError) as caught:
        load_scenario(str(file))
    fault = next(fault for fault in caught.value.faults if message in str(fault))
    assert fault.line is not None


def test_balance_without_a_second_path_is_refused() -> None:
    scenario = graph(
        (("a", "m"), {}),
        (("m", "b"), RATE),
        nodes=[{"name": "m", "balance": "flow"}],
        flows=[{"from": "a", "to": "b"}],
    )
    with pytest.raises(PlanError, match="no two shortest paths lead from here") as caught:
        lower(scenario, 1)
    assert caught.value.where == "node m"


def test_the_drawing_tells_bonds_switches_and_balance() -> None:
    drawn = drawing(
        graph(
            (("a", "s"), {"bond": {"links": 2, "hash": "layer2"}, **RATE}),
            (("s", "b"), {}),
            nodes=SWITCH,
            flows=[{"from": "a", "to": "b"}],
        )
    )
    assert "2 cables by 802.3ad, layer2" in drawn
    assert "s is a switch" in drawn
    balanced = drawing(
        graph(
            (("a", "m"), RATE),
            (("m", "b"), {}),
            (("m", "b"), {"name": "second"}),
            nodes=[{"name": "m", "balance": "flow"}],
            flows=[{"from": "a", "to": "b"}],
        )
    )
    assert "m balances by flow" in balanced

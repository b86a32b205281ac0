"""Nodes whose sockets are followed: what the plan and its context say of them."""

import pytest
from networks import DUMBBELL, check_plan, scenario

from rushhour.errors import PlanError
from rushhour.plan import lower
from rushhour.plan.onto import Seat, onto
from rushhour.spec import parse_scenario

TWO = DUMBBELL | {"pairs": 2}
OF_PATH = ("ends", "reverse_ends", "base_rtt_ns", "bottleneck_end", "bottleneck_bps", "payload_per_packet")


def test_without_them_a_plan_says_nothing_of_it() -> None:
    lowered = lower(scenario(TWO), 1)
    assert "found" not in lowered.plan
    assert "pairs" not in lowered.context


def test_flows_that_are_found_are_numbered_on() -> None:
    lowered = lower(scenario(TWO, [{}, {}]), 1, found=("r2", "s1"))
    assert lowered.plan["found"] == {"nodes": ["s1", "r2"], "first": 2}
    check_plan(lowered)


def test_a_pair_says_what_a_flow_between_the_two_would_be() -> None:
    lowered = lower(scenario(TWO, [{"from": "s1", "to": "r1"}]), 1, found=("s1", "r1", "s2"))
    flow = lowered.context.flows[0]
    pairs = {(pair.from_, pair.to, pair.kind): pair for pair in lowered.context.pairs}
    assert len(pairs) == 12
    assert {key: pairs["s1", "r1", "tcp"][key] for key in OF_PATH} == {key: flow[key] for key in OF_PATH}
    assert pairs["r1", "s1", "tcp"]["ends"] == flow["reverse_ends"]
    assert pairs["s1", "r1", "udp"]["payload_per_packet"] == 1472
    # Both are on the left.
    assert pairs["s1", "s2", "tcp"]["bottleneck_end"] != flow["bottleneck_end"]
    assert not pairs["s1", "r1", "tcp"].keys() & {"id", "name", "group", "start_ns", "stop_ns"}


def test_those_who_talk_to_each_other_have_routes() -> None:
    plan = lower(scenario(TWO, [{"from": "s1", "to": "r1"}]), 1, found=("s2", "r2")).plan
    assert {"s2", "r2"} <= {route.node for route in plan.routes}


def test_a_program_that_is_alone_reaches_every_node() -> None:
    text = """
        duration = "1s"
        topology = { preset = "dumbbell", pairs = 2, rate = "2mbit", rtt = "10ms" }
        [[program]]
        node = "s1"
        command = "sh"
        """
    plan = lower(parse_scenario(text), 1).plan
    assert "found" not in plan, "there is nobody whose answers could be followed"
    assert {"s1", "s2", "r1", "r2"} <= {route.node for route in plan.routes}


def test_what_has_no_path_is_not_reached() -> None:
    text = """
        duration = "1s"
        link = [{ between = ["a", "b"], rate = "1mbit" }, { between = ["b", "c"], rate = "1mbit" }]
        node = [{ name = "b", role = "host" }]
        [[program]]
        node = "a"
        command = "sh"
        """
    nodes = {route.node for route in lower(parse_scenario(text), 1).plan.routes}
    assert "a" in nodes
    assert not any(name.startswith("b-c") for name in nodes)


@pytest.mark.parametrize(
    ("nodes", "words"), [(("s1", "moon"), "no node moon"), (("s1",), "sockets of s1 are to be followed")]
)
def test_what_cannot_be_followed_is_refused(nodes: tuple[str, ...], words: str) -> None:
    with pytest.raises(PlanError, match=words):
        lower(scenario(TWO), 1, found=nodes)


def test_machines_of_a_path_cannot_do_it() -> None:
    lowered = lower(scenario(DUMBBELL), 1, found=("s1", "r1"))
    seats = {name: Seat(name, f"192.0.2.{n}", "eth0", 1500) for n, name in enumerate(("s1", "r1"), 1)}
    with pytest.raises(PlanError, match="sockets that no flow names"):
        onto(lowered, seats, None)

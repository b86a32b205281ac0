"""First windows of connections: what routes of single hosts say."""

from __future__ import annotations

import pytest
from networks import DUMBBELL, graph, scenario

from rushhour.errors import PlanError
from rushhour.plan import commands, lower
from rushhour.spec.check import problems
from rushhour.spec.keys import put


def test_only_the_routes_of_that_host_say_it() -> None:
    one = scenario(DUMBBELL, node=[{"name": "s1", "initcwnd": 20}, {"name": "r1", "initrwnd": 30}])
    plan = lower(one, 1).plan
    said = {route.node: (route.initcwnd, route.initrwnd) for route in plan.routes}
    assert said.pop("s1") == (20, None)
    assert said.pop("r1") == (None, 30)
    assert set(said.values()) == {(None, None)}
    lines = [line for line in commands(plan) if " route add " in line]
    assert [line.split(" init", 1)[1] for line in lines if "init" in line] == ["cwnd 20", "rwnd 30"]


def test_both_stand_beside_the_unit_of_timestamps() -> None:
    asked = scenario(DUMBBELL, node=[{"name": "s1", "initcwnd": 2}], timestamps="us")
    (line,) = [line for line in commands(lower(asked, 1).plan) if "initcwnd" in line]
    assert line.endswith(" initcwnd 2 features tcp_usec_ts")


def test_hosts_side_by_side_talk_over_no_route_of_ours() -> None:
    keys = {"rate": "1mbit", "shape_at": "sender", "serialise": False, "jitter": "0us"}
    flows = [{"from": "a", "to": "b"}]
    asked = graph((("a", "b"), keys), flows=flows, nodes=[{"name": "b", "initrwnd": 3}])
    with pytest.raises(PlanError, match="a and b are on one network"):
        lower(asked, 1)


def test_no_connection_begins_at_a_router() -> None:
    (problem,) = problems(scenario(DUMBBELL, node=[{"name": "left", "initcwnd": 3}]))
    assert problem.message == "left forwards: no connection begins there"


def test_a_node_without_a_table_can_be_set() -> None:
    assert put({}, {"node.s1.initcwnd": 3, "node.s1.sysctl.net.ipv4.tcp_sack": "0"}) == {
        "node": [{"name": "s1", "initcwnd": 3, "sysctl": {"net.ipv4.tcp_sack": "0"}}]
    }
    (problem,) = problems(scenario(DUMBBELL, node=[{"name": "s9", "initcwnd": 3}]))
    assert problem.message == 'the preset has no node "s9"'

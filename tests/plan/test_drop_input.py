"""Drops at a host's INPUT: in the plan, by hand, and where they make no sense."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from networks import DUMBBELL, scenario

from rushhour.plan import commands, lower
from rushhour.spec.check import problems

if TYPE_CHECKING:
    from rushhour.spec import Scenario


def dropping(node: str = "r1", share: str = "2.5%", **keys: Any) -> Scenario:
    return scenario(DUMBBELL, node=[{"name": node, "drop_input": share}], **keys)


def test_the_plan_gives_a_host_its_share() -> None:
    nodes = {node["name"]: node.get("drop_input") for node in lower(dropping(), 1).plan["nodes"]}
    assert nodes == {"s1": None, "left": None, "right": None, "r1": 0.025}
    assert "drop_input" not in lower(dropping(share="0%"), 1).plan["nodes"][-1]


@pytest.mark.parametrize(("family", "program"), [("ipv4", "iptables"), ("ipv6", "ip6tables")])
def test_a_person_can_type_it(family: str, program: str) -> None:
    typed = commands(lower(dropping(family=family), 1).plan)
    rule = "-A INPUT -m statistic --mode random --probability 0.025 -j DROP"
    assert f"ip netns exec r1 {program} {rule}" in typed


def test_nothing_arrives_for_a_router() -> None:
    (problem,) = problems(dropping("left"))
    assert (problem.path, problem.message) == (
        ("node", 0, "drop_input"),
        "left forwards: nothing arrives for it",
    )

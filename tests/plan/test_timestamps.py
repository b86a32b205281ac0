"""Timestamps of microseconds: a feature of the routes between hosts."""

from __future__ import annotations

import pytest
from networks import DUMBBELL, graph, scenario

from rushhour.errors import PlanError
from rushhour.plan import commands, lower


def test_every_route_says_what_timestamps_count() -> None:
    plain = scenario(DUMBBELL)
    for unit in (None, "ms"):
        plan = lower(plain.model_copy(update={"timestamps": unit}), 1).plan
        assert not any(route.microseconds for route in plan.routes)
    plan = lower(plain.model_copy(update={"timestamps": "us"}), 1).plan
    assert plan.routes
    assert all(route.microseconds for route in plan.routes)
    lines = [line for line in commands(plan) if " route add " in line]
    assert len(lines) == len(plan.routes)
    assert all(line.endswith(" features tcp_usec_ts") for line in lines)


def test_hosts_side_by_side_talk_over_no_route_of_ours() -> None:
    keys = {"rate": "1mbit", "shape_at": "sender", "serialise": False, "jitter": "0us"}
    drawn = graph((("a", "b"), keys), flows=[{"from": "a", "to": "b"}])
    assert lower(drawn, 1).plan.routes
    with pytest.raises(PlanError, match="a and b are on one network"):
        lower(drawn.model_copy(update={"timestamps": "us"}), 1)

"""Routes that a router loses: the instants in the plan, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from networks import graph

from rushhour.errors import PlanError, ScenarioError
from rushhour.plan import lower

LINKS = [("s", "m"), ("m", "n"), ("n", "r")]


def changes(number: int, **keys: Any) -> list[tuple[int, str, str, float]]:
    """When, where and what changes if link `number` has these keys."""
    links = [keys if place == number else {} for place in range(len(LINKS))]
    plan = lower(graph(*zip(LINKS, links, strict=True), flows=[{"from": "s", "to": "r"}]), 1).plan
    ends = [end for link in plan["links"] for end in link["ends"]]
    return [
        (one["t_ns"], ends[one["end"]]["node"], one["key"], one["value"]) for one in plan.get("changes", ())
    ]


def test_routes_go_and_come_at_the_router_before_the_link() -> None:
    spans = [["1s", "2s"], ["3s", "4s"]]
    at = [(1, 0.0), (2, 1.0), (3, 0.0), (4, 1.0)]
    for way, node in ("forward", "m"), ("reverse", "n"):
        wanted = [(second * 10**9, node, "route", value) for second, value in at]
        assert changes(1, **{way: {"withdrawn": spans}}) == wanted


def test_behind_a_shaper_it_is_the_routers_own_device() -> None:
    for keys in {"rate": "10mbit", "delay": "5ms"}, {"rate": "10mbit", "netem": "duplicate 1%"}:
        (gone, back) = changes(1, forward={"withdrawn": [["1s", "2s"]]}, **keys)
        assert (gone[1], back[1]) == ("m", "m")


def test_what_comes_after_the_experiment_is_no_change() -> None:
    assert [one[3] for one in changes(1, forward={"withdrawn": [["1s", "1h"]]})] == [0.0]


@pytest.mark.parametrize(
    ("number", "spans", "said"),
    [
        (1, [["2s", "1s"]], "from 2 s to 1 s"),
        (1, [["1s", "2s"], ["2s", "3s"]], "from 2 s to 3 s"),
        (0, [["1s", "2s"]], "s is no router"),
    ],
)
def test_spans_out_of_order_and_hosts_are_refused(number: int, spans: list[list[str]], said: str) -> None:
    with pytest.raises((PlanError, ScenarioError), match=said):
        changes(number, forward={"withdrawn": spans})

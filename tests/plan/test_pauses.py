"""PAUSE in the plan: which ports are stopped, by which queues, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from networks import graph

from rushhour.errors import PlanError, ScenarioError
from rushhour.plan import lower
from rushhour.spec import load_scenario

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.spec import Scenario

FLOWS = [{"name": "a", "from": "s", "to": "slow"}, {"name": "b", "from": "s", "to": "fast"}]
UP = {"rate": "1gbit", "buffer": "1000p", "shape_at": "sender", "forward": {"pause": True}}
SLOW = {"rate": "100mbit", "buffer": "100p", "shape_at": "sender"}
FAST = {"rate": "1gbit", "buffer": "150kB", "delay": "1us", "shape_at": "sender"}


def net(**up: Any) -> Scenario:
    links = [("s", "switch"), ("switch", "slow"), ("switch", "fast")]
    keys = [UP | up, SLOW, FAST]
    return graph(*zip(links, keys, strict=True), flows=FLOWS, nodes=[{"name": "switch", "role": "switch"}])


def test_a_port_is_stopped_by_every_queue_of_the_node_behind_it() -> None:
    found = lower(net(), 1)
    (port,) = found.plan["pauses"]["ports"]
    ends = {end["end"]: end["label"] for end in found.context["ends"]}
    assert ends[port["end"]].startswith("s → switch")
    stops = {ends[one["end"]].partition(" (")[0]: one for one in port["watch"]}
    slow = next(one for label, one in stops.items() if label.startswith("switch → slow"))
    fast = next(one for label, one in stops.items() if label.startswith("switch → fast"))
    assert (slow["stop"], slow["go"], slow["packets"]) == (75, 50, True)
    assert (fast["stop"], fast["go"], fast.get("packets")) == (112500, 75000, None)
    assert found.plan["pauses"]["interval_ns"] == 1514 * 8


def test_its_own_queue_is_one_that_can_be_held() -> None:
    plan = lower(net(), 1).plan
    end = plan["pauses"]["ports"][0]["end"]
    assert (
        plan["links"][end // 2]["ends"][end % 2]["qdiscs"][1] == "parent 1:1 handle 10: plug limit 1514000b"
    )


def test_without_it_nothing_of_a_plan_changes() -> None:
    off, absent = lower(net(forward={"pause": False}), 1), lower(net(forward={}), 1)
    assert "pauses" not in off.plan
    assert off.plan == absent.plan


@pytest.mark.parametrize(
    ("up", "message"),
    [
        ({"forward": {}, "reverse": {"pause": True}}, "s has no queue"),
        ({"forward": {"pause": True, "queue": "fq_codel"}}, "is a fifo with a rate"),
        ({"forward": {"pause": True, "delay": "5ms"}}, "does not hold"),
    ],
)
def test_what_could_not_keep_its_promise_is_refused(up: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        lower(net(**up), 1)


def test_a_preset_has_no_single_link_to_stop(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('[topology]\npreset = "dumbbell"\nrate = "1mbit"\npause = true\n[[flow]]\n')
    with pytest.raises(ScenarioError, match="is of a single link"):
        load_scenario(file)

"""Sojourn times in the plan: which queues are timed, and what cannot be."""

from __future__ import annotations

from typing import Any

import pytest
from networks import DUMBBELL, scenario

from rushhour.errors import PlanError
from rushhour.plan import lower
from rushhour.plan.needs import needs
from rushhour.plan.onto import check_possible

STAMPED: dict[str, Any] = {"readings": {"sojourn": True}}


def test_every_queue_is_timed_and_nothing_else() -> None:
    lowered = lower(scenario(DUMBBELL, **STAMPED), 1)
    plain = lower(scenario(DUMBBELL), 1).plan

    ends = [end for link in lowered.plan["links"] for end in link["ends"]]
    timed = {number for number, end in enumerate(ends) if end.get("sojourn")}
    assert timed == {end["end"] for end in lowered.context["ends"] if end["role"] == "queue"} != set()
    assert not any("sojourn" in end for link in plain["links"] for end in link["ends"])
    assert {"bpf"} <= needs(lowered.plan).filters
    assert "clsact" in needs(lowered.plan).qdiscs


@pytest.mark.parametrize(
    ("topology", "said"),
    [
        ({"rate": None, "buffer": None}, "no link has a rate or a queue"),
        ({"offload": True}, "has offloads"),
    ],
)
def test_what_cannot_be_timed_is_refused(topology: dict[str, Any], said: str) -> None:
    changed = {key: value for key, value in (DUMBBELL | topology).items() if value is not None}
    with pytest.raises(PlanError, match=said):
        lower(scenario(changed, **STAMPED), 1)


def test_machines_as_they_are_cannot_do_it() -> None:
    with pytest.raises(PlanError, match=r"readings\.sojourn"):
        check_possible(lower(scenario(DUMBBELL, **STAMPED), 1).plan)

"""Builders for scenarios and their faults."""

import pytest

from rushhour.errors import Fault, ScenarioError
from rushhour.metrics.vocabulary import VOCABULARY
from rushhour.spec import Scenario, parse_scenario

BASE = """\
duration = "30s"
[topology]
preset = "dumbbell"
rate = "100mbit"
rtt = "20ms"
[[flow]]
name = "long"
cc = "cubic"
"""


def scenario(more: str = "", top: str = "", sets: tuple[str, ...] = ()) -> Scenario:
    """A dumbbell with one flow, with lines added at the top and at the end."""
    return parse_scenario(top + BASE + more, "base.toml", sets)


def faults(text: str, sets: tuple[str, ...] = ()) -> dict[str, Fault]:
    """Every fault of a text that must have some, by key."""
    with pytest.raises(ScenarioError) as refused:
        parse_scenario(text, "test.toml", sets, words=VOCABULARY)
    return {fault.key: fault for fault in refused.value.faults}

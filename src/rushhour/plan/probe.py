"""The smallest of experiments: two hosts, a packet there and back. Asks whether a kernel boots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.spec.load import parse_scenario

if TYPE_CHECKING:
    from rushhour.spec import Scenario

_SCENARIO = """
duration = "10ms"
[topology]
preset = "dumbbell"
rate = "10mbit"
rtt = "1ms"
[[flow]]
kind = "ping"
"""


def probe() -> Scenario:
    """The scenario; always the same."""
    return parse_scenario(_SCENARIO)

"""The smallest of experiments: two hosts, a packet there and back. Asks a kernel whether and what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.plan.lower import lower
from rushhour.spec.load import parse_scenario

if TYPE_CHECKING:
    from rushhour.plan.lower import Lowered

_SCENARIO = """
duration = "10ms"
[topology]
preset = "dumbbell"
rate = "10mbit"
rtt = "1ms"
[[flow]]
kind = "ping"
"""


def probe() -> Lowered:
    """Its plan and context; always the same."""
    return lower(parse_scenario(_SCENARIO), 1)

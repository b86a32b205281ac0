"""Cake's own words "ingress" and "egress", which are no places where a queue hangs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from experiments import metric

if TYPE_CHECKING:
    from experiments import Experiment

pytestmark = pytest.mark.virtual

WAY = """
duration = "3s"
warmup = "1s"
[[link]]
between = ["a", "b"]
rate = "10mbit"
delay = "10ms"
queue = "cake bandwidth 2mbit besteffort {mode}"
[[flow]]
name = "flood"
kind = "udp"
from = "a"
to = "b"
rate = "6mbit"
"""


@pytest.mark.parametrize(("mode", "share"), [("", 1.0), ("egress", 1.0), ("ingress", 2 / 3)])
def test_a_queue_shapes_in_either_mode(experiment: Experiment, mode: str, share: float) -> None:
    """In ingress mode what is dropped is charged, down to two thirds of the rate (`failsafe_dur`)."""
    record = experiment(WAY.format(mode=mode))
    assert metric(record, "goodput_steady_bps", "flow:flood") == pytest.approx(
        share * 2e6 * 1472 / 1514, rel=0.02
    )

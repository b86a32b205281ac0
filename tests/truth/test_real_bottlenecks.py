"""Shapers under shapers, live: the link is full at the rate that holds, and the report knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from experiments import metric

from rushhour.explain.evidence import evidence

if TYPE_CHECKING:
    from experiments import Experiment

pytestmark = pytest.mark.virtual

LABEL = "left → right"
SCENARIO = """
duration = "6s"
warmup = "2s"
[topology]
preset = "dumbbell"
rate = "200mbit"
rtt = "20ms"
buffer = "100kB"
queue = "{queue}"
[[flow]]
name = "one"
cc = "cubic"
"""


@pytest.mark.parametrize(
    ("queue", "full"),
    [
        ("cake bandwidth 10mbit", True),
        ("tbf rate 10mbit burst 3028b limit 50000b", True),
        ("tbf rate 10mbit burst 64kb limit 200kb", True),
        ("fq maxrate 10mbit", False),
    ],
)
def test_the_rate_that_holds_is_the_bottleneck(experiment: Experiment, queue: str, full: bool) -> None:
    record = experiment(SCENARIO.format(queue=queue))
    (flow,) = record.flows("tcp")
    known = evidence(record, flow)

    assert known is not None
    assert known.possible_bps == pytest.approx(10e6 * 1448 / 1514)
    assert metric(record, "goodput_steady_bps", "flow:one") == pytest.approx(known.possible_bps, rel=0.06)
    # fq holds each flow to its own rate: the link has room for others.
    utilization = metric(record, "utilization", f"end:{LABEL}")
    assert utilization == pytest.approx(1.0 if full else 0.05, rel=0.06)

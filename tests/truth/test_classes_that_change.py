"""A class whose rate changes, or that goes: what was possible follows it, and so does what a flow had."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from experiments import metric

from rushhour.explain import explain
from rushhour.record import courses

if TYPE_CHECKING:
    from experiments import Experiment

pytestmark = pytest.mark.virtual

SCENARIO = """
duration = "8s"
[topology]
preset = "dumbbell"
rate = "50mbit"
rtt = "20ms"
buffer = "100kB"
scheduler = "{scheduler}"
class = [
  {{ name = "a", flows = ["bulk"], {a}, then = {{ at = "4s", {then} }} }},
  {{ name = "b", rate = "5mbit", ceil = "50mbit" }},
]
[[flow]]
name = "bulk"
cc = "cubic"
"""
PAYLOAD = 1448 / 1514


@pytest.mark.parametrize("scheduler", ["htb", "hfsc"])
@pytest.mark.parametrize(
    ("a", "then", "later_bps"),
    [
        ('rate = "20mbit"', 'rate = "5mbit"', 5e6),
        ('rate = "2mbit", ceil = "20mbit"', 'rate = "1mbit"', 20e6),
        ('rate = "2mbit", ceil = "20mbit"', 'ceil = "10mbit"', 10e6),
        ('rate = "20mbit"', "gone = true", 50e6),  # into the class of what no other names
    ],
)
def test_what_was_possible_follows_a_class(
    scheduler: str, a: str, then: str, later_bps: float, experiment: Experiment
) -> None:
    record = experiment(SCENARIO.format(scheduler=scheduler, a=a, then=then))
    (flow,) = record.context.flows.values()
    ends = record.context.ends
    assert courses.bottleneck_bps(flow, ends, (0, 4 * 10**9)) == 20e6
    assert courses.bottleneck_bps(flow, ends, (4 * 10**9, 8 * 10**9)) == later_bps
    (found,) = explain(record)
    assert found.possible_bps is not None
    assert found.possible_bps == pytest.approx(PAYLOAD * (20e6 + later_bps) / 2, rel=0.01)
    # As fast as that for all of its time, but for slow start and what a short queue drops.
    assert 0.85 * found.possible_bps < metric(record, "goodput_bps", "flow:bulk") < 1.01 * found.possible_bps


def test_curves_that_change_leave_no_ceiling_but_the_links(experiment: Experiment) -> None:
    text = SCENARIO.format(scheduler="hfsc", a='rate = "20mbit"', then='curves = "sc rate 5mbit"')
    record = experiment(text)
    (flow,) = record.context.flows.values()
    assert courses.bottleneck_bps(flow, record.context.ends, (4 * 10**9, 8 * 10**9)) == 50e6

"""Drops at netfilter's INPUT, live: as many as asked for, of arrivals alone, and the protocols meet them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from experiments import metric

if TYPE_CHECKING:
    from experiments import Experiment

pytestmark = pytest.mark.virtual

SCENARIO = """
duration = "3s"
family = "{family}"
[topology]
preset = "dumbbell"
rate = "20mbit"
rtt = "10ms"
[[node]]
name = "r1"
drop_input = "20%"
[[flow]]
name = "datagrams"
kind = "udp"
rate = "10mbit"
duration = "2s"
[readings]
tcp_info = false
"""


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_a_share_of_what_arrives_is_dropped(experiment: Experiment, family: str) -> None:
    """The harness asserts validity, which holds the rule's own counters to a binomial of that probability."""
    record = experiment(SCENARIO.format(family=family))
    (entry,) = record.result["inputs"]
    assert entry["node"] == "r1"
    assert entry["packets"] == metric(record, "messages_sent", "flow:datagrams")
    assert metric(record, "input_drops", "node:r1") == entry["dropped"]
    assert entry["packets"] - entry["dropped"] == metric(record, "messages_received", "flow:datagrams")

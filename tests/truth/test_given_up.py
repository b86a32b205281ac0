"""Clients that give up, and routers that have no route for a time: what arrives, and what does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from experiments import metric

if TYPE_CHECKING:
    from experiments import Experiment

pytestmark = pytest.mark.virtual

CALLS = """
duration = "3s"
[[link]]
between = ["a", "b"]
rate = "1mbit"
delay = "10ms"
jitter = "0us"
[[pattern]]
key = "loss"
direction = "reverse"
steps = [["0s", "{lost}"], ["1s", "0%"]]
[[flow]]
name = "calls"
kind = "crr"
from = "a"
to = "b"
interval = "500ms"
patience = "{patience}"
response = "{response}"
"""

ROUTE = """
duration = "3s"
family = "{family}"
[[link]]
between = ["s", "m"]
rate = "10mbit"
delay = "1ms"
jitter = "0us"
[[link]]
between = ["m", "n"]
jitter = "0us"
[link.forward]
withdrawn = [["1s", "2s"]]
[[link]]
between = ["n", "r"]
jitter = "0us"
[[flow]]
name = "datagrams"
kind = "udp"
from = "s"
to = "r"
rate = "80kbit"
packet = "1000B"
"""


@pytest.mark.parametrize(
    ("lost", "patience", "response", "answered"),
    [
        ("0%", "100ms", "1kB", [0, 1, 2, 3, 4, 5]),
        # No connection before 1 s: the calls that were given up keep their place in the schedule.
        ("100%", "100ms", "1kB", [2, 3, 4, 5]),
        # 30 kB take 0.26 s at 1 Mbit/s.
        ("0%", "200ms", "30kB", []),
        ("0%", "400ms", "30kB", [0, 1, 2, 3, 4, 5]),
    ],
)
def test_a_client_waits_as_long_as_its_patience(
    experiment: Experiment, lost: str, patience: str, response: str, answered: list[int]
) -> None:
    record = experiment(CALLS.format(lost=lost, patience=patience, response=response))
    assert record.table("transaction")["seq"].tolist() == answered


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_a_router_without_a_route_says_so_and_has_it_again(experiment: Experiment, family: str) -> None:
    record = experiment(ROUTE.format(family=family))
    arrived = record.table("udp")["tx_ns"][record.table("udp")["rx_ns"] > 0]
    # Ten in a second; those of 1 s to 2 s find no route, give or take the one that leaves just then.
    sent = [sum((arrived >= second * 10**9) & (arrived < (second + 1) * 10**9)) for second in range(3)]
    assert sent[1] == 0
    assert min(sent[0], sent[2]) >= 9
    assert metric(record, "icmp_errors_received") > 0

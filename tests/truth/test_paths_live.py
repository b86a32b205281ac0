"""Bonds, switches and balanced paths on the real kernel: what pins a flow, what reorders it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from experiments import metric

if TYPE_CHECKING:
    from experiments import Experiment

pytestmark = pytest.mark.virtual

BONDED = """
duration = "1s"
[[node]]
name = "switch"
role = "switch"
[[link]]
between = ["switch", "server"]
rate = "20mbit"
buffer = "100p"
shape_at = "sender"
bond = {BOND}
[[link]]
between = ["c1", "switch"]
delay = "100us"
[[link]]
between = ["c2", "switch"]
delay = "100us"
[[link]]
between = ["c3", "switch"]
delay = "100us"
[[flow]]
name = "first"
kind = "udp"
rate = "12mbit"
packet = "1000B"
from = "c1"
to = "server"
[[flow]]
name = "second"
kind = "udp"
rate = "12mbit"
packet = "700B"
from = "c2"
to = "server"
"""
PARALLEL = """
duration = "1s"
[[node]]
name = "left"
balance = "{BALANCE}"
[[link]]
between = ["a", "left"]
[[link]]
name = "upper"
between = ["left", "right"]
rate = "50mbit"
delay = "5ms"
jitter = "0us"
[[link]]
name = "lower"
between = ["left", "right"]
rate = "50mbit"
delay = "{LOWER}"
jitter = "0us"
[[link]]
between = ["right", "b"]
[[flow]]
name = "checked"
kind = "udp"
rate = "5mbit"
count = {COUNT}
"""
UPPER = "end:left → right (upper)"


@pytest.mark.parametrize("mode", ["802.3ad", "balance-xor"])
def test_a_bond_that_hashes_keeps_each_flow_on_one_cable_and_in_order(
    experiment: Experiment, mode: str
) -> None:
    record = experiment(BONDED.replace("{BOND}", f'{{ links = 2, mode = "{mode}", hash = "layer2+3" }}'))
    # The addresses of c1 and c2 differ such that the hash tells them apart: 24 Mbit/s pass cables of 20.
    for name in ("first", "second"):
        assert metric(record, "loss", f"flow:{name}") == pytest.approx(0, abs=0.002)  # what is on the way
        assert metric(record, "reordered", f"flow:{name}") == 0
    sent = {flow.name: flow.outcome.packets_sent or 0 for flow in record.flows("udp")}
    share = metric(record, "path_share", "end:switch → server #1")
    # Three frames of LACP at the most are counted, too.
    assert share == pytest.approx(sent["first"] / sum(sent.values()), abs=0.002)


def test_a_bond_in_turn_reorders_where_its_queues_differ(experiment: Experiment) -> None:
    tcp = '[[flow]]\nfrom = "c2"\nto = "server"\n[[flow]]\nfrom = "c3"\nto = "server"\n'
    record = experiment(BONDED.replace("{BOND}", '{ links = 2, mode = "balance-rr" }') + tcp)
    # What a full queue drops was not sent.
    assert metric(record, "path_share", "end:switch → server #1") == pytest.approx(0.5, abs=0.01)
    assert metric(record, "reordered", "flow:first") > 0


def balanced(balance: str, lower: str = "5ms", count: int = 1) -> str:
    return PARALLEL.replace("{BALANCE}", balance).replace("{LOWER}", lower).replace("{COUNT}", str(count))


def test_flows_are_spread_and_each_stays_in_order(experiment: Experiment) -> None:
    record = experiment(balanced("flow", "15ms", count=8))
    assert 0 < metric(record, "path_share", UPPER) < 1
    assert all(metric(record, "reordered", f"flow:{flow.name}") == 0 for flow in record.flows())


def test_packets_in_turn_stay_in_order_on_equal_paths_and_not_on_unequal_ones(
    experiment: Experiment,
) -> None:
    equal, unequal = (experiment(balanced("packet", lower)) for lower in ("5ms", "15ms"))
    for record in (equal, unequal):
        assert metric(record, "path_share", UPPER) == pytest.approx(0.5, abs=0.002)
    assert metric(equal, "reordered", "flow:checked") == 0
    # A datagram of the lower path is 10 ms late, and one is sent every 2.36 ms: those 1 and 3 later pass it,
    # and between them comes the one before it on its own path.
    assert metric(unequal, "reordered", "flow:checked") == pytest.approx(0.5, abs=0.01)
    assert metric(unequal, "reorder_extent_max", "flow:checked") == 3


def test_a_switch_takes_frames_off_their_senders_account(experiment: Experiment) -> None:
    # With the queue on its account a sender could not fill it: its send buffer holds 200 kB.
    record = experiment(
        """
duration = "2s"
[[node]]
name = "switch"
role = "switch"
[[link]]
between = ["a", "switch"]
delay = "100us"
[[link]]
between = ["switch", "b"]
rate = "10mbit"
buffer = "500kB"
[[flow]]
kind = "udp"
rate = "50mbit"
"""
    )
    assert metric(record, "queue_max_bytes", "end:switch → b") == pytest.approx(500_000, abs=1514)

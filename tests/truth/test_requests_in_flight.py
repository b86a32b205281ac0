"""Requests under way at once over one connection: Little's law, and data both ways at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from experiments import metric

if TYPE_CHECKING:
    from experiments import Experiment

pytestmark = pytest.mark.virtual

PAIR = """
duration = "3s"
warmup = "1s"
[[link]]
between = ["a", "b"]
rate = "{rate}"
delay = "10ms"
jitter = "0us"
[[flow]]
name = "one"
kind = "rr"
from = "a"
to = "b"
{flow}
"""
RTT_S = 0.02


@pytest.mark.parametrize("under_way", [2, 10, 100])
def test_so_many_requests_are_answered_in_each_round_trip(experiment: Experiment, under_way: int) -> None:
    record = experiment(PAIR.format(rate="1gbit", flow=f"in_flight = {under_way}"))
    rate = metric(record, "transactions_per_second", "flow:one")
    assert rate == pytest.approx(under_way / RTT_S, rel=0.05)


@pytest.mark.parametrize("size", ["1B", "6kB", "60kB"])
def test_rate_times_time_is_what_is_under_way(experiment: Experiment, size: str) -> None:
    """Little's law, whatever a request waits for."""
    words = f'in_flight = 12\nrequest = "{size}"\nresponse = "{size}"\nstart = "0s"'
    record = experiment(PAIR.format(rate="50mbit", flow=words))
    rows = record.table("transaction", flow=0)
    begin, end = 1_000_000_000, 3_000_000_000
    inside = np.minimum(rows["end_ns"], end) - np.maximum(rows["start_ns"], begin)
    answered = float(inside[inside > 0].sum()) / (end - begin)
    # Those under way at the end have no row: at most twelve of a round trip each.
    missing = 12 * float((rows["end_ns"] - rows["start_ns"])[-1]) / (end - begin)
    assert 12 - missing <= answered <= 12


def test_data_go_both_ways_at_once(experiment: Experiment) -> None:
    words = 'in_flight = 16\nrequest = "20kB"\nresponse = "20kB"'
    record = experiment(PAIR.format(rate="20mbit", flow=words))
    one_way = metric(record, "transactions_per_second", "flow:one") * 20_000 * 8
    # Each direction is full: headers and preamble take 5 to 7 %.
    assert one_way > 0.9 * 20e6


def test_neither_end_waits_for_room_that_the_other_has_to_make(experiment: Experiment) -> None:
    """More is under way than buffers hold: a client that read only after it had asked would never read."""
    words = 'in_flight = 64\nrequest = "2MB"\nresponse = "2MB"\ntransactions = 20'
    record = experiment(PAIR.format(rate="1gbit", flow=words))
    (end,) = record.result.flows
    assert (end.packets_sent, end.packets_received, end.error) == (20, 20, None)
    rows = record.table("transaction", flow=0)
    assert list(rows["seq"]) == list(range(20))


def test_the_schedule_holds_while_there_is_room(experiment: Experiment) -> None:
    record = experiment(PAIR.format(rate="1gbit", flow='in_flight = 8\ninterval = "5ms"'))
    rows = record.table("transaction", flow=0)
    asked = rows["start_ns"][8:]  # the handshake took the time of the first
    assert np.all(np.abs(np.diff(asked) - 5_000_000) < 50_000)


def test_one_at_a_time_is_what_it_was(experiment: Experiment) -> None:
    first, second = (experiment(PAIR.format(rate="1gbit", flow=words)) for words in ("", "in_flight = 1"))
    rows = [record.table("transaction", flow=0) for record in (first, second)]
    assert np.array_equal(rows[0], rows[1])

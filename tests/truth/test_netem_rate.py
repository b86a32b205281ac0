"""netem's `rate` with an overhead for each packet, or in cells: what was possible follows what it counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from experiments import metric

from rushhour.explain import explain
from rushhour.quantities.netem_rate import NetemRate, counts_otherwise, netem_rate
from rushhour.series.netem_bytes import as_counted

if TYPE_CHECKING:
    from experiments import Experiment

SCENARIO = """
duration = "4s"
[topology]
preset = "dumbbell"
rate = "50mbit"
rtt = "20ms"
jitter = "0us"
netem = "rate 10mbit {words} limit 60"
[[flow]]
name = "bulk"
bytes = "2MB"
"""
FULL = 1514
COUNTED = {
    "": FULL,
    "20": FULL + 20,
    "300": FULL + 300,
    "-20": FULL - 20,  # more passes than the rate says
    "20 48 5": 32 * 53,
    "0 53": 29 * 53,
}


@pytest.mark.virtual
@pytest.mark.parametrize("words", COUNTED)
def test_what_is_possible_follows_what_netem_counts(words: str, experiment: Experiment) -> None:
    record = experiment(SCENARIO.format(words=words))
    (flow,) = record.context.flows.values()
    assert flow.bottleneck_bps == round(1e7 * FULL / COUNTED[words])
    (found,) = explain(record)
    assert found.possible_bps == pytest.approx(1e7 * 1448 / COUNTED[words], rel=1e-6)
    # It is full from the third round trip on, whatever it drops of it.
    assert found.shares["path"] > 0.93
    # Slow start costs two round trips of a transfer of 1.7 s.
    assert 1.0 < metric(record, "transfer_time_ratio", "flow:bulk") < 1.03
    assert metric(record, "utilization", "end:left → right, netem") == pytest.approx(1.0, abs=0.025)
    # The queue at its longest, by its bytes and by the round trips of what crossed it.
    seen, felt = (
        metric(record, "queue_delay_max_us", scope) for scope in ("end:left → right, netem", "flow:bulk")
    )
    assert seen == pytest.approx(felt, rel=0.04)


@pytest.mark.virtual
def test_what_its_limit_drops_is_no_chance(experiment: Experiment) -> None:
    record = experiment(SCENARIO.format(words="").replace('bytes = "2MB"', ""))
    (found,) = explain(record)
    assert metric(record, "retransmits", "flow:bulk") > 0
    assert "random_loss" not in {one.cause for one in found.findings}, found.findings


@pytest.mark.virtual
def test_the_idle_round_trip_has_the_time_that_netem_takes(experiment: Experiment) -> None:
    trips = []
    for words in ("", "300"):
        text = SCENARIO.format(words=words).partition("[[flow]]")[0]
        record = experiment(text + '[[flow]]\nname = "echo"\nkind = "ping"\npacket = "1472B"\n')
        rows = record.table("ping")
        trips.append(int(np.min(rows["rx_ns"] - rows["tx_ns"])))
        planned = record.context.flows[0].base_rtt_ns
        assert trips[-1] == pytest.approx(planned, abs=5_000)
    assert trips[1] - trips[0] == pytest.approx(300 * 8 * 100, abs=1_000)


def test_netems_own_words_are_read() -> None:
    assert netem_rate("netem delay 5ms rate 8mbit 20 100 -5 loss 1%") == NetemRate(8_000_000, 20, 100, -5)
    assert netem_rate("netem rate 8mbit limit 100") == NetemRate(8_000_000)
    assert netem_rate("netem delay 5ms") is None
    assert netem_rate("cake bandwidth 8mbit") is None
    assert NetemRate(8_000_000, 20).sent_ns(1514) == 1_534_000
    assert NetemRate(8_000_000, 20, 48, 5).sent_ns(1000) == 22 * 53 * 1000
    assert NetemRate(8_000_000, 8, 48, 5).sent_ns(1000) == 21 * 53 * 1000, "no cell for a rest of nothing"
    assert counts_otherwise("netem rate 8mbit 20", 8e6)
    assert not counts_otherwise("netem rate 8mbit", 8e6)
    assert not counts_otherwise("netem rate 8mbit 20", 5e6), "a shaper before it is narrower"


def test_bytes_are_counted_by_what_they_come_in() -> None:
    sizes, packets = np.array([1000, 1000, 1300]), np.array([1, 1, 4])
    cells = NetemRate(1, 0, 100, 10)
    assert as_counted(sizes, packets, None, so_far=True).tolist() == [1000, 1000, 1300]
    assert as_counted(sizes, packets, cells, so_far=True).tolist() == [1100, 1100, 1430]
    assert as_counted(sizes, packets, NetemRate(1, 20)).tolist() == [1020, 1020, 1380]
    assert as_counted(np.array([0]), np.array([0]), cells).tolist() == [0]

"""PAUSE, live: nothing is dropped behind a port that stands still, and all that is in it is held."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from experiments import metric

if TYPE_CHECKING:
    from experiments import Experiment

pytestmark = pytest.mark.virtual

SWITCHED = """
duration = "2s"
warmup = "500ms"
[[node]]
name = "switch"
role = "switch"
[[link]]
name = "up"
between = ["s", "switch"]
rate = "100mbit"
buffer = "2000p"
shape_at = "sender"
forward = { pause = PAUSE }
[[link]]
name = "down"
between = ["switch", "slow"]
rate = "10mbit"
buffer = "60kB"
shape_at = "sender"
[[link]]
between = ["switch", "fast"]
rate = "100mbit"
buffer = "60kB"
shape_at = "sender"
[[flow]]
name = "to-slow"
kind = "udp"
rate = "40mbit"
packet = "1448B"
duration = "1900ms"
from = "s"
to = "slow"
[[flow]]
name = "to-fast"
kind = "udp"
rate = "40mbit"
packet = "1448B"
duration = "1900ms"
from = "s"
to = "fast"
"""


def test_without_it_the_slow_port_drops_and_the_fast_one_has_its_own(experiment: Experiment) -> None:
    record = experiment(SWITCHED.replace("PAUSE", "false"))
    assert metric(record, "drops", "total") > 1000
    assert metric(record, "goodput_steady_bps", "flow:to-fast") == pytest.approx(40e6, rel=0.01)
    assert not record.has("pauses")


def test_with_it_nothing_is_dropped_and_the_fast_one_waits_behind_the_slow_one(
    experiment: Experiment,
) -> None:
    record = experiment(SWITCHED.replace("PAUSE", "true"))
    assert metric(record, "drops", "total") == 0
    # One packet in two is for each, so both pass at the slow one's pace: 1448 of 1490 bytes of 10 Mbit/s.
    slow = metric(record, "goodput_steady_bps", "flow:to-slow")
    assert slow == pytest.approx(10e6 * 1448 / 1490, rel=0.01)
    assert metric(record, "goodput_steady_bps", "flow:to-fast") == pytest.approx(slow, rel=0.05)
    # Twice 10 Mbit/s of 100: the port stands still for four fifths of the time.
    (port,) = (value for value in record.metrics() if value.metric == "paused_pct")
    assert port.value == pytest.approx(80, abs=4)
    # Three quarters of 60 kB stop it; what is under way then comes in still, and no more.
    (deepest,) = (
        value.value
        for value in record.metrics()
        if value.metric == "queue_max_bytes" and "slow" in value.scope and "switch →" in value.scope
    )
    assert 45_000 <= (deepest or 0) < 60_000


def test_it_is_the_same_to_the_byte_each_time(experiment: Experiment) -> None:
    text = SWITCHED.replace("PAUSE", "true")
    one, other = experiment(text, fresh=True), experiment(text, fresh=True)
    assert one.table("pauses").tobytes() == other.table("pauses").tobytes()
    assert one.table("udp").tobytes() == other.table("udp").tobytes()

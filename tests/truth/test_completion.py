"""Flows that come and go: what theory says of a lone one, and of many that share a link."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from experiments import metric

if TYPE_CHECKING:
    from experiments import Experiment

pytestmark = pytest.mark.virtual

MSS, FRAME = 1448, 1514


def test_a_lone_flow_takes_its_handshake_and_its_slow_start(experiment: Experiment) -> None:
    """90 kB are 63 segments: 10, 20 and 33 in three rounds (RFC 6928), so 1 + 2 + 1/2 round trips of 100 ms.

    The third round has room for 40, so no delayed ACK holds anything back. At 10 Gbit/s a frame takes 1.2 us;
    what all of them take bounds what their sending adds, and a step of the kernel costs under a microsecond.
    """
    record = experiment("""
        duration = "2s"
        topology = { preset = "dumbbell", rate = "10gbit", rtt = "100ms", jitter = "0us" }
        flow = [{ name = "one", start = "100ms", bytes = "90kB", cc = "reno" }]
    """)
    took_us = 1e6 * metric(record, "flow_completion_time_s", "flow:one")
    frames_us = 63 * FRAME * 8 / 1e4
    assert 350_000 <= took_us <= 350_000 + frames_us + 20


def test_a_flow_within_its_first_window_takes_the_least_there_is(experiment: Experiment) -> None:
    """Ten segments leave at once: slowdown is 1 but for steps of a microsecond in 41 ms."""
    record = experiment("""
        duration = "3s"
        topology = { preset = "dumbbell", rate = "10mbit", rtt = "20ms", jitter = "0us" }
        [[flow]]
        name = "mice"
        duration = "2s"
        arrivals = { process = "constant", rate = "5/s" }
        size = "14480B"
    """)
    assert metric(record, "flows_completed", "group:mice") == 10
    assert metric(record, "slowdown_min", "group:mice") == pytest.approx(1, abs=1e-4)
    assert metric(record, "slowdown_max", "group:mice") == pytest.approx(1, abs=1e-4)


def test_many_share_a_link_as_a_processor_would(experiment: Experiment) -> None:
    """Poisson arrivals at a load of a half that share fairly: a flow takes 1 / (1 - load) as long on average.

    That is processor sharing (M/G/1-PS; Kleinrock 1967), whatever the law of sizes. TCP adds its rounds and
    shares only roughly: a round trip of 2 ms is a tenth of what a flow of 250 kB takes alone at 100 Mbit/s. A
    band of a third around 2 holds that, and the chance of 500 flows.
    """
    record = experiment("""
        duration = "21s"
        topology = { preset = "dumbbell", rate = "100mbit", rtt = "2ms", queue = "fq_codel" }
        readings = { tcp_probe = false, tcp_info = false }
        [[flow]]
        name = "jobs"
        duration = "20s"
        arrivals = { load = 0.5 }
        size = { distribution = "exponential", mean = "250kB" }
    """)
    assert metric(record, "offered_load", "group:jobs") == pytest.approx(0.5, rel=0.1)
    assert 1.5 < metric(record, "slowdown_mean", "group:jobs") < 2.7


def test_a_source_that_pauses_sends_only_while_it_is_on(experiment: Experiment) -> None:
    record = experiment("""
        duration = "2s"
        topology = { preset = "dumbbell", rate = "10mbit", rtt = "10ms", jitter = "0us" }
        [[flow]]
        name = "talk"
        kind = "udp"
        rate = "1mbit"
        packet = "500B"
        burst = 5
        on = "200ms"
        off = "300ms"
    """)
    tx_ms = record.table("udp", flow=0)["tx_ns"] / 1e6
    # 1 Mbit/s is a datagram of 500 bytes each 4 ms, five of them each 20 ms; four periods of 200 ms.
    assert len(tx_ms) == 4 * 50
    assert all(at % 500 < 200 for at in tx_ms)
    assert all(abs(at % 20) < 0.01 for at in tx_ms)


def test_answers_of_many_collapse_behind_a_small_buffer(experiment: Experiment) -> None:
    """Incast: 16 servers, 32 kB of buffer. A timer of 200 ms holds up a query that takes 35 ms."""
    text = """
        duration = "2s"
        readings = { tcp_probe = false, interface = false }
        [topology]
        preset = "star"
        leaves = 16
        rate = "1gbit"
        access_rate = "1gbit"
        rtt = "200us"
        buffer = "BUFFER"
        [[flow]]
        name = "query"
        kind = "rr"
        from = "r1"
        count = 16
        interval = "1s"
        request = "100B"
        response = "256kB"
    """
    small, large = (experiment(text.replace("BUFFER", buffer)) for buffer in ("32kB", "1MB"))
    assert metric(small, "query_completion_time_max_us", "group:query") > 200_000
    assert metric(large, "query_completion_time_max_us", "group:query") < 40_000
    assert metric(large, "drops") == 0 < metric(small, "drops")

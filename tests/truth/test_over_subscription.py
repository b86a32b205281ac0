"""The laws behind Tomašov's tables: bursts against a buffer, a ping that waits, RED's line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from experiments import metric

from rushhour.models import red

if TYPE_CHECKING:
    from experiments import Experiment

pytestmark = pytest.mark.virtual

LINE = 100e6
FRAME_S = 1490 * 8 / LINE  # of a datagram of 1448 bytes, as tbf counts it


def test_bursts_in_step_lose_what_outlasts_the_buffer(experiment: Experiment) -> None:
    """Two bursts of T at line rate on one such line: it carries T and what the buffer holds, of 2T.

    Within one percentage point: the buffer's share of 2T is counted to a packet in some three hundred.
    """
    record = experiment("""
        duration = "1.05s"
        [topology]
        preset = "dumbbell"
        pairs = 3
        rate = "100mbit"
        access_rate = "100mbit"
        rtt = "1ms"
        buffer = "100p"
        [[flow]]
        name = "burst"
        kind = "udp"
        count = 2
        packet = "1448B"
        rate = "1gbit"
        on = "4ms"
        off = "96ms"
        duration = "1s"
        [[flow]]
        name = "echo"
        kind = "ping"
        from = "s3"
        to = "r3"
        packet = "1448B"
        interval = "1ms"
        patience = "10ms"
        duration = "1s"
    """)
    burst = 500_000 / 1448 * FRAME_S
    assert metric(record, "loss") == pytest.approx(1 - (burst + 100 * FRAME_S) / (2 * burst), abs=0.01)
    # Waiting 10 ms for an answer at most, it asks once in an idle round trip where the queue is empty:
    # 1 ms, and the frame is sent on two lines in each direction.
    gaps = np.diff(np.sort(record.table("ping")["tx_ns"])) / 1e6
    assert gaps.min() == pytest.approx(1.0 + 4 * FRAME_S * 1e3, abs=0.2)
    assert 5 < gaps.max() < 10.1
    # The fullest buffer that a request met is full: idle path and 100 packets, within two of them.
    longest = record.series("ping_rtt_us", flow=2).values
    assert np.nanmax(longest) == pytest.approx(1e3 + 104 * FRAME_S * 1e6, abs=2.5 * FRAME_S * 1e6)


def test_red_holds_an_overload_where_its_line_drops_the_excess(experiment: Experiment) -> None:
    """Mean queue of Floyd and Jacobson's RED (1993, section 7) for a load of 1.1, within 3 %."""
    record = experiment("""
        duration = "6s"
        warmup = "2s"
        sample = "10ms"
        [topology]
        preset = "dumbbell"
        rate = "100mbit"
        rtt = "4ms"
        buffer = "530kB"
        queue = "red limit 530000 min 50000 max 250000 avpkt 1490 burst 79 probability 0.1"
        [[flow]]
        name = "load"
        kind = "udp"
        packet = "1448B"
        rate = "106899329bit"
    """)
    queue = red.mean_queue_bytes(1 - 1 / 1.1, 50e3, 250e3, 0.1)
    (end,) = [end.end for end in record.context.ends.values() if end.role == "queue" and end.node == "left"]
    series = record.series("queue_bytes", end=end)
    assert series.values[series.t_s > 2].mean() == pytest.approx(queue, rel=0.03)

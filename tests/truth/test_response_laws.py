"""Response laws of theory against the kernel: PFTK, HighSpeed's decrease, DCTCP's sawtooth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from experiments import metric

from rushhour.models import dctcp, highspeed, mathis, pftk

if TYPE_CHECKING:
    from experiments import Experiment

    from rushhour.record.record import Record

pytestmark = pytest.mark.virtual

MSS, FRAME = 1448, 1514


def lost_share(record: Record) -> float:
    """The fraction of packets that the wire lost in truth, rather than the one that was asked."""
    wire = record.table("wire")
    rows = [wire[wire["end"] == end][-1] for end in np.unique(wire["end"])]
    last = max(rows, key=lambda row: row["lost"])
    return float(last["lost"] / last["packets"])


@pytest.mark.parametrize(("loss", "above"), [("1%", 1.2), ("2%", 1.25), ("5%", 1.4)])
def test_reno_lies_between_pftk_and_the_root_law(experiment: Experiment, loss: str, above: float) -> None:
    """PFTK (1 - p) ≤ goodput ≤ MSS/R · 1.31/√p at 100 ms.

    PFTK's sender finds many losses by timeouts and takes all behind a loss in its round for lost; Linux with
    SACK, RACK and tail-loss probes has next to no timeouts and loses packets one by one. So it is above, and
    more so the more losses share a round: measured 1.12, 1.15, 1.29 times.
    """
    record = experiment(f"""
        duration = "200s"
        warmup = "5s"
        sample = "500ms"
        topology = {{ preset = "dumbbell", rate = "20mbit", rtt = "100ms", buffer = "4bdp", loss = "{loss}" }}
        flow = [{{ name = "one", cc = "reno" }}]
        readings = {{ events = false }}
    """)
    p, rtt = lost_share(record), metric(record, "srtt_mean_us", "flow:one") / 1e6
    goodput = metric(record, "goodput_steady_bps")
    theory = (1 - p) * pftk.full_rate_bps(MSS, rtt, p, pftk.timeout_s(rtt))
    assert theory <= goodput <= above * theory
    assert goodput <= mathis.rate_bps(MSS, rtt, p, mathis.RANDOM)


def test_highspeed_decreases_by_its_table(experiment: Experiment) -> None:
    """ssthresh = w - w·b(w), b by appendix B of RFC 3649 as in tcp_highspeed.c; half in slow start.

    The kernel looks its step up while it avoids congestion, so the loss in slow start meets the first step.
    """
    record = experiment("""
        duration = "7s"
        sample = "100ms"
        sysctl = { "net.ipv4.tcp_rmem" = "4096 131072 67108864", "net.ipv4.tcp_wmem" = "4096 65536 67108864" }
        [topology]
        preset = "dumbbell"
        rate = "100mbit"
        rtt = "100ms"
        buffer = "3bdp"
        drop = [1500, 20000, 40000]
        [[flow]]
        name = "one"
        cc = "highspeed"
    """)
    cwnd, ssthresh = record.series("snd_cwnd", flow=0), record.series("ssthresh", flow=0)
    losses = record.table("tcp_retransmit_skb")["t_ns"] / 1e9
    assert len(losses) == 3
    befores = [float(cwnd.values[cwnd.t_s <= at][-1]) for at in losses]
    afters = [float(ssthresh.values[ssthresh.t_s > at + 1e-6][0]) for at in losses]
    assert min(befores) > 500
    shares = [0.5, *(highspeed.linux_decrease(window) for window in befores[1:])]
    assert max(shares[1:]) < 0.37
    for before, after, share in zip(befores, afters, shares, strict=True):
        assert after == pytest.approx(before * (1 - share), abs=1.5)


def test_dctcp_swings_around_its_threshold(experiment: Experiment) -> None:
    """The queue swings between K + 1 - A and K + 1, alpha is at most that of the fluid model (Alizadeh 2010).

    Marks by each packet's own wait (CoDel's ce_threshold; its law is out of reach) at 2 ms, K = 16.5 frames.
    Delayed ACKs release segments in pairs and hold the last one back: three frames more on either side. The
    model marks a whole round; Linux begins to reduce at the first mark, so fewer are marked: measured 0.7 of
    its alpha.
    """
    record = experiment("""
        duration = "4s"
        sample = "2ms"
        ecn = true
        [topology]
        preset = "dumbbell"
        rate = "100mbit"
        rtt = "10ms"
        jitter = "0us"
        buffer = "4bdp"
        queue = "codel target 10s interval 10s ce_threshold 2ms ecn"
        [[flow]]
        name = "one"
        cc = "dctcp"
        receiver_cc = "dctcp"
    """)
    rate, rtt = 100e6 / (8 * FRAME), 0.01
    threshold = 0.002 * rate
    assert dctcp.outside(rate, rtt, threshold) is None
    queue = record.series("queue_packets", end=record.context.flows[0].bottleneck_end)
    settled = queue.values[queue.t_s > 1.5]
    low, high = dctcp.queue_range(rate, rtt, threshold)
    assert low - 3 <= settled.min()
    assert high - 3 <= settled.max() <= high + 3
    alpha = record.series("dctcp_alpha", flow=0)
    theory = dctcp.alpha(dctcp.critical_window(rate, rtt, threshold))
    assert 0.6 * theory <= alpha.values[alpha.t_s > 1.5].mean() <= theory
    assert metric(record, "retransmits") == 0


def test_dctcp_without_a_dctcp_receiver_is_reno(experiment: Experiment) -> None:
    """The kernel falls back to Reno (dctcp_reno): ACK for ACK the same windows under the same losses."""

    def windows(cc: str) -> tuple[list[float], list[float]]:
        record = experiment(f"""
            duration = "3s"
            topology = {{ preset = "dumbbell", rate = "10mbit", rtt = "40ms", loss = "1%" }}
            flow = [{{ name = "one", cc = "{cc}" }}]
        """)
        series = record.series("snd_cwnd", flow=0)
        assert len(record.table("tcp_retransmit_skb")) > 5
        return list(series.t_s), list(series.values)

    assert windows("dctcp") == windows("reno")


def test_slow_start_stops_at_twice_what_is_in_flight(experiment: Experiment) -> None:
    """In slow start the window grows only while it is below twice the packets out (tcp_is_cwnd_limited)."""
    record = experiment("""
        duration = "4s"
        topology = { preset = "dumbbell", rate = "10mbit", rtt = "10ms", buffer = "2000p", jitter = "0us" }
        flow = [{ name = "one", cc = "reno", rcvbuf = "400kB" }]
    """)
    out = record.series("inflight", flow=0).values.max() / MSS
    assert metric(record, "cwnd_max_segments", "flow:one") == pytest.approx(2 * out, abs=2)
    assert metric(record, "retransmits") == 0

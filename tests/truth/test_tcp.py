"""TCP's own laws: growth, reduction, windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from experiments import metric

if TYPE_CHECKING:
    from experiments import Experiment
    from numpy.typing import NDArray

    from rushhour.record.record import Record

pytestmark = pytest.mark.virtual

MSS = 1448
# beta and C of Linux's CUBIC: 717/1024, bic_scale 41 · 10 / 1024 (net/ipv4/tcp_cubic.c); RFC 9438: 0.7, 0.4.
CUBIC_BETA = 717 / 1024
CUBIC_C = 410 / 1024


def reduction(record: Record) -> tuple[float, float, float]:
    """When the first loss was repaired (s), the window before it, and the threshold it set (segments).

    HyStart sets a threshold too, so the first retransmission marks the loss; a row of `tcp_probe` shows the
    state before its ACK is processed.
    """
    cwnd, ssthresh = record.series("snd_cwnd", flow=0), record.series("ssthresh", flow=0)
    at = record.table("tcp_retransmit_skb")["t_ns"][0] / 1e9
    return (
        float(at),
        float(cwnd.values[cwnd.t_s <= at][-1]),
        float(ssthresh.values[ssthresh.t_s > at + 1e-6][0]),
    )


def test_slow_start_doubles_from_ten(experiment: Experiment) -> None:
    """After r round trips 10·2^r segments may be in flight (RFC 6928, RFC 5681, counting as RFC 3465)."""
    record = experiment("""
        duration = "1s"
        topology = { preset = "dumbbell", rate = "1gbit", rtt = "100ms", buffer = "1bdp", jitter = "0us" }
        flow = [{ name = "one", cc = "reno" }]
    """)
    cwnd = record.series("snd_cwnd", flow=0)
    for trips in range(6):
        # The connection takes one trip, each round another. A row shows the window before its ACK is
        # processed, so the first one of a round shows what the round before has grown.
        first = np.flatnonzero(cwnd.t_s > 0.1 * (trips + 2) - 0.001)[0]
        assert cwnd.values[first] == 10 * 2**trips


@pytest.mark.parametrize(("cc", "beta"), [("reno", 0.5), ("cubic", CUBIC_BETA)])
def test_one_loss_reduces_by_beta(experiment: Experiment, cc: str, beta: float) -> None:
    """ssthresh = β · cwnd at a single loss, rounded down (RFC 5681; RFC 9438 section 4.6)."""
    record = experiment(f"""
        duration = "5s"
        topology = {{ preset = "dumbbell", rate = "100mbit", rtt = "40ms", buffer = "4bdp", drop = [3000] }}
        flow = [{{ name = "one", cc = "{cc}" }}]
    """)
    _, before, after = reduction(record)
    assert after == pytest.approx(before * beta, abs=1)


def cubic(t: NDArray[np.float64], c: float, k: float, w_max: float) -> NDArray[np.float64]:
    """W(t) = C·(t - K)³ + W_max (RFC 9438, equation 1)."""
    result: NDArray[np.float64] = c * (t - k) ** 3 + w_max
    return result


def test_cubic_grows_with_its_constant(experiment: Experiment) -> None:
    """The window after a single loss follows W(t) = C·(t - K)³ + W_max with C = 410/1024."""
    from scipy.optimize import curve_fit  # noqa: PLC0415 - slow to import, and only used here

    record = experiment("""
        duration = "14s"
        topology = { preset = "dumbbell", rate = "200mbit", rtt = "100ms", buffer = "2bdp", drop = [9000] }
        flow = [{ name = "one", cc = "cubic" }]
        # Windows beyond the defaults, or they and not CUBIC would limit.
        sysctl = { "net.ipv4.tcp_rmem" = "4096 131072 67108864", "net.ipv4.tcp_wmem" = "4096 65536 67108864" }
    """)
    start, before, after = reduction(record)
    cwnd = record.series("snd_cwnd", flow=0)
    # From the end of recovery on; one value a round trip, so that dense ACKs weigh no more than sparse ones.
    times = np.arange(start + 0.5, 13.5, 0.1)
    windows = cwnd.values[np.searchsorted(cwnd.t_s, times) - 1]
    k = np.cbrt((before - after) / CUBIC_C)
    fit, _ = curve_fit(cubic, times - start, windows, p0=[CUBIC_C, k, before])
    assert fit[0] == pytest.approx(CUBIC_C, rel=0.03)
    assert fit[2] == pytest.approx(before, rel=0.02)


def test_the_receivers_buffer_bounds_goodput_by_window_over_rtt(experiment: Experiment) -> None:
    """Goodput = rcv_wnd / RTT when the receiver's buffer limits (RFC 6349, 3.3.1)."""
    record = experiment("""
        duration = "6s"
        warmup = "2s"
        topology = { preset = "dumbbell", rate = "1gbit", rtt = "50ms", buffer = "1bdp", jitter = "0us" }
        flow = [{ name = "one", rcvbuf = "100kB" }]
    """)
    window = record.series("snd_wnd", flow=0).values[-1]
    goodput = metric(record, "goodput_steady_bps")
    # Whole segments only: of the window, up to one segment stays unused.
    assert (window - MSS) * 8 / 0.0501 <= goodput <= window * 8 / 0.05
    assert metric(record, "limited_rwnd_pct", "flow:one") > 90


@pytest.mark.parametrize("loss", [1e-2, 1e-3, 1e-4])
def test_reno_follows_mathis(experiment: Experiment, loss: float) -> None:
    """BW = MSS/RTT · C/√p with 1.2 ≤ C ≤ 1.35, p the loss that happened.

    Mathis et al. 1997: 1.22 for periodic, 1.31 for random loss; Linux counts acknowledged segments, so
    delayed ACKs do not lower it.
    """
    seconds = {1e-2: 400, 1e-3: 400, 1e-4: 800}[loss]
    record = experiment(f"""
        duration = "{seconds}s"
        warmup = "10s"
        sample = "100ms"
        topology = {{ preset = "dumbbell", rate = "100mbit", rtt = "40ms", buffer = "4bdp", loss = {loss} }}
        flow = [{{ name = "one", cc = "reno" }}]
        readings = {{ tcp_probe = false }}
    """)
    wire = record.table("wire")
    lossy = [end for end in np.unique(wire["end"]) if wire["lost"][wire["end"] == end].max() > 0]
    last = wire[wire["end"] == lossy[0]][-1]
    p = last["lost"] / last["packets"]
    # The round trip that clocks the window: delayed ACKs (40 ms for an odd last segment) are part of it.
    rtt = metric(record, "srtt_mean_us", "flow:one") / 1e6
    constant = metric(record, "goodput_steady_bps") * rtt / (8 * MSS) * np.sqrt(p)
    assert 1.2 <= constant <= 1.35

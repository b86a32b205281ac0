"""Links that change while packets pass, live: each change comes when it was asked for and loses nothing.

The flows are paced datagrams and echoes, which do not react: what the link does to them is the link alone.
"""

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

MS = 1_000_000
FRAME = 1514
LINK = """
duration = "{duration}s"
sample = "5ms"
[topology]
preset = "dumbbell"
rate = "20mbit"
rtt = "20ms"
jitter = "0us"
buffer = "1MB"
shaper = "{shaper}"
[[flow]]
name = "datagrams"
kind = "udp"
rate = "{rate}"
duration = "{sends}s"
[readings]
tcp_info = false
"""


def link(rate: str, *, sends: int = 4, shaper: str = "htb") -> str:
    """Datagrams for so many seconds, and a second more for those under way."""
    return LINK.format(rate=rate, sends=sends, duration=sends + 1, shaper=shaper)


def arrivals(record: Record) -> NDArray[np.int64]:
    found: NDArray[np.int64] = record.table("udp")["rx_ns"].astype(np.int64)
    return found


def waiting(record: Record, at_s: float) -> float:
    """Bytes in the bottleneck's queue at a reading, which is taken within a microsecond or two of `at_s`."""
    series = record.series("queue_bytes", end=record.context.flows[0].bottleneck_end)
    return float(series.values[int(np.argmin(np.abs(series.t_s - at_s)))])


@pytest.mark.parametrize("shaper", ["htb", "tbf"])
def test_a_queue_grows_and_drains_by_the_difference_of_rates(experiment: Experiment, shaper: str) -> None:
    """Backlog(t) = (offered - rate) · t, conserved over the changes of rate; no datagram is lost."""
    record = experiment(
        link("14.578mbit", sends=2, shaper=shaper)  # of payload: frames at 15 Mbit/s
        + '[[pattern]]\nkey = "rate"\nsteps = [["500ms", "5mbit"], ["1s", "20mbit"]]\n'
    )
    offered = 14.578e6 * FRAME / 1472
    peak = (offered - 5e6) * 0.5 / 8
    assert waiting(record, 0.999) == pytest.approx(peak * 0.998, abs=3 * FRAME)
    assert waiting(record, 1.3) == pytest.approx(peak - (20e6 - offered) * 0.3 / 8, abs=4 * FRAME)
    assert metric(record, "loss", "flow:datagrams") == 0
    assert metric(record, "queue_max_bytes", "end:left → right") == pytest.approx(peak, abs=3 * FRAME)


def test_nothing_is_sent_in_an_outage_and_it_ends_at_its_instant(experiment: Experiment) -> None:
    record = experiment(
        link("5mbit", sends=3)
        + '[[pattern]]\nkey = "rate"\ndirection = "forward"\nsteps = [["1s", "0bit"], ["1700ms", "20mbit"]]\n'
    )
    seen = arrivals(record) - 10 * MS  # of the wire behind the link
    # What had begun before it is sent whole.
    frame_ns = FRAME * 8e9 / 5e6
    assert len(seen[(seen > 1000 * MS + frame_ns + 1000) & (seen < 1700 * MS)]) == 0
    # The shaper lets one frame pass, which waits on the wire; the next goes when that one has paid for the
    # outage, from when it came; the others follow at the link's new rate.
    after = seen[seen >= 1700 * MS]
    assert after[0] == pytest.approx(1700 * MS + FRAME * 8e9 / 20e6, abs=5000)
    assert after[1] - after[0] < 2 * FRAME * 8e9 / 5e6
    gaps = np.diff(after[1:100])
    assert gaps.mean() == pytest.approx(FRAME * 8e9 / 20e6, rel=1e-3)
    assert metric(record, "loss", "flow:datagrams") == 0


def test_delay_follows_its_steps_exactly_and_no_packet_overtakes(experiment: Experiment) -> None:
    record = experiment(
        link("2mbit", sends=3)
        + '[[pattern]]\nkey = "delay"\ndirection = "forward"\nsteps = [["1s", "50ms"], ["2s", "5ms"]]\n'
    )
    rows = record.table("udp")
    sent, took = rows["tx_ns"].astype(np.int64), (rows["rx_ns"] - rows["tx_ns"]).astype(np.int64)
    for begin, done, delay in ((0, 1000, 10), (1000, 2000, 50), (2050, 3000, 5)):
        part = took[(sent >= begin * MS) & (sent < done * MS)]
        least = delay * MS + FRAME * 8e9 / 20e6
        assert part.min() >= least
        assert part.max() <= least + 10_000
    assert (np.diff(rows["rx_ns"].astype(np.int64)) >= 0).all()
    assert (np.diff(rows["seq"].astype(np.int64)) == 1).all()
    # What was sent in the 45 ms after the step down waits for the last packet of the longer way.
    behind = rows["rx_ns"][(sent >= 2001 * MS) & (sent < 2040 * MS)].astype(np.int64)
    assert behind.max() - behind.min() < MS


def test_loss_holds_between_its_instants_only(experiment: Experiment) -> None:
    record = experiment(
        link("10mbit", sends=3) + '[[pattern]]\nkey = "loss"\nsteps = [["1s", "100%"], ["1500ms", "0%"]]\n'
    )
    sent = record.table("udp")["tx_ns"].astype(np.int64)
    assert not ((sent > 1000 * MS) & (sent < 1500 * MS)).any()
    assert metric(record, "loss", "flow:datagrams") == pytest.approx(0.5 / 3, rel=0.003)
    series = record.series("link_loss", end="right → r1")
    assert series.values.tolist() == [0, 1, 0]
    assert series.t_s == pytest.approx([0, 1, 1.5], abs=1e-5)


def test_capacity_that_varies_is_used_up_and_measured_as_such(experiment: Experiment) -> None:
    """A link overloaded all the time carries what its rate allows: utilization is 1 whatever the pattern."""
    record = experiment(
        link("60mbit")
        + '[[pattern]]\nkey = "rate"\ndirection = "forward"\n'
        + 'sine = { mean = "20mbit", amplitude = "15mbit", period = "2s", every = "10ms" }\n'
    )
    # A frame that has begun is done at its old rate, so a change may win or lose a part of one.
    assert metric(record, "utilization", "end:left → right") == pytest.approx(1, abs=0.002)
    assert len(record.table("changes")) > 350


STEPS = """
duration = "8s"
[topology]
preset = "dumbbell"
rate = "100mbit"
rtt = "20ms"
[[flow]]
name = "window"
cc = "cubic"
rcvbuf = "50kB"
[[pattern]]
key = "rtt"
steps = [["0s", "20ms"], ["2s", "200ms"], ["4s", "20ms"], ["6s", "60ms"]]
"""


def test_a_change_of_delay_is_no_queue_delay(experiment: Experiment) -> None:
    """A window far below the path's: nothing waits for more than its own burst, whatever the delay does.

    The window of 60 kB takes 5 ms at 100 Mbit/s. Against the idle RTT of the instant the estimate, which
    lags, is 164 ms too low after the fall and as much too high after the rise.
    """
    series = experiment(STEPS).series("srtt_queue_delay_us", flow="window")

    # Jitter of 0.1 ms each way, which the estimate may lag behind.
    assert series.values.min() > -0.5e3
    # An ACK waits for the second frame, 0.12 ms; the last of an odd window for the receiver's timer, 40 ms
    # (Linux 6.1 keeps such a window here): some eighths of that.
    assert series.values.max() < 18e3
    assert abs(float(np.median(series.values))) < 1.5e3

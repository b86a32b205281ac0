"""Looking does not change what is seen: how far runs with and without readings agree.

Every reading but one costs the experiment nothing. `tcp_probe` does: its event is stamped by reading the
clock, which moves virtual time on by 256 ns where the ACK is handled in process context (the sender's socket
was locked when it came). Nothing can be done about it without patching the kernel: the trace clocks that cost
nothing have the resolution of a tick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from experiments import Experiment
    from numpy.typing import NDArray

    from rushhour.record.record import Record

pytestmark = pytest.mark.virtual

READINGS = ("tcp_probe", "events", "tcp_info", "qdisc", "interface")
CLOCK_STEP_NS = 256

# Losses and a full queue: the slightest shift ends up in another packet being dropped.
CONTENDED = """
    duration = "5s"
    topology = { preset = "dumbbell", rate = "100mbit", rtt = "20ms", buffer = "100kB", loss = 0.0001 }
    [[flow]]
    cc = "cubic"
    [[flow]]
    cc = "reno"
    [[flow]]
    bytes = "1MB"
    start = "1s"
    [[flow]]
    kind = "udp"
    rate = "5mbit"
"""

# Windows below the path's BDP: nothing is lost, so that a shift stays a shift.
UNHURRIED = """
    duration = "5s"
    topology = { preset = "dumbbell", rate = "100mbit", rtt = "20ms" }
    [[flow]]
    cc = "cubic"
    rcvbuf = "50kB"
    [[flow]]
    bytes = "1MB"
    start = "1s"
    rcvbuf = "50kB"
    [[flow]]
    kind = "udp"
    rate = "5mbit"
"""


def observed(experiment: Experiment, text: str, *readings: str) -> Record:
    words = "\n".join(f"{name} = {str(name in readings).lower()}" for name in READINGS)
    return experiment(f"{text}\n[readings]\n{words}\n")


def ends(record: Record) -> list[Any]:
    """What became of each flow: bytes and times."""
    flows: list[Any] = record.result["flows"]
    return flows


def amounts(record: Record) -> list[tuple[int, int]]:
    return [(flow["bytes_sent"], flow["bytes_received"]) for flow in ends(record)]


def arrivals(record: Record) -> NDArray[np.int64]:
    return np.array(record.table("udp")["rx_ns"], np.int64)


def test_all_readings_but_tcp_probe_change_nothing(experiment: Experiment) -> None:
    """Bytes, completion times and the arrival of every datagram are the same, to the last bit."""
    unseen = observed(experiment, CONTENDED)
    seen = observed(experiment, CONTENDED, *READINGS[1:])
    assert len(seen.table("tcp_info")) > 100
    assert len(seen.table("tcp_retransmit_skb")) > 0
    assert ends(seen) == ends(unseen)
    assert seen.table("udp").tobytes() == unseen.table("udp").tobytes()


def test_tcp_probe_shifts_times_by_steps_of_the_clock(experiment: Experiment) -> None:
    """Without losses all amounts are the same, and a flow ends at most some steps of the clock apart."""
    unseen = observed(experiment, UNHURRIED)
    seen = observed(experiment, UNHURRIED, *READINGS)
    assert len(seen.table("tcp_probe")) > 1000
    assert amounts(seen) == amounts(unseen)
    apart = ends(seen)[1]["receiver_done_ns"] - ends(unseen)[1]["receiver_done_ns"]
    assert abs(apart) <= 8 * CLOCK_STEP_NS
    # A datagram may meet a packet more or fewer in front of it: 121 µs at 100 Mbit/s each.
    shifts = np.abs(arrivals(seen) - arrivals(unseen))
    assert np.median(shifts) <= 8 * CLOCK_STEP_NS
    assert shifts.max() <= 4 * 121_120


def test_with_losses_tcp_probe_makes_another_sample_of_the_same_law(experiment: Experiment) -> None:
    """One step of the clock can decide which packet a full queue drops; totals agree all the same."""
    unseen, seen = observed(experiment, CONTENDED), observed(experiment, CONTENDED, *READINGS)
    totals = [sum(received for _, received in amounts(record)) for record in (unseen, seen)]
    assert totals[1] == pytest.approx(totals[0], rel=0.02)

"""Datagrams at a constant rate leave by the schedule n · 8 · bytes / rate, whatever goes on beside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from experiments import Experiment
    from numpy.typing import NDArray

    from rushhour.record.record import Record

pytestmark = pytest.mark.virtual

STEP_NS = 256
BYTES = 1448
SECONDS = 2
# What is sent in the last 100 ms would still be on its way.
SENDING_MS = 1900


def due(record: Record, flow: int, rate_bps: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """When each datagram that came says it was sent, and when it was due."""
    rows = record.table("udp", flow=flow)
    seq = rows["seq"].astype(object)
    return rows["tx_ns"].astype(np.int64), (seq * BYTES * 8 * 10**9 // rate_bps).astype(np.int64)


def streams(rates: list[int], access: str = "") -> str:
    lines = ",\n".join(
        f'{{ kind = "udp", packet = "{BYTES}B", rate = "{rate}bit", duration = "{SENDING_MS}ms" }}'
        for rate in rates
    )
    return f"""
        duration = "{SECONDS}s"
        sample = "10ms"
        topology.preset = "dumbbell"
        topology.pairs = {len(rates)}
        topology.rate = "1gbit"
        topology.rtt = "2ms"
        topology.jitter = "0us"
        topology.buffer = "1MB"
        {access}
        flow = [
        {lines}
        ]
    """


# Two that are due at the same instants, one every 257 422.2 ns, one whose schedule does not soon repeat.
RATES = [40_000_000, 40_000_000, 45_000_000, 39_999_999]


def test_each_leaves_at_the_first_steps_of_the_clock_after_it_is_due(experiment: Experiment) -> None:
    record = experiment(streams(RATES))
    for flow, rate in enumerate(RATES):
        tx, at = due(record, flow, rate)
        assert len(tx) == -(-SENDING_MS * rate // (BYTES * 8000)), "all of the schedule, and none is lost"
        late = tx - at
        # A step for the timer, one for the clock's reading; more where several processes are due at once.
        assert late.min() > 0
        assert late.max() <= 8 * STEP_NS
        assert np.median(late) <= 5 * STEP_NS


@pytest.mark.parametrize("rate", [45_000_000, 39_999_999, 93_717_100])
@pytest.mark.parametrize("pauses", ["", 'on = "300ms", off = "100ms", '])
def test_at_any_rate_each_leaves_at_the_next_step_of_the_clock(
    experiment: Experiment, rate: int, pauses: str
) -> None:
    """One list of calls sleeps and sends; no reading of the clock, which takes a step, comes in between."""
    record = experiment(streams([rate]).replace("{ kind", f"{{ {pauses}kind"))
    tx, at = due(record, 0, rate)
    at += (at // 300_000_000 * 100_000_000) * bool(pauses)
    exact = tx == (at // STEP_NS + 1) * STEP_NS
    # Near the readings of all 10 ms they are sent one by one.
    assert np.mean(exact) > 0.97
    assert (tx - at)[~exact].max(initial=0) <= 8 * STEP_NS


def test_none_has_come_before_it_could(experiment: Experiment) -> None:
    """A millisecond of delay, and the time that each of the links takes to send it."""
    record = experiment(streams(RATES[:1]))
    rows = record.table("udp", flow=0)
    taken = (rows["rx_ns"] - rows["tx_ns"]).astype(np.int64)
    least = 1_000_000 + (BYTES + 42) * 8
    assert taken.min() >= least
    assert taken.max() <= least + 12 * STEP_NS


def test_a_stream_that_its_line_does_not_carry_is_sent_when_there_is_room(experiment: Experiment) -> None:
    """The sender waits for its socket: what comes is spaced by the line, no stamp is early."""
    line = 20_000_000
    record = experiment(streams([40_000_000], f'topology.access_rate = "{line}bit"'))
    tx, at = due(record, 0, 40_000_000)
    assert (tx > at).all()
    assert (np.diff(tx) >= 0).all()
    rows = record.table("udp", flow=0)
    gaps: NDArray[np.float64] = np.diff(rows["rx_ns"].astype(np.float64))[10:]
    assert abs(gaps - (BYTES + 42) * 8 * 1e9 / line).max() <= 4 * STEP_NS
    assert int(tx[-1]) - int(at[-1]) > 0.4 * SECONDS * 1e9, "half of the stream is behind"

"""Senders of which the kernel traces no ACKs, for their program has closed: waits begin with the last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from experiments import metric

from rushhour.explain import explain
from rushhour.series.acks import heard_ns

if TYPE_CHECKING:
    from experiments import Experiment

    from rushhour.record.record import Record

pytestmark = pytest.mark.virtual

LEFT = """
duration = "4s"
[topology]
preset = "dumbbell"
rate = "10mbit"
rtt = "20ms"
buffer = "50kB"
[[flow]]
name = "short"
cc = "cubic"
{ends}
[[pattern]]
key = "loss"
direction = "forward"
steps = [["0s", "0%"], ["150ms", "100%"]]
"""
LAST_NS = 65e6
"""So long after the outage began the last ACK comes: a full queue, a round trip, a tick."""


def left(experiment: Experiment, ends: str = 'bytes = "300kB"\nsndbuf = "400kB"\nclose = "leave"') -> Record:
    return experiment(LEFT.format(ends=ends))


def test_a_sender_whose_program_left_did_not_wait_while_its_acks_came(experiment: Experiment) -> None:
    record = left(experiment)
    (flow,) = record.context.flows.values()
    assert not len(record.table("tcp_probe", flow=flow.id))
    heard = heard_ns(record, flow)
    assert len(heard) > 3
    assert 150e6 < heard[-1] <= 150e6 + LAST_NS
    # 300 kB at 10 Mbit/s take longer than the 150 ms of the way: until then data went and ACKs came.
    assert metric(record, "limited_timeouts_pct", "flow:short") < 10
    (found,) = explain(record)
    assert "timeouts" not in [one.cause for one in found.findings]


def test_readings_tell_the_acks_that_the_kernel_traces(experiment: Experiment) -> None:
    """Of an open sender both are there: what a reading says lies within a tick of what was traced."""
    record = left(experiment, "")
    (flow,) = record.context.flows.values()
    traced = heard_ns(record, flow)
    t_ns, info = record.tcp_info(flow.id)
    open_ = (info["state"] == 1) & (info["bytes_acked"] > 1)
    told = t_ns[open_] - info["last_ack_recv"][open_].astype(np.float64) * 1e6
    assert len(told) > 5
    assert np.abs(told[:, None] - traced).min(axis=1).max() <= 4.1e6  # a tick of 250 Hz

"""How algorithms share a link: what is known of BBR, of round trips, of a queue for each flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from experiments import metric

if TYPE_CHECKING:
    from experiments import Experiment

pytestmark = pytest.mark.virtual

PAIR = """
duration = "25s"
warmup = "5s"
sample = "100ms"
readings = {{ tcp_probe = false, events = false }}
topology = {{ preset = "dumbbell", {path}, rate = "10mbit", buffer = "{buffer}", queue = "{queue}" }}
flow = [{{ name = "a", cc = "{a}" }}, {{ name = "b", cc = "{b}" }}]
"""
NEAR_AND_FAR = 'rtts = ["20ms", "160ms"]'


def share_of_b(
    experiment: Experiment, a: str, b: str, *, path: str, buffer: str, queue: str = "fifo"
) -> float:
    record = experiment(PAIR.format(a=a, b=b, path=path, buffer=buffer, queue=queue))
    return metric(record, "goodput_share", "flow:b")


def test_bbr_overruns_cubic_in_a_shallow_buffer_and_not_in_a_deep_one(experiment: Experiment) -> None:
    """Hock, Bless, Zitterbart (ICNP 2017): most of the link behind half a BDP; Ware et al. (IMC 2019): less
    than half of it behind eight, as BBR keeps at most two BDP in flight and CUBIC the rest of the buffer.
    """
    path = 'pairs = 2, rtt = "40ms"'
    assert share_of_b(experiment, "cubic", "bbr", path=path, buffer="0.5bdp") > 0.75
    assert share_of_b(experiment, "cubic", "bbr", path=path, buffer="8bdp") < 0.5


def test_a_far_flow_gets_less_unless_each_has_a_queue(experiment: Experiment) -> None:
    """Reno's rate goes with 1/RTT to 1/RTT² (Lakshman and Madhow 1997); RFC 8290, section 5.2: FQ-CoDel
    gives each about half.

    The queue of 50 kB adds up to 40 ms to both round trips, so they are 60 and 200 ms at most: a share of at
    most 60/260. The far flow under FQ-CoDel pays for a queue of 5 ms against a round trip of 160 ms with what
    a Reno sawtooth loses without a buffer, a fourth of its half at most.
    """
    fifo = share_of_b(experiment, "reno", "reno", path=NEAR_AND_FAR, buffer="50kB")
    fair = share_of_b(experiment, "reno", "reno", path=NEAR_AND_FAR, buffer="50kB", queue="fq_codel")
    assert fifo < 60 / 260
    assert 0.375 < fair <= 0.51

"""What IPv6 counts reaches the metrics, on both kernels, and is the same in every run."""

import pytest
from experiments import Experiment, experiment, kernel, metric

from rushhour.record.told import told

pytestmark = pytest.mark.virtual
__all__ = ["experiment", "kernel"]

SCENARIO = """
family = "ipv6"
duration = "1s"
topology = { preset = "dumbbell", rate = "10mbit", rtt = "10ms" }
flow = [{ name = "u", kind = "udp", rate = "5mbit", packet = "3000B" }]
"""


def test_fragments_of_ipv6_are_counted(experiment: Experiment) -> None:
    record = experiment(SCENARIO)
    # 3008 bytes with the header of UDP, 1448 in a fragment: three of each datagram.
    whole = metric(record, "reassembled")
    assert whole > 100
    assert metric(record, "fragments_made") == pytest.approx(3 * whole, abs=6)
    assert told(experiment(SCENARIO)) == told(record)

"""The same run is the same bytes; another seed is another run; looking does not change what is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from conftest import KERNELS, Experiment

    from rushhour.record import Record

LOSSY = """
    duration = "5s"
    topology = { preset = "dumbbell", rate = "20mbit", rtt = "30ms", buffer = "1bdp", pairs = 2, loss = 0.002 }
    flow = [{ name = "a", cc = "cubic" }, { name = "b", cc = "bbr", start = "1s" }]
"""


def raw(record: Record) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((record.path / "raw").iterdir())}


def test_two_runs_are_byte_identical(experiment: Experiment) -> None:
    first, second = raw(experiment(LOSSY)), raw(experiment(LOSSY))
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []


def test_another_seed_is_another_run(experiment: Experiment) -> None:
    first, second = raw(experiment(LOSSY, seed=1)), raw(experiment(LOSSY, seed=2))
    assert first["tcp_probe.rh"] != second["tcp_probe.rh"]


def test_ten_equal_flows_share_fairly(experiment: Experiment) -> None:
    """With the default jitter Jain's index of ten CUBIC flows is above 0.95 (phase effects: Floyd & Jacobson 1992)."""
    record = experiment(TEN)
    assert jain(record) > 0.95


def test_without_jitter_phases_lock(experiment: Experiment) -> None:
    """The same flows on a noiseless path share less fairly: the reason for the default jitter."""
    quiet = experiment(TEN.replace('pairs = 10', 'pairs = 10, jitter = "0us"'))
    assert jain(quiet) < jain(experiment(TEN))


TEN = """
    duration = "60s"
    warmup = "10s"
    topology = { preset = "dumbbell", rate = "100mbit", rtt = "20ms", buffer = "1bdp", pairs = 10 }
    flow = [{ name = "flow", count = 10, cc = "cubic" }]
    readings = { tcp_probe = false }
"""


def jain(record: Record) -> float:
    return next(value.value for value in record.metrics() if value.metric == "jain_index")


@pytest.mark.usefixtures("kernel")
def test_the_same_losses_on_two_kernels(experiment: Experiment) -> None:
    """The wire's fate is a function of seed and packet number, not of the kernel."""
    text = """
        duration = "3s"
        topology = { preset = "dumbbell", rate = "100mbit", rtt = "10ms", loss = 0.01 }
        flow = [{ name = "udp", kind = "udp", rate = "10mbit", packet = "1000B" }]
    """
    old, new = (experiment(text, kernel=name).table("udp") for name in ("debian-6.1", "debian-6.12"))
    assert np.array_equal(old["seq"], new["seq"])
    assert old["seq"][-1] > len(old)

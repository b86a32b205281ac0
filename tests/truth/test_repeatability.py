"""The same run is the same bytes; another seed is another run; looking does not change what is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from experiments import metric

if TYPE_CHECKING:
    from experiments import Experiment

    from rushhour.record.record import Record

pytestmark = pytest.mark.virtual

LOSSY = """
    duration = "5s"
    topology = { preset = "dumbbell", rate = "20mbit", rtt = "30ms", pairs = 2, loss = 0.002 }
    flow = [{ name = "a", cc = "cubic" }, { name = "b", cc = "bbr", start = "1s" }]
"""


def raw(record: Record) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((record.path / "raw").iterdir())}


def test_two_runs_are_byte_identical(experiment: Experiment) -> None:
    first, second = raw(experiment(LOSSY, fresh=True)), raw(experiment(LOSSY, fresh=True))
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []


def test_another_seed_is_another_run(experiment: Experiment) -> None:
    first, second = raw(experiment(LOSSY, seed=1)), raw(experiment(LOSSY, seed=2))
    assert first["tcp_probe.rh"] != second["tcp_probe.rh"]


def test_ten_equal_flows_share_fairly(experiment: Experiment) -> None:
    """Ten CUBIC flows on one path: Jain's index above 0.95 with the default jitter."""
    record = experiment("""
        duration = "60s"
        warmup = "10s"
        topology = { preset = "dumbbell", rate = "100mbit", rtt = "20ms", buffer = "1bdp", pairs = 10 }
        flow = [{ name = "flow", count = 10, cc = "cubic" }]
        readings = { tcp_probe = false }
    """)
    assert metric(record, "jain_index") > 0.95


def share_of_the_first(experiment: Experiment, shift_us: int, jitter: str) -> float:
    record = experiment(f"""
        duration = "40s"
        warmup = "5s"
        sample = "500ms"
        [topology]
        preset = "dumbbell"
        rate = "100mbit"
        buffer = "40p"
        pairs = 2
        rtts = ["5000us", "{5000 + shift_us}us"]
        {jitter}
        [[flow]]
        name = "flow"
        count = 2
        cc = "cubic"
        [readings]
        tcp_probe = false
    """)
    values = {value.scope: value.value for value in record.metrics() if value.metric == "goodput_steady_bps"}
    first, total = values["flow:flow.1"], values["total"]
    assert first is not None
    assert total is not None
    return first / total


def test_jitter_takes_the_edge_off_phase_effects(experiment: Experiment) -> None:
    """Where arrivals keep their phase to a full queue's departures, phase decides who is dropped.

    A path longer by less than the 121 µs a packet takes is enough (Floyd & Jacobson, "Traffic phase effects",
    1992). The default jitter is of that order: much of the bias goes, not all.
    """
    locked = share_of_the_first(experiment, 120, 'jitter = "0us"')
    shaken = share_of_the_first(experiment, 120, "")
    # Two per cent more round trip should cost about as much.
    assert abs(locked - 0.5) > 0.3
    assert abs(shaken - 0.5) < abs(locked - 0.5) - 0.08


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

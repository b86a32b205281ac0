"""First divergence of real runs: kernels, seeds, a setting, an algorithm; none of a run with itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rushhour.verdict.divergence import first_divergence

if TYPE_CHECKING:
    from experiments import Experiment

pytestmark = [
    pytest.mark.virtual,
    pytest.mark.parametrize("kernel", ["debian-6.12"], indirect=True),
]

LOSSY = """
    duration = "2s"
    topology = { preset = "dumbbell", rate = "20mbit", rtt = "20ms", loss = 0.003 }
    flow = [{ name = "long", cc = "cubic" }]
"""


def test_a_run_does_not_diverge_from_itself(experiment: Experiment) -> None:
    assert first_divergence(experiment(LOSSY), experiment(LOSSY)) is None


@pytest.mark.parametrize("serialise", ["true", "false"])
def test_two_kernels_differ_by_windows_before_they_decide_differently(
    experiment: Experiment, serialise: str
) -> None:
    """Between 6.1 and 6.12 the receiver's first window changed (scaling ratio of skbs, Linux 6.6).

    Instants do not differ before that: wires release packets when their stamps say, and both kernels take as
    long for the same packet. A window that is no limit yet makes 6.1 hold back an ACK that 6.12 sends.
    """
    scenario = LOSSY.replace("loss =", f"serialise = {serialise}, loss =")
    base, candidate = experiment(scenario, kernel="debian-6.1"), experiment(scenario)
    one = first_divergence(base, candidate)
    assert one is not None
    assert (one.kind, one.flow) == ("state", "long")
    assert {first.kind for first in one.earlier} == {"window"}
    assert all(first.t_ns < one.t_ns for first in one.earlier)
    assert one.before["base"][-1]["event"] == one.before["candidate"][-1]["event"] == f"ACK {one.event}"
    acks = [record.table("tcp_probe")["t_ns"][: one.event - 1].tolist() for record in (base, candidate)]
    assert acks[0] == acks[1]


def test_two_seeds_differ_from_the_first_packet_on(experiment: Experiment) -> None:
    one = first_divergence(experiment(LOSSY), experiment(LOSSY, seed=7))
    assert one is not None
    assert one.earlier[0].kind == "time"
    assert one.earlier[0].event == 1


def test_a_setting_shows_where_it_first_matters(experiment: Experiment) -> None:
    """With tcp_reordering = 30 the third duplicate ACK is no sign of a loss; nothing differs before."""
    one = first_divergence(
        experiment(LOSSY), experiment(LOSSY + 'sysctl = { "net.ipv4.tcp_reordering" = 30 }\n')
    )
    assert one is not None
    # The setting itself is what the first sample shows; it is the state of the sender before any ACK.
    assert (one.table, one.differs) == ("tcp_info", ("reordering",))
    assert "reordering 3 in base, 30 in candidate" in one.sentence


def test_an_algorithm_s_factor_shows_at_the_first_loss(experiment: Experiment) -> None:
    """Reno halves its window (RFC 5681), Scalable gives up an eighth; both start alike."""
    reno, scalable = (experiment(LOSSY.replace("cubic", name)) for name in ("reno", "scalable"))
    one = first_divergence(reno, scalable)
    assert one is not None
    assert (one.kind, one.table) == ("state", "tcp_probe")
    assert one.sentence.endswith("until then all events were equal to the byte.")
    assert "entered Recovery" in one.sentence

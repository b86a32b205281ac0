"""Thresholds from before and ratios of pacing: named where they bind, and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rushhour.explain import explain

if TYPE_CHECKING:
    from experiments import Experiment

    from rushhour.explain import Explanation

pytestmark = pytest.mark.virtual

CELL = """
duration = "6s"
{top}
[topology]
preset = "dumbbell"
rate = "50mbit"
rtt = "40ms"
buffer = "2MB"
{drop}
[sysctl]
{sysctl}
[[flow]]
name = "earlier"
from = "s1"
to = "r1"
duration = "1500ms"
[[flow]]
name = "bulk"
from = "s1"
to = "r1"
start = "2s"
{flow}
"""
KEPT = '"net.ipv4.tcp_no_ssthresh_metrics_save" = 0'
RATIO = '"net.ipv4.tcp_pacing_{}_ratio" = {}'
PACED = 'pacing = "10gbit"'


def bulk(
    experiment: Experiment, sysctl: str, flow: str = "", drop: str = "drop = [40]", top: str = ""
) -> Explanation:
    record = experiment(CELL.format(sysctl=sysctl, flow=flow, drop=drop, top=top))
    return next(one for one in explain(record) if one.flow == "bulk")


def causes(found: Explanation) -> set[str]:
    return {one.cause for one in found.findings}


@pytest.mark.parametrize("top", ["", 'readings = { tcp_probe = false }\nsample = "20ms"'])
def test_a_threshold_that_an_earlier_connection_left_is_named(top: str, experiment: Experiment) -> None:
    found = bulk(experiment, KEPT, top=top)
    one = next(one for one in found.findings if one.cause == "remembered_threshold")
    assert "left slow start at 33 segments" in one.says
    assert "(an earlier connection left it)" in one.says
    assert one.remedy is not None
    assert one.remedy.overrides == {"sysctl.net.ipv4.tcp_no_ssthresh_metrics_save": "1"}


@pytest.mark.parametrize(
    ("sysctl", "drop"),
    [
        (KEPT.replace("0", "1"), "drop = [40]"),  # none is kept
        (KEPT, ""),  # none was set
    ],
)
def test_without_one_none_is_named(sysctl: str, drop: str, experiment: Experiment) -> None:
    found = bulk(experiment, sysctl, drop=drop)
    assert "remembered_threshold" not in causes(found), found.findings


@pytest.mark.parametrize("phase", ["ss", "ca"])
def test_a_ratio_of_pacing_is_named_by_the_phase_in_which_it_binds(
    phase: str, experiment: Experiment
) -> None:
    # A window of which less than half is under way does not grow in slow start (tcp_is_cwnd_limited). An
    # earlier threshold ends that.
    sysctl = RATIO.format(phase, 40) + ("\n" + KEPT if phase == "ca" else "")
    found = bulk(experiment, sysctl, flow=PACED)
    one = next(one for one in found.findings if one.cause == "pacing_ratio")
    assert f"tcp_pacing_{phase}_ratio on s1 lets a flow send 40 % of its window" in one.says
    assert one.remedy is not None
    raised = {"ss": "200", "ca": "120"}[phase]
    assert one.remedy.overrides == {f"sysctl.net.ipv4.tcp_pacing_{phase}_ratio": raised}


@pytest.mark.parametrize(
    ("sysctl", "flow"),
    [
        (RATIO.format("ca", 40), ""),  # nothing paces
        (RATIO.format("ca", 40), PACED + '\ncc = "bbr"'),  # by its own model
        (RATIO.format("ca", 200), PACED),
    ],
)
def test_a_ratio_that_does_not_bind_is_not_named(sysctl: str, flow: str, experiment: Experiment) -> None:
    assert "pacing_ratio" not in causes(bulk(experiment, sysctl, flow=flow, drop=""))

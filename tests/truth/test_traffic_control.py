"""Classes, ingress and policers live: each class its rate to 1 %, losses where they were asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from experiments import metric

from rushhour.metrics.binomial import binomial_interval
from rushhour.metrics.queue import since_start

if TYPE_CHECKING:
    from experiments import Experiment

    from rushhour.record.record import Record

pytestmark = pytest.mark.virtual

TOPOLOGY = """
[topology]
preset = "dumbbell"
rate = "50mbit"
rtt = "10ms"
buffer = "100kB"
"""
DIVIDED = (
    """
duration = "6s"
warmup = "1s"
"""
    + TOPOLOGY
    + """
scheduler = "{scheduler}"
[[topology.class]]
name = "small"
flows = ["a"]
{small}
[[topology.class]]
name = "large"
flows = ["b"]
{large}
[[flow]]
name = "a"
{flow}
[[flow]]
name = "b"
"""
)


def divided(
    experiment: Experiment, small: str, large: str, *, scheduler: str = "htb", flow: str = ""
) -> Record:
    return experiment(DIVIDED.format(scheduler=scheduler, small=small, large=large, flow=flow))


def test_each_class_has_its_rate_to_one_percent(experiment: Experiment) -> None:
    record = divided(experiment, 'rate = "10mbit"', 'rate = "40mbit"')
    assert metric(record, "class_rate_bps", "class:small") == pytest.approx(10e6, rel=0.01)
    assert metric(record, "class_rate_bps", "class:large") == pytest.approx(40e6, rel=0.01)
    # The goodput of a full class is its rate times payload over frame.
    assert metric(record, "goodput_steady_bps", "flow:a") == pytest.approx(10e6 * 1448 / 1514, rel=0.01)
    assert metric(record, "class_share", "class:small") == pytest.approx(0.2, abs=0.002)
    assert metric(record, "class_borrowed", "class:large") == 0


# The other flow sends for the first 3 s only.
HALF = 'duration = "3s"'


@pytest.mark.parametrize(("ceil", "rate_bps"), [("50mbit", 50e6), ("40mbit", 40e6)])
def test_a_class_borrows_what_another_leaves_up_to_its_ceiling(
    experiment: Experiment, ceil: str, rate_bps: float
) -> None:
    record = divided(experiment, 'rate = "10mbit"', f'rate = "40mbit"\nceil = "{ceil}"', flow=HALF)
    large = record.series("goodput_bps", flow="b")
    alone = large.values[large.t_s > 4]
    assert alone.mean() == pytest.approx(rate_bps * 1448 / 1514, rel=0.01)
    assert (metric(record, "class_borrowed", "class:large") > 0) == (ceil == "50mbit")


@pytest.mark.parametrize(
    ("scheduler", "small", "large"),
    [
        ("hfsc", 'rate = "10mbit"\nceil = "50mbit"', 'rate = "40mbit"\nceil = "50mbit"'),
        ("drr", "weight = 1", "weight = 4"),
        ("qfq", "weight = 1", "weight = 4"),
        ("ets", "weight = 1", "weight = 4"),
    ],
)
def test_other_schedulers_divide_by_rate_or_weight(
    experiment: Experiment, scheduler: str, small: str, large: str
) -> None:
    """While both have something to send: 1 to 4 within a percent of the link."""
    record = divided(experiment, small, large, scheduler=scheduler)
    assert metric(record, "class_share", "class:small") == pytest.approx(0.2, abs=0.01)
    assert metric(record, "utilization", "end:left → right") >= 0.99


def test_prio_serves_the_first_before_the_second(experiment: Experiment) -> None:
    record = divided(experiment, "", "", scheduler="prio", flow='rate = "30mbit"')
    assert metric(record, "goodput_steady_bps", "flow:a") == pytest.approx(30e6, rel=0.01)
    assert metric(record, "class_rate_bps", "class:large") == pytest.approx(
        50e6 - 30e6 * 1514 / 1448, rel=0.02
    )


BOTH_WAYS = """
duration = "5s"
[[link]]
between = ["a", "m"]
rate = "20mbit"
delay = "2ms"
shape_at = "sender"
netem = "loss 2%"
impair_at = "ingress"
[[link]]
between = ["m", "b"]
[[flow]]
kind = "udp"
from = "a"
to = "b"
rate = "12mbit"
[[flow]]
kind = "udp"
from = "b"
to = "a"
rate = "12mbit"
"""


def test_losses_on_arrival_are_binomial_in_both_directions(experiment: Experiment) -> None:
    """99.9 % of the time netem loses a number of packets within the binomial's bounds."""
    record = experiment(BOTH_WAYS)
    ends = [end for end in record.context.ends.values() if end.role == "netem"]
    assert [end.dev[:3] for end in ends] == ["ifb", "ifb"]
    assert {end.label for end in ends} == {f"{way}, netem at ingress" for way in ("a → m", "m → a")}
    for end in ends:
        rows = record.root_qdisc(end.end)
        t_s = rows["t_ns"] * 1e-9
        lost, passed = (since_start(t_s, rows[column].astype(float)) for column in ("drops", "packets"))
        low, high = binomial_interval(int(lost + passed), 0.02)
        assert low <= lost <= high
        flow = record.context.flow("udp1" if end.node == "m" else "udp2").outcome
        assert flow.packets_sent is not None
        assert flow.packets_received == pytest.approx(flow.packets_sent - lost, abs=5)


LIMITED = """
duration = "8s"
warmup = "2s"
[topology]
preset = "dumbbell"
rate = "{rate}"
rtt = "20ms"
buffer = "100kB"
{more}
[[flow]]
cc = "reno"
"""
POLICED = LIMITED.format(rate="100mbit", more='police = { rate = "10mbit", burst = "50kB" }')
SHAPED = LIMITED.format(rate="10mbit", more="")


def test_a_policer_loses_where_a_shaper_lets_wait(experiment: Experiment) -> None:
    """The same rate: the shaper's flow has delay, the policer's loss instead (Flach et al., 2016)."""
    policed, shaped = experiment(POLICED), experiment(SHAPED)
    flow = "flow:tcp1"
    assert policed.context.flows[0].bottleneck_bps == 10_000_000
    for record in (policed, shaped):
        assert metric(record, "goodput_steady_bps", flow) <= 10e6 * 1448 / 1514 * 1.01
    delays = [metric(record, "queue_delay_p50_us", flow) for record in (policed, shaped)]
    assert delays[0] < 0.1 * delays[1]
    lost = "end:left → right, police at ingress"
    assert metric(policed, "drops", lost) > 2 * metric(shaped, "drops", "end:left → right") > 0
    assert metric(policed, "retransmits", flow) == pytest.approx(metric(policed, "drops", lost), rel=0.1)

"""Every queue discipline under a shaper, live: it works, it is true, and those that hold delay down do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from experiments import metric

if TYPE_CHECKING:
    from experiments import Experiment

    from rushhour.record.record import Record

pytestmark = pytest.mark.virtual

# Encoded by the agent; a discipline by its words.
NATIVE = (
    "fifo",
    "red",
    "codel",
    "fq_codel",
    "fq",
    "pie",
    "fq_pie",
    "cake",
    "sfq",
    "prio",
)
# Of these a flow alone gets less: sfb holds it to the few packets of its bin (Feng et al., 2001).
FOR_MANY = ("hhf", "choke", "sfb", "skbprio", "gred setup vqs 2 default 0")
RATE = 20_000_000
ONE = "flow:one"
SCENARIO = """
duration = "8s"
warmup = "3s"
[topology]
preset = "dumbbell"
rate = "20mbit"
rtt = "20ms"
buffer = "{buffer}"
queue = "{queue}"
shaper = "{shaper}"
[[flow]]
name = "one"
cc = "cubic"
count = {count}
"""


def run(
    experiment: Experiment, queue: str, buffer: str = "2bdp", *, shaper: str = "tbf", count: int = 1
) -> Record:
    """A run of so many flows; the harness asserts that it is valid."""
    return experiment(SCENARIO.format(queue=queue, buffer=buffer, shaper=shaper, count=count))


def kinds(record: Record) -> set[str]:
    """The kinds of the qdiscs at the bottleneck, as the kernel tells them."""
    end = record.context.flows[0].bottleneck_end
    return {kind.decode() for kind in record.table("qdisc", end=end)["kind"]}


@pytest.mark.parametrize("queue", NATIVE)
def test_every_discipline_carries_a_flow(experiment: Experiment, queue: str) -> None:
    """A CUBIC flow has at least 85 % of the rate as goodput: no discipline starves its link."""
    record = run(experiment, queue)
    assert metric(record, "goodput_steady_bps", ONE) >= 0.85 * RATE
    # The shaper's own queue is a fifo already.
    assert kinds(record) == {"tbf"} | ({queue} - {"fifo"})
    assert "tools" not in record.manifest


@pytest.mark.parametrize("queue", FOR_MANY)
def test_every_discipline_carries_many_flows(experiment: Experiment, queue: str) -> None:
    """Eight flows together have what one has elsewhere."""
    record = run(experiment, queue, count=8)
    assert metric(record, "goodput_steady_bps", "total") >= 0.85 * RATE
    assert kinds(record) >= {"tbf", queue.split(maxsplit=1)[0]}
    assert "tools" not in record.manifest


@pytest.mark.parametrize("queue", ["fifo", "fq_codel", "pie"])
def test_htb_shapes_as_tbf_does(experiment: Experiment, queue: str) -> None:
    """The shaper is a choice of means: the goodput is the same within 1 %."""
    by_tbf, by_htb = run(experiment, queue), run(experiment, queue, shaper="htb")
    assert "htb" in kinds(by_htb)
    assert metric(by_htb, "goodput_steady_bps", ONE) == pytest.approx(
        metric(by_tbf, "goodput_steady_bps", ONE), rel=0.01
    )


@pytest.mark.parametrize(
    ("queue", "target_ms", "most_ms"),
    [
        # RFC 8289, section 4.4, RFC 8290, section 4.2: target 5 ms, over an interval of 100 ms.
        ("codel", 5, 10),
        ("fq_codel", 5, 10),
        # RFC 8033, section 4.2: QDELAY_REF 15 ms.
        ("pie", 15, 22),
        ("fq_pie", 15, 22),
        # cake's target is 5 ms, as CoDel's.
        ("cake", 5, 10),
    ],
)
def test_delay_is_held_near_the_target(
    experiment: Experiment, queue: str, target_ms: float, most_ms: float
) -> None:
    """Where a fifo fills its whole buffer of 4 BDP (80 ms), the median delay is at the target."""
    delay_us = metric(run(experiment, queue, "4bdp"), "queue_delay_p50_us", ONE)
    assert target_ms / 4 <= delay_us / 1e3 <= most_ms


def test_a_fifo_fills_its_buffer(experiment: Experiment) -> None:
    """CUBIC keeps a buffer of 4 BDP between its multiplicative decrease, 0.7, and full (RFC 9438).

    Window at least 0.7 (1 + 4) BDP, so queue at least 2.5 BDP = 50 ms.
    """
    record = run(experiment, "fifo", "4bdp")
    assert metric(record, "queue_delay_p50_us", ONE) >= 50_000
    assert metric(record, "queue_delay_p95_us", ONE) == pytest.approx(80_000, rel=0.1)

"""The limits of queues of a link with classes: what each class holds is told, not what the link is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rushhour.metrics.calibration import calibrate
from rushhour.report.model import conditions
from rushhour.report.panels import panels_of
from rushhour.report.topology import topology_svg

if TYPE_CHECKING:
    from experiments import Experiment

    from rushhour.record.record import Record
    from rushhour.report.panels import Panel

pytestmark = pytest.mark.virtual

SCENARIO = """
duration = "4s"
[topology]
preset = "dumbbell"
rate = "20mbit"
rtt = "20ms"
buffer = "60kB"
[[topology.class]]
name = "one"
flows = ["a"]
rate = "10mbit"
{one}
[[topology.class]]
name = "two"
flows = ["b"]
rate = "10mbit"
[[flow]]
name = "a"
[[flow]]
name = "b"
"""


def queue(record: Record) -> Panel:
    return next(panel for panel in panels_of(record, 1000) if panel.id == "queue")


def test_two_full_classes_hold_more_than_the_buffer_of_their_link(experiment: Experiment) -> None:
    record = experiment(SCENARIO.format(one=""))
    found = {one.where: one for one in calibrate(record) if one.check == "queue limit"}
    names = [f"left → right (class {name})" for name in ("one", "two", "(rest)")]
    assert [*found] == [*names, "right → left"]
    assert all(one.ok for one in found.values())
    both = record.root_qdisc("left → right")["backlog"]
    assert 100_000 < both.max() <= 120_000
    (limit,) = queue(record).limits
    assert (limit.label, limit.value) == ("buffers of 3 classes", 180_000)
    assert queue(record).second is None
    assert "buffer 60 kB" in conditions(record)


def test_the_page_says_what_each_class_holds(experiment: Experiment) -> None:
    record = experiment(SCENARIO.format(one='queue = "fq_codel"\nbuffer = "200kB"'))
    said = conditions(record)
    assert "htb: one, two (fifo, fq_codel)" in said
    assert {"buffer 60 kB", "buffer 132 packets (200 kB)"} <= {*said}  # fq_codel counts packets
    drawing = topology_svg(record)
    assert "fq_codel" in drawing
    assert "fifo 60 kB" in drawing

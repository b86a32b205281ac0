"""A flow that has all that its class, or fq, lets it have has a full path, whatever its link could carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rushhour.explain import explain

if TYPE_CHECKING:
    from experiments import Experiment

pytestmark = pytest.mark.virtual

SCENARIO = """
duration = "4s"
[topology]
preset = "dumbbell"
rate = "50mbit"
rtt = "20ms"
{queue}
"""
CLASSES = 'scheduler = "{}"\nclass = [{}]\n'
MINE = '{ name = "a", flows = ["bulk"], rate = "10mbit", buffer = "60p" }'
REST = '{ name = "b", rate = "20mbit" }'
TOP = """
  { name = "top", rate = "10mbit" },
  { name = "a", parent = "top", flows = ["bulk"], rate = "5mbit", ceil = "10mbit", buffer = "60p" },
  { name = "c", parent = "top", flows = ["other"], rate = "5mbit", ceil = "10mbit", buffer = "60p" },
  { name = "b", rate = "20mbit" },
"""
CHANGES = '{ name = "a", flows = ["bulk"], rate = "20mbit", buffer = "60p", then = { at = "2s", %s } }'
BULK = '[[flow]]\nname = "bulk"\nfrom = "s1"\nto = "r1"\n'
OTHER = '[[flow]]\nname = "other"\nfrom = "s1"\nto = "r1"\n'
VIDEO = '[[flow]]\nname = "video"\nkind = "udp"\nrate = "{}"\nfrom = "s1"\nto = "r1"\n'


def htb(*classes: str, by: str = "htb") -> str:
    return CLASSES.format(by, ", ".join(classes))


ALONE = "{} of {}: {} was full, nothing else limits."
CLASS = "class a at left → right"
MEAN = "11.9 Mbit/s on average (4.78 Mbit/s to 19.1 Mbit/s)"
TOP_CLASS = "class top at left → right"
CELLS = {
    "htb": (htb(MINE, REST), BULK, ALONE.format("9.52 Mbit/s", "9.56 Mbit/s", CLASS)),
    "hfsc": (htb(MINE, REST, by="hfsc"), BULK, ALONE.format("9.52 Mbit/s", "9.56 Mbit/s", CLASS)),
    "another class": (htb(MINE, REST), BULK + OTHER, ALONE.format("9.52 Mbit/s", "9.56 Mbit/s", CLASS)),
    "datagrams in another": (
        htb(MINE, '{ name = "b", rate = "40mbit" }'),
        BULK + VIDEO.format("30mbit"),
        ALONE.format("9.52 Mbit/s", "9.56 Mbit/s", CLASS),
    ),
    "a class of two flows": (
        htb(MINE, REST),
        BULK + "count = 2\n",
        f"an equal share of {CLASS} among 2 TCP flows is 4.78 Mbit/s: {CLASS} was full.",
    ),
    "one above": (
        htb(TOP.strip().rstrip(",")),
        BULK + OTHER,
        f"an equal share of {TOP_CLASS} among 2 TCP flows is 4.78 Mbit/s: {TOP_CLASS} was full.",
    ),
    "the rest": (
        htb(REST.replace('"b"', '"b", flows = ["other"]'), MINE.replace('flows = ["bulk"], ', "")),
        BULK + OTHER,
        ALONE.format("9.52 Mbit/s", "9.56 Mbit/s", CLASS),
    ),
    "another rate": (
        htb(CHANGES % 'rate = "5mbit"', REST), BULK, ALONE.format("11.8 Mbit/s", MEAN, CLASS)
    ),
    "it goes": (
        htb(CHANGES % "gone = true", '{ name = "b", rate = "5mbit", buffer = "60p" }'),
        BULK,
        ALONE.format("11.8 Mbit/s", MEAN, "class b at left → right"),
    ),
    "fq": (
        'queue = "fq maxrate 10mbit"',
        BULK + OTHER,
        ALONE.format("9.52 Mbit/s", "9.56 Mbit/s", "the rate that fq at left → right allows a flow"),
    ),
    "fq of a class": (
        htb('{ name = "a", flows = ["bulk"], rate = "30mbit", queue = "fq maxrate 10mbit" }', REST),
        BULK + OTHER,
        ALONE.format("9.52 Mbit/s", "9.56 Mbit/s", "the rate that fq at left → right allows a flow"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CELLS)
def test_a_flow_that_has_all_that_it_may_have_has_a_full_path(case: str, experiment: Experiment) -> None:
    queue, flows, says = CELLS[case]
    record = experiment(SCENARIO.format(queue=queue) + flows)
    found = next(one for one in explain(record) if one.flow in ("bulk", "bulk.2"))
    assert found.shares["path"] > 0.92, found.shares
    assert found.findings[0].limit == "path"
    assert says in found.findings[0].title


def test_a_class_that_its_link_does_not_leave_its_ceiling_shares_that(experiment: Experiment) -> None:
    classes = htb(
        '{ name = "a", flows = ["bulk"], rate = "10mbit", ceil = "40mbit", buffer = "60p" }',
        '{ name = "b", rate = "30mbit", ceil = "50mbit" }',
    )
    record = experiment(SCENARIO.format(queue=classes) + BULK + VIDEO.format("30mbit"))
    (found,) = explain(record)
    # Of 50 Mbit/s the datagrams take 30, and their headers.
    assert found.possible_bps == pytest.approx(40e6 * 1448 / 1514, rel=0.01)
    assert found.shares["path"] > 0.8
    assert "beside video (udp) with 30 Mbit/s" in found.findings[0].title


def test_a_flow_below_its_ceiling_has_no_full_path(experiment: Experiment) -> None:
    slow = BULK + 'rate = "5mbit"\n'
    (found,) = explain(experiment(SCENARIO.format(queue=htb(MINE, REST)) + slow))
    assert found.shares.get("path", 0.0) < 0.02
    assert found.limit == "application"

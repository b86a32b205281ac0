"""Under a flood of datagrams the flood is what holds a flow, in real runs, and no algorithm beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from test_outages import run

from rushhour.explain import explain

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.virtual

SHARED = {"other_algorithm", "longer_path", "unequal", "window"}
"""Causes that say who of several TCP flows gives way."""


def cell(cc: str) -> str:
    return f"""
title = "A flood"
question = "Who is to blame beside a flood?"
duration = "8s"
[topology]
preset = "dumbbell"
pairs = 2
rate = "20mbit"
rtt = "10ms"
buffer = "50kB"
[[flow]]
name = "bulk"
cc = "{cc}"
from = "s1"
to = "r1"
[[flow]]
name = "other"
cc = "cubic"
from = "s2"
to = "r2"
[[flow]]
name = "flood"
kind = "udp"
rate = "24mbit"
packet = "500B"
from = "s1"
to = "r1"
"""


@pytest.mark.parametrize("cc", ["vegas", "reno", "cubic"])
def test_who_waits_for_its_timer_under_a_flood_gives_way_to_no_algorithm(cc: str, tmp_path: Path) -> None:
    """Each would give way to the other, and both have nothing: when a timer expires is chance."""
    for found in explain(run(cell(cc), tmp_path)):
        assert found.goodput_bps < 0.01 * 20e6
        first = found.findings[0]
        assert first.cause == "timeouts"
        assert first.remedy is not None
        assert first.remedy.advice.startswith("Limit the datagrams of flood")
        assert not SHARED & {one.cause for one in found.findings}
        assert [one.share for one in found.findings] == sorted(
            (one.share for one in found.findings), reverse=True
        )


def test_an_algorithm_that_gives_way_on_a_path_it_shares_does_so_beside_datagrams_too(tmp_path: Path) -> None:
    text = cell("vegas").replace('rate = "24mbit"', 'rate = "11mbit"').replace("50kB", "200kB")
    bulk, _ = explain(run(text, tmp_path))
    assert bulk.findings[0].cause == "other_algorithm"

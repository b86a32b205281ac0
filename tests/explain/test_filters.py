"""What the receiver's packet filter drops, in a real run: said as such, and not taken for reordering."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from test_outages import explained

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.virtual


def cell(drop: str, loss: str = "0%") -> str:
    return f"""
title = "A filter"
question = "Who drops what has come all the way?"
duration = "5s"
[topology]
preset = "dumbbell"
rate = "20mbit"
rtt = "20ms"
loss = "{loss}"
[[node]]
name = "r1"
drop_input = "{drop}"
[[flow]]
name = "bulk"
cc = "cubic"
"""


def test_a_filter_that_drops_is_named_and_no_packets_overtook_each_other(tmp_path: Path) -> None:
    _, by_cause = explained(cell("1%"), tmp_path)
    assert next(iter(by_cause)) == "filter"
    assert (
        "A rule of the packet filter at r1 drops 1.0 % of what arrives (chain INPUT)."
        in by_cause["filter"].says
    )
    assert "reordering" not in by_cause


def test_a_filter_that_drops_less_than_the_way_does_is_not_the_cause(tmp_path: Path) -> None:
    _, by_cause = explained(cell("0.1%", "2%"), tmp_path)
    assert next(iter(by_cause)) == "random_loss"
    assert not {"filter", "reordering"} & {*by_cause}


def test_acks_that_the_senders_filter_drops_are_lost_there(tmp_path: Path) -> None:
    text = cell("30%").replace('name = "r1"', 'name = "s1"') + 'bytes = "100kB"\n'
    _, by_cause = explained(text, tmp_path)
    lost = by_cause["ack_loss"]
    assert "30 % of its ACKs were lost by a rule of the packet filter at s1 (chain INPUT)." in lost.says
    assert lost.remedy is not None
    assert lost.remedy.advice.endswith("Take that rule away on s1.")

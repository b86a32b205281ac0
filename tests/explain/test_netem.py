"""What netem does to a way beside delay and loss, in real runs: slots, and packets that overtake others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from test_outages import explained

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.virtual

CELL = """
title = "netem"
question = "What is said of netem's words?"
duration = "6s"
[topology]
preset = "dumbbell"
rate = "50mbit"
rtt = "20ms"
buffer = "1bdp"
{where} = "{words}"
[[flow]]
name = "bulk"
cc = "cubic"
"""


@pytest.mark.parametrize(
    ("words", "packets", "every_s"),
    [
        ("slot 20ms packets 10", 10, 0.02),
        ("slot 100ms bytes 20000", 14, 0.1),  # the frame that passes the limit still goes
        ("slot 4ms 6ms packets 10", 10, 0.005),
    ],
)
def test_what_fits_into_slots_is_what_was_possible(
    words: str, packets: int, every_s: float, tmp_path: Path
) -> None:
    found, by_cause = explained(CELL.format(where="netem", words=words), tmp_path)
    assert next(iter(by_cause)) == "slots"
    assert "window" not in by_cause
    assert found.possible_bps is not None
    assert found.possible_bps == pytest.approx(8 * 1448 * packets / every_s)
    assert 0.95 * found.possible_bps < found.goodput_bps < 1.01 * found.possible_bps
    assert f"with at most {packets} packets" in by_cause["slots"].says


@pytest.mark.parametrize(("where", "what"), [("netem", "its data"), ("reverse_netem", "its ACKs")])
def test_slots_that_carry_all_make_the_round_trip_longer(where: str, what: str, tmp_path: Path) -> None:
    _, by_cause = explained(CELL.format(where=where, words="slot 50ms"), tmp_path)
    says = by_cause["slots"].says
    assert f"The way delivers {what} in bursts" in says
    assert "in slots (one every 50 ms): what arrives waits for the next, up to 50 ms" in says


def test_slots_that_are_short_beside_the_round_trip_hold_nothing(tmp_path: Path) -> None:
    _, by_cause = explained(CELL.format(where="netem", words="slot 1ms"), tmp_path)
    assert "slots" not in by_cause


@pytest.mark.parametrize("words", ["delay 10ms reorder 25% gap 5", "delay 20ms 10ms"])
def test_where_netem_reorders_is_said(words: str, tmp_path: Path) -> None:
    _, by_cause = explained(CELL.format(where="netem", words=words), tmp_path)
    found = by_cause["reordering"]
    assert f"on the way, at left → right, netem ({words}): " in found.says
    assert found.remedy is not None
    assert "Let left → right, netem deliver in order." in found.remedy.advice

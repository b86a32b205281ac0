"""Two sides that ran the same cell with no seed in common."""

from __future__ import annotations

from rushhour.verdict import Side, judge
from rushhour.verdict.side import SideCell
from rushhour.verdict.trial import Trial


def side(name: str, seed: int) -> Side:
    cell = SideCell("start", 0, {"cc": "cubic"}, "cc=cubic")
    kernel = {"name": name, "image_sha256": name}
    cell.trials[seed] = Trial(seed, digests={"raw": name}, facts={"lab": "uml", "kernel": kernel}, known=list)
    return Side(name, "records", {cell.key: cell})


def test_it_is_said_that_nothing_can_be_held_against_each_other() -> None:
    verdict = judge(side("stable", 1), side("next", 2))
    assert verdict.verdict == "invalid"
    assert "no seed ran on both sides" in verdict.cells[0].reason

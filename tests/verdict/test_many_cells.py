"""Comparisons of very many cells: the worst have every quantity in the document, others what decided most."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

from result_sets import kernel, result_set

from rushhour.report.verdict import output
from rushhour.verdict import judging
from rushhour.verdict.cell import TELLING
from rushhour.verdict.comparing import compare
from rushhour.verdict.packed import Packed

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

LEVELS = [{"cc": name} for name in ("cubic", "reno", "bbr", "vegas")]


def test_only_the_first_cells_are_written_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, goodput in (("stable", 80.0), ("next", 40.0)):
        result_set(tmp_path / name, kernels=[kernel(name)], factors=LEVELS, repeat=5, goodput={name: goodput})
    made = compare(tmp_path / "stable", tmp_path / "next")
    every = output.document(made, tmp_path)
    monkeypatch.setattr(judging, "WHOLE", 1)
    some = output.write(made, tmp_path / "out")
    assert [cell.verdict for cell in some.cells] == ["worse"] * 4
    assert len(every.cells[1].metrics) > TELLING
    assert some.cells[0].metrics == every.cells[0].metrics
    for cell, whole in zip(some.cells[1:], every.cells[1:], strict=True):
        assert 0 < len(cell.metrics) <= TELLING
        assert {one.verdict for one in cell.metrics} == {"worse"}
        assert (cell.reason, cell.seeds) == (whole.reason, whole.seeds)
    assert "Worse: 4 of 4 cells" in (tmp_path / "out/summary.md").read_text()


def test_what_is_packed_is_what_comes_out() -> None:
    items = [(number, f"the same words {number % 3}") for number in range(500)]
    packed = Packed(items)
    assert [*packed] == items
    assert (packed[7], packed[-2:], len(packed), bool(Packed([]))) == (items[7], items[-2:], 500, False)
    assert len(pickle.dumps(packed)) < len(pickle.dumps(items)) / 4

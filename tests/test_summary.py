"""Summaries: statistics over repetitions, known from a textbook or by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as make
import pytest

from rushhour.summary.summary import statistics, summarise

if TYPE_CHECKING:
    from pathlib import Path


def test_statistics_of_five_values() -> None:
    # Mean 3, sample deviation √2.5, t(4; 0.975) = 2.776445: 3 ± 2.776445 · 0.707107.
    found = statistics([1, 2, 3, 4, 5])

    assert (found.n, found.undefined, found.mean, found.median, found.min, found.max) == (5, 0, 3, 3, 1, 5)
    assert found.std == pytest.approx(1.5811388)
    assert found.ci_low == pytest.approx(1.036757)
    assert found.ci_high == pytest.approx(4.963243)


def test_one_value_tells_nothing_of_spread() -> None:
    found = statistics([7.0])

    assert (found.mean, found.std, found.ci_low, found.ci_high) == (7.0, None, None, None)


def test_equal_values_have_no_spread() -> None:
    found = statistics([7.0, 7.0])

    assert (found.std, found.ci_low, found.ci_high) == (0.0, 7.0, 7.0)


def test_undefined_values_are_counted_not_averaged() -> None:
    found = statistics([1.0, None, float("nan"), 3.0])

    assert (found.n, found.undefined, found.mean) == (2, 2, 2.0)
    assert statistics([None]).mean is None


def test_repetitions_of_a_cell_are_gathered_and_invalid_runs_left_out(tmp_path: Path) -> None:
    def run(name: str, cell: int, received: int, *, valid: bool = True) -> object:
        return make.record(
            tmp_path / name,
            outcomes=[make.outcome(bytes_received=received)],
            manifest={"cell": {"index": cell, "factors": {"cc": f"cc{cell}"}}, "valid": valid},
        )

    runs = [
        run("a", 1, 50_000_000), run("b", 0, 100_000_000), run("c", 0, 75_000_000),
        run("d", 0, 1, valid=False),
    ]  # fmt: skip

    rows = [row for row in summarise(runs) if (row.metric, row.scope) == ("goodput_bps", "total")]  # type: ignore[arg-type]

    assert [(row.cell, row.factors["cc"], row.statistics.n, row.statistics.mean) for row in rows] == [
        (0, "cc0", 2, 70e6),
        (1, "cc1", 1, 40e6),
    ]

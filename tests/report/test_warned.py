"""Warnings in reports: each once, with the run that it is about."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from rushhour.report.warned import warned

if TYPE_CHECKING:
    from rushhour.report.model import RunView


def runs(*warnings: list[str]) -> list[RunView]:
    made = [SimpleNamespace(label=f"buffer {n}", warnings=one) for n, one in enumerate(warnings)]
    return cast("list[RunView]", made)


def test_a_warning_of_one_run_names_it() -> None:
    assert warned(runs([], ["late"], []), 5) == (["buffer 1: late"], 0)


def test_a_warning_of_some_runs_names_the_first_of_them_and_counts_them() -> None:
    assert warned(runs([], ["late"], ["late"]), 5) == (["2 of 3 runs, the first of them buffer 1: late"], 0)


def test_a_warning_of_all_runs_names_none() -> None:
    assert warned(runs(["late", "late"]), 5) == (["late"], 0)
    assert warned(runs(["late"], ["late", "early"]), 5) == (["late", "buffer 1: early"], 0)


def test_warnings_that_are_left_out_are_counted() -> None:
    assert warned(runs(list("abc"), list("ab")), 2) == (["a", "b"], 1)

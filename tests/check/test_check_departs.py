"""A kernel that only behaves otherwise, so that no user loses by it, is called by that word."""

from typing import Any

from verdict_documents import cell, document, metric

from rushhour.check import telling

OTHERWISE = [metric(better="none")]
COUNTS = {"cells": 2, "differ": 2, "planned": 2, "verdict": "worse"}


def sentence(*cells: dict[str, Any]) -> str:
    return telling.commit({**COUNTS, "worst": telling.worst(document([*cells]))})


def test_the_sentence_says_departs_where_no_cell_is_worse_for_users() -> None:
    assert sentence(cell(0, metrics=OTHERWISE), cell(1, "same")).startswith(
        "Departs: suite/slow-start, cc=cubic"
    )


def test_a_cell_that_is_worse_stands_before_those_that_depart() -> None:
    assert sentence(cell(0, metrics=OTHERWISE), cell(1)).startswith("Worse: suite/slow-start, cc=reno")
    assert telling.worst(document([cell(0, "same")])) is None

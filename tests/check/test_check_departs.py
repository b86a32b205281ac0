"""A kernel that only behaves otherwise, so that no user loses by it, is called by that word."""

from typing import Any

from verdict_documents import cell, document, metric

from rushhour.check import telling, whole

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


def of_series(*ones: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {**COUNTS, "commit": name * 40, "subject": name, "exit": 1, "worst": telling.worst(document([one]))}
        for name, one in ones
    ]


def test_a_series_is_called_worse_only_if_a_commit_is_and_names_that_one() -> None:
    departing, bad = ("a", cell(0, metrics=OTHERWISE)), ("b", cell(1))
    said = "Departs: 2 commits, 2 departs; the first that is: aaaaaaaaaaaa a."
    assert whole.sentence(of_series(departing, departing)) == said
    commits = of_series(departing, bad)
    assert whole.deciding(commits) is commits[1]
    said = "Worse: 2 commits, 1 worse, 1 departs; the first that is: bbbbbbbbbbbb b."
    assert whole.sentence(commits) == said

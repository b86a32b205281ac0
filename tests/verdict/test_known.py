"""Known changes of the kernel: which cells show them, what the report says, that no verdict moves."""

import fnmatch
import re
from pathlib import Path
from typing import Any

import pytest
from verdict_documents import cell, document, metric, side

import rushhour
from rushhour.report.verdict import html, markdown
from rushhour.verdict.known import changes, explain, table

LINEAR = "ccce324dabfe2143519daf50ed8b1ef1d0c542f7"


def parted(*columns: str, kind: str = "state") -> dict[str, Any]:
    return {
        "seed": 1, "kind": kind, "t_ns": 1, "table": "tcp_info", "flow": "long", "end": None, "event": 1,
        "differs": list(columns), "before": {}, "after": {}, "sentence": "At 1 s, they part.", "earlier": [],
        "notes": [],
    }  # fmt: skip


def between(base: str, candidate: str, *cells: dict[str, Any]) -> dict[str, Any]:
    whole = document(list(cells))
    return {**whole, "base": side("old", base), "candidate": side("new", candidate)}


def test_every_change_has_a_commit_a_release_and_a_reason() -> None:
    for change in changes():
        assert re.fullmatch(r"[0-9a-f]{12}|[0-9a-f]{40}", change.commit)
        assert re.fullmatch(r"\d+\.\d+", change.since)
        assert change.subject
        assert change.why.endswith(".")
        assert change.proof in ("reverted", "source")
        assert change.sees.endswith(".")


def test_the_cells_that_are_said_to_measure_a_change_are_in_the_suite() -> None:
    suite = {path.stem for path in (Path(rushhour.__file__).parent / "catalog/suite").glob("*.toml")}
    named = {name for change in changes() for name in change.cells}
    assert named
    assert named <= suite
    shown = {pattern for change in changes() for one in change.shows for pattern in one.scenarios}
    assert not [one for one in shown if not fnmatch.filter({f"suite/{name}" for name in suite}, one)]


def test_a_change_that_nothing_measures_says_what_it_would_take() -> None:
    assert not [change.subject for change in changes() if bool(change.cells) == bool(change.lacks)]
    assert "| none: it takes a network card |" in table()


def test_the_table_has_a_row_for_each_change_the_oldest_first() -> None:
    rows = [line.split(" | ")[0].lstrip("| ") for line in table().splitlines() if line.startswith("| ")][1:]
    assert len(rows) == len(changes())
    releases = [tuple(map(int, row.split(",")[0].split("."))) for row in rows]
    assert releases == sorted(releases)
    assert "| `thresholds` |" in table()


@pytest.mark.parametrize(("base", "candidate"), [("6.1.192", "6.12.117"), ("6.12.117", "6.1.192")])
def test_a_cell_that_parts_as_a_change_makes_it_part_names_it(base: str, candidate: str) -> None:
    found = explain(between(base, candidate, cell(0, divergence=parted("backoff")), cell(1)))
    assert [one["commit"] for one in found["cells"][0]["known"]] == [LINEAR]
    assert found["cells"][1]["known"] == []
    assert (found["known"]["explained"], found["known"]["unexplained"]) == (1, 1)
    assert found["known"]["changes"][0]["cells"] == 1


def test_a_change_that_both_kernels_have_explains_nothing() -> None:
    found = explain(between("6.12.1", "7.2.13", cell(0, divergence=parted("backoff"))))
    assert found["cells"][0]["known"] == []
    assert found["known"]["changes"] == []


@pytest.mark.parametrize(
    ("base", "candidate", "known"),
    [
        ("6.1.192", "6.12.117", True),
        ("6.12.107", "6.12.117", True),
        ("6.12.111", "6.12.117", False),
        ("6.12.117", "7.2.13", False),
        ("7.2.13", "7.3.4", True),
        ("7.2.2", "7.2.3", True),
        ("6.1.192", "7.3.4", False),
    ],
)
def test_stable_releases_have_a_change_earlier_and_lose_one_that_is_taken_back(
    base: str, candidate: str, known: bool
) -> None:
    """6.12.111 and 7.2.3 have it, 7.3.4 reverts it."""
    one = cell(0, scenario="suite/path-mtu-answers", divergence=parted("rcv_ssthresh"))
    found = explain(between(base, candidate, one))["cells"][0].get("known", [])
    subjects = ["net: advertise TCP MSS from the configured MTU, not the learned PMTU"]
    assert [entry["subject"] for entry in found] == (subjects if known else [])


@pytest.mark.parametrize(
    ("base", "candidate", "since"),
    [
        ("6.1.192", "7.2.13", "7.2.3"),
        ("6.1.192", "6.12.117", "6.12.111"),
        ("6.1.192", "7.3.1", "7.3"),
        ("7.2.13", "7.3.4", "7.2.3, until 7.3.4"),
    ],
)
def test_a_change_is_told_with_the_release_of_the_kernel_that_has_it(
    base: str, candidate: str, since: str
) -> None:
    one = cell(0, scenario="suite/path-mtu-answers")
    found = explain(between(base, candidate, one))
    assert [entry["since"] for entry in found["cells"][0]["known"]] == [since]
    assert [entry["since"] for entry in found["known"]["changes"]] == [since]


def test_a_series_whose_first_release_is_not_known_is_named() -> None:
    found = explain(between("6.1.192", "7.2.13", cell(0, scenario="suite/fq-turns")))
    assert [entry["since"] for entry in found["cells"][0]["known"]] == ["7.2 stable"]


def test_a_shift_in_time_is_no_sign_of_a_change() -> None:
    found = explain(between("6.1.1", "6.12.1", cell(0, divergence=parted("backoff", kind="time"))))
    assert found["cells"][0]["known"] == []


def test_patterns_of_scenario_and_metric_must_both_fit() -> None:
    late = metric(metric="ack_timeout_max_us")
    fits = cell(0, scenario="suite/delayed-acks", metrics=[late])
    other = cell(1, scenario="suite/delayed-acks", metrics=[metric()])
    elsewhere = cell(2, scenario="suite/slow-start", metrics=[late])
    cells = explain(between("6.1.1", "6.12.1", fits, other, elsewhere))["cells"]
    assert [len(one["known"]) for one in cells] == [1, 0, 0]


def test_a_change_of_one_family_is_not_told_of_the_other() -> None:
    cells = [
        cell(i, scenario="suite/path-mtu-closed", factors={"family": f})
        for i, f in enumerate(("ipv4", "ipv6"))
    ]
    found = explain(between("5.10.262", "6.12.117", *cells))["cells"]
    assert [[one["subject"][:4] for one in each["known"]] for each in found] == [["ipv4"], ["ipv6"]]


def test_the_change_of_most_cells_comes_first() -> None:
    late = [
        cell(i, scenario="suite/delayed-acks", metrics=[metric(metric="ack_timeout_max_us")]) for i in (1, 2)
    ]
    found = explain(between("6.1.1", "6.12.1", cell(0, divergence=parted("backoff")), *late))
    assert [one["cells"] for one in found["known"]["changes"]] == [2, 1]


def test_what_is_worse_stays_worse() -> None:
    before = between("6.1.1", "6.12.1", cell(0, divergence=parted("backoff")))
    after = explain(before)
    assert (after["verdict"], after["exit"], after["counts"]) == (
        before["verdict"], before["exit"], before["counts"],
    )  # fmt: skip


def test_kernels_of_one_version_have_no_known_changes() -> None:
    whole = between("6.12.1", "6.12.2", cell(0, divergence=parted("backoff")))
    assert explain(whole) == whole


def test_the_reports_name_the_change(tmp_path: Any) -> None:
    found = explain(between("6.1.1", "6.12.1", cell(0, divergence=parted("backoff"))))
    for text in (html(found, tmp_path), markdown(found)):
        assert LINEAR[:12] in text
        assert "make the first N SYN RTO backoffs linear" in text

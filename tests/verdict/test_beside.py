"""Two runs of one kernel with a key changed: the key first, what it changed, and no verdict."""

from pathlib import Path
from typing import Any

import pytest
import verdict_documents as verdicts
from rich.console import Console

from rushhour.report.verdict import html, terminal
from rushhour.report.verdict.story import story

CHANGED = [{"scenario": "suite/slow-start", "key": "topology.queue", "base": "fifo", "candidate": "fq_codel"}]


def one_seed(metric: str, base: float, candidate: float, **more: Any) -> dict[str, Any]:
    """A metric of two single runs, as the rule leaves it: undecided, with an interval that says nothing."""
    change = (candidate - base) / base
    sides = {"base": {"n": 1, "mean": base}, "candidate": {"n": 1, "mean": candidate}}
    said = {
        "difference": candidate - base,
        "reason": "one seed cannot tell chance from change",
    }
    wide = {"interval": [-8.74, 10.75], "difference_interval": [-8.74 * base, 10.75 * base]}
    return verdicts.metric("inconclusive", change, metric=metric, **sides, **said, **wide, **more)


@pytest.fixture
def document() -> dict[str, Any]:
    metrics = [
        one_seed("srtt_p50_us", 90_000.0, 22_000.0, unit="µs", better="lower"),
        one_seed("goodput_bps", 20e6, 17.6e6),
        one_seed("retransmits", 12.0, 12.0, unit="segments", better="lower"),
    ]
    return verdicts.document([verdicts.cell(0, "inconclusive", metrics=metrics)], changed=CHANGED)


def test_the_key_comes_first_and_then_what_differs_and_by_how_much(document: dict[str, Any]) -> None:
    whole = story(document)
    assert whole.headline == "topology.queue: fifo → fq_codel"
    assert whole.lead.startswith(
        "Goodput of long 20.00 Mbit/s → 17.60 Mbit/s (\N{MINUS SIGN}12.0 %); RTT median"
    )
    assert [metric.name for metric in whole.cells[0].telling] == ["goodput_bps", "srtt_p50_us"]
    assert [metric.interval for metric in whole.cells[0].metrics] == ["", "", ""]


def test_no_word_of_a_verdict_is_said_of_it(document: dict[str, Any]) -> None:
    page = html(document, Path("/")).partition("<body")[2].partition('id="definitions"')[0]
    console = Console(width=100)
    with console.capture() as printed:
        console.print(terminal(document))
    for text in (page, printed.get()):
        assert "fifo → fq_codel" in text
        assert not [word for word in ("nconclusive", "orse", "cannot tell", "874") if word in text]


def test_what_changes_nothing_says_so() -> None:
    whole = story(verdicts.document([verdicts.cell(0, "same")], changed=CHANGED))
    assert whole.lead == "It changes nothing here: equal to the byte."


def test_an_interval_that_says_nothing_is_not_said_of_kernels_either() -> None:
    found = story(
        verdicts.document([verdicts.cell(0, "inconclusive", metrics=[one_seed("goodput_bps", 2e7, 1e7)])])
    )
    assert found.cells[0].metrics[0].interval == ""
    assert "Inconclusive" in found.headline


def test_what_harms_nobody_has_a_word_of_its_own() -> None:
    mere = verdicts.metric(metric="cwnd_max_segments", better="none", unit="segments")
    document = verdicts.document([verdicts.cell(0, metrics=[mere]), verdicts.cell(1, "same")])
    whole = story(document)
    assert whole.headline == "Departs: 1 of 2 cells behaves otherwise, and none is worse for users"
    assert [cell.verdict for cell in whole.cells] == ["departs"]
    assert [metric.name for metric in whole.cells[0].telling] == ["cwnd_max_segments"]
    assert ("departs", 1) in whole.counts
    assert ("worse", 0) in whole.counts
    for text in (html(document, Path("/")).partition("What the words mean")[0], printed(document)):
        assert "departs" in text


def test_what_users_lose_stays_worse() -> None:
    mere = verdicts.metric(metric="cwnd_max_segments", better="none", unit="segments")
    lost = verdicts.cell(1, metrics=[mere, verdicts.metric()])
    whole = story(verdicts.document([verdicts.cell(0, metrics=[mere]), lost]))
    assert whole.headline == "Worse: 1 of 2 cells; 1 more behave otherwise"
    broken = [{"text": "utilization of total at least 0.9", "base": True, "candidate": False}]
    fallen = story(verdicts.document([verdicts.cell(0, metrics=[mere], expectations=broken)]))
    assert [cell.verdict for cell in fallen.cells] == ["worse"]


def printed(document: dict[str, Any]) -> str:
    console = Console(width=100)
    with console.capture() as text:
        console.print(terminal(document))
    return text.get()

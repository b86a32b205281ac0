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
        "reason": "one seed cannot tell luck from change",
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

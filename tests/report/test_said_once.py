"""What a terminal leaves out and says twice: nothing."""

import io
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
import verdict_documents as verdicts
from commandline import rush
from report_records import make_set
from rich.console import Console

from rushhour.record.result_set import ResultSet
from rushhour.report import terminal as screens
from rushhour.report.published import Line, Sheet
from rushhour.report.said import once
from rushhour.report.verdict import terminal
from rushhour.report.why import MAX_FLOWS, Said, Why, unexplained

if TYPE_CHECKING:
    from rushhour.report.model import RunView

QUEUE = Said("It waits.", "let the link manage its queue", "", '--set topology.queue="fq_codel"', "")


def flow(name: str, *said: Said) -> Why:
    return Why(name, (("path", 1.0),), said)


def test_advice_for_several_flows_is_said_once_with_their_names() -> None:
    own = replace(QUEUE, advice="send more", override="", expected="9 Mbit/s")
    found = once([flow("a", QUEUE), flow("b", QUEUE, own), flow("c", QUEUE)])
    assert [[said.advice for said in one.said] for one in found] == [
        [""], ["", "send more"], ["For a, b and c: let the link manage its queue"],
    ]  # fmt: skip
    assert [said.override for one in found for said in one.said] == ["", "", "", QUEUE.override]
    assert [said.says for one in found for said in one.said] == ["It waits."] * 4


def test_another_way_is_a_line_of_its_own() -> None:
    both = replace(QUEUE, instead='--set topology.buffer="60000B"')
    assert both.commands == (both.override, f"or {both.instead}")
    assert replace(both, override="").commands == (both.instead,)
    assert once([flow("a", both), flow("b", both)])[0].said[0].commands == ()


def test_what_each_flow_may_expect_stays_its_own() -> None:
    found = once(
        [flow("a", replace(QUEUE, expected="5 Mbit/s")), flow("b", replace(QUEUE, expected="7 Mbit/s"))]
    )
    assert found[1].said[0].expected == "a 5 Mbit/s, b 7 Mbit/s"
    assert once([flow("a", QUEUE)])[0].said == (QUEUE,)


def test_a_table_that_does_not_agree_is_followed_by_the_known_cause() -> None:
    line = Line((), "27", "36", "+9 ms", 1.0, beyond=True, agrees=False, note="")
    cause = "The buffer of the switch."
    sheet = Sheet("RTT", "Section 4.5", "", "", "ms", "2 ms", (), (line,), 0, 1, "", cause, "")
    assert "Why  The buffer of the switch." in printed(screens.compared(sheet))
    assert "Why" not in printed(screens.compared(replace(sheet, agreeing=1)))


def printed(part: Any, width: int = 80) -> str:
    text = io.StringIO()
    Console(file=text, width=width, no_color=True).print(part)
    return text.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_value_of_a_comparison_is_cut(width: int) -> None:
    row = {"t_ns": 5_013_941_504, "event": "ACK 22274", "snd_cwnd": 47, "ssthresh": 34, "snd_una": 59_861_768}
    row |= {"snd_nxt": 59_929_824, "snd_wnd": 95_872, "srtt": 5321}
    other = row | {"t_ns": 5_016_000_768, "srtt": 6483, "snd_wnd": 123_456_789}
    rows = {"base": [row], "candidate": [other]}
    parts = {"sentence": "They part.", "t_ns": 5_013_941_504, "before": {}, "after": rows, "notes": []}
    metric = verdicts.metric(metric="flow_completion_time_p99_us", scope="group:requests of the web, 10 kB")
    document = verdicts.document([verdicts.cell(0, metrics=[metric], divergence=parts)])
    text = printed(terminal(document), width)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    for value in ("123456789", "59929824", "6483", "5.016000768"):
        assert value in text


def test_times_of_a_divergence_have_their_units() -> None:
    """A datagram that was never answered has -1 in its record."""
    sent = {"t_ns": 1_000_000_000, "rx_ns": -1, "srtt": 20_000, "snd_wnd": 9}
    parts = {"sentence": "They part.", "t_ns": 1, "before": {}, "after": {"base": [sent]}, "notes": []}
    document = verdicts.document([verdicts.cell(0, divergence=parts)])
    head, line = (
        line.split()
        for line in printed(terminal(document)).splitlines()
        if "snd_wnd" in line or "never" in line
    )
    assert head == ["s", "rx", "s", "srtt", "µs", "snd_wnd"]
    assert line == ["-", "1.000000000", "never", "20000", "9"]


def test_run_without_a_scenario_says_where_they_are() -> None:
    done = rush("run")
    assert done.returncode == 2
    assert "rushhour list" in done.stderr


def test_a_run_says_each_advice_once(tmp_path: Path) -> None:
    text = io.StringIO()
    results = ResultSet.open(make_set(tmp_path, [{}]))
    screens.print_results(results, Console(file=text, width=200, no_color=True))
    advice = [line for line in text.getvalue().splitlines() if "→ " in line and "Make the sending" in line]
    assert len(advice) == 1
    assert "For long and short" in advice[0]


@pytest.mark.parametrize(("flows", "said"), [(8, ""), (64, "These are the first 8 of 64 TCP flows.")])
def test_flows_that_are_not_explained_are_counted(flows: int, said: str) -> None:
    run = SimpleNamespace(flows=[SimpleNamespace(kind="tcp")] * flows, why=(None,) * MAX_FLOWS)
    assert unexplained(cast("RunView", run)) == said

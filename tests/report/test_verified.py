"""What a report says of flows whose receivers compare every byte: first sentence, table, verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cpus
import pytest
from known_runs import record_of
from test_answer import run

from rushhour.lab.uml import UmlLab
from rushhour.metrics.value import MetricValue
from rushhour.record.document import read
from rushhour.record.result_set import ResultSet
from rushhour.record.set_file import SetFile
from rushhour.report import html, markdown
from rushhour.report.answer import answer
from rushhour.report.model import view
from rushhour.report.tables import cells_table, flows_table
from rushhour.running.prepare import prepare
from rushhour.summary.expectations import judge, told

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.report.model import RunView

NOTHING = SetFile()
JUDGED = {"scenario": {"resolved": {"judge": [{"metric": "corrupted_bytes"}]}}}


def compared(shares: dict[str, float], corrupted: dict[str, int], **factors: str) -> RunView:
    more = [MetricValue("corrupted_bytes", f"flow:{name}", count, "B") for name, count in corrupted.items()]
    total = MetricValue("corrupted_bytes", "total", sum(corrupted.values()), "B")
    return run(shares, factors, more=(*more, total))


def test_what_was_compared_is_said_behind_who_got_what_and_alone_where_that_is_the_question() -> None:
    one = compared({"a": 0.9, "b": 0.1}, {"a": 0, "b": 0})
    checked = "Every byte of a and b that arrived is what was sent."
    assert answer(NOTHING, [one]) == f"a got 90 % of the goodput, b 10 %. {checked}"
    assert answer(read(SetFile, JUDGED, "set.json", ""), [one]) == checked
    assert (
        answer(NOTHING, [compared({"a": 1.0}, {"a": 0})]) == "Every byte of a that arrived is what was sent."
    )
    assert "sent" not in answer(NOTHING, [run({"a": 0.9, "b": 0.1})])


def test_what_nobody_sent_is_said_first() -> None:
    many = {f"f{number}": 0 for number in range(6)}
    runs = [compared({"a": 0.9, "b": 0.1}, many | wrong, case=case) for case, wrong in
            [("whole", {}), ("bundles", {"f1": 7}), ("cut", {"f1": 1, "f2": 3})]]  # fmt: skip
    assert answer(NOTHING, runs[:1]).endswith(
        "Every byte of all 6 flows that were verified that arrived is what was sent."
    )
    assert answer(NOTHING, runs) == (
        "11 bytes that arrived are not what was sent in 2 of 3 runs, most of them, 7, of f1 (case bundles)."
    )
    assert answer(NOTHING, [compared({}, {"a": 1})]) == "1 byte that arrived is not what was sent of a."


def test_verdicts_that_differ_in_the_flow_alone_are_one_line() -> None:
    values = [MetricValue("corrupted_bytes", f"flow:{name}", 0 if name != "c" else 2, "B") for name in "abcd"]
    expects = [{"metric": "corrupted_bytes", "flow": name, "equals": 0} for name in "abcd"]
    assert told(judge(expects, values, {})) == [
        (True, "corrupted_bytes of flow:a, b and d is 0 B; expected = 0"),
        (False, "corrupted_bytes of flow:c is 2 B; expected = 0"),
    ]
    other = [
        MetricValue("utilization", "end:left → right", 0.95, "1"),
        MetricValue("drops", "total", 0.0, "1"),
    ]
    bounds = [
        {"metric": "utilization", "scope": "left → right", "min": 0.9},
        {"metric": "drops", "equals": 0},
    ]
    messages = [(one.ok, one.message) for one in judge(bounds, other, {})]
    assert told(judge(bounds, other, {})) == messages


@pytest.mark.virtual
def test_the_suites_own_page_tells_that_nothing_was_corrupted(tmp_path: Path) -> None:
    (batch,) = prepare(["suite/what-was-sent"], kernels=["debian-6.12"], quick=True, out=tmp_path)
    one = next(iter(batch.runs()))
    record = record_of(UmlLab(), batch.job(one), tmp_path / "runs" / "0000", cpus.own())
    seen = view(record, record.metrics(), factors={}, points=0)
    for table in (cells_table([seen]), flows_table(seen)):
        place = [column.title for column in table.columns].index("corrupted")
        assert {row.values[place] for row in table.rows} == {0.0}
    results = ResultSet.open(tmp_path)
    says = "Every byte of bulk, small and datagrams that arrived is what was sent."
    assert f'<p class="answer">{says}' in html.render(results)
    assert f"**{says}" in markdown.render(results)

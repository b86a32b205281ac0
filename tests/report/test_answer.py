"""The first sentence: who got how much, by what was measured, and nothing that was not."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from report_records import make_record, make_set
from test_terminal import screen

from rushhour.metrics.value import MetricValue
from rushhour.record.document import read
from rushhour.record.result_set import ResultSet
from rushhour.record.set_file import SetFile
from rushhour.report import html, markdown
from rushhour.report.answer import answer
from rushhour.report.model import FlowLine, RunView
from rushhour.report.shares import share, sharers
from rushhour.report.tables import cells_table

NOTHING = SetFile()


def run(
    shares: Mapping[str, float | None],
    factors: Mapping[str, str] | None = None,
    *,
    valid: bool = True,
    warmup_s: float = 0.0,
    more: tuple[MetricValue, ...] = (),
    **when: str,
) -> RunView:
    """A run of flows with these shares; `a.1` is a copy of `a`, `udp:a` a stream of UDP."""
    flows, metrics = [], list(more)
    for word, part in shares.items():
        kind, _, name = word.rpartition(":")
        stem, _, number = name.rpartition(".")
        group = stem if number.isdigit() else name
        time = when.get(name, "0 to 9 s")
        flows.append(FlowLine(name, kind or "tcp", "s → r", "cubic", time, time, f"flow:{name}", group))
        if len(shares) > 1:
            metrics.append(MetricValue("goodput_share", f"flow:{name}", part, "1"))
    return RunView(
        name="0", title="A title", factors=dict(factors or {}), kernel="Linux 6", lab="uml", seed=1,
        conditions=[], flows=flows, valid=valid, reasons=[], warnings=[], metrics=metrics, verdicts=[],
        panels=[], duration_s=9.0, warmup_s=warmup_s, command="",
    )  # fmt: skip


def buffers(*told: tuple[str, float]) -> list[RunView]:
    return [run({"bbr": part, "cubic": 1 - part}, {"buffer": level}) for level, part in told]


def test_of_one_run_everybodys_share_is_said_the_greatest_first() -> None:
    assert answer(NOTHING, [run({"cubic": 0.08, "bbr": 0.92})]) == "bbr got 92 % of the goodput, cubic 8 %."
    three = run({"a": 0.2, "b": 0.5, "c": 0.3})
    assert answer(NOTHING, [three]) == "b got 50 % of the goodput, c 30 % and a 20 %."


@pytest.mark.parametrize(
    ("crossed", "shared"),
    [
        (({0, 2}, {2, 4}), True),
        (({0}, {1}), False),  # the two directions of one link
        (({0, 2}, {0}, {2}), True),  # short flows that only meet the long one
        (({0}, {2}, {0, 2}), True),
        (({0}, {0}, {2}), False),
        (({0}, set()), True),  # what a path crosses is not known
    ],
)
def test_flows_that_meet_on_no_link_share_nothing(crossed: tuple[set[int], ...], *, shared: bool) -> None:
    plain = run({name: 1 / len(crossed) for name, _ in zip("abc", crossed, strict=False)})
    flows = [replace(flow, crossed=frozenset(ends)) for flow, ends in zip(plain.flows, crossed, strict=True)]
    one = replace(plain, flows=flows)
    assert bool(sharers([one])) == shared
    assert bool(answer(NOTHING, [one])) == shared


def test_of_a_sweep_it_is_who_got_most_at_each_level() -> None:
    said = answer(NOTHING, buffers(("0.5bdp", 0.915), ("2bdp", 0.497), ("8bdp", 0.143)))
    whole = "At buffer 0.5 BDP bbr got 92 % of the goodput, at 2 BDP both got about half, "
    assert said == whole + "at 8 BDP cubic got 86 %."


def test_levels_that_are_words_stand_with_a_word_and_a_winner_is_named_once() -> None:
    runs = [run({"a": part, "b": 1 - part}, {"queue": queue}) for queue, part in (("fifo", 0.9), ("fq", 0.6))]
    assert answer(NOTHING, runs) == "With queue fifo a got 90 % of the goodput, with fq 60 %."


def test_where_all_are_even_that_is_said_once() -> None:
    said = answer(NOTHING, buffers(("1bdp", 0.52), ("2bdp", 0.48)))
    assert said == "Both got about the same share of the goodput in both cells."


def test_many_cells_are_counted_and_the_extremes_named() -> None:
    levels = [(f"{n}bdp", part) for n, part in enumerate((0.95, 0.9, 0.8, 0.5, 0.3, 0.2), 1)]
    assert answer(NOTHING, buffers(*levels)) == (
        "bbr got the larger share of the goodput in 3 of 6 cells, at most 95 % (buffer 1 BDP); "
        "cubic in 2, at most 80 % (buffer 6 BDP); in 1 of 6 both got about the same."
    )


def test_a_share_is_never_rounded_to_all_or_nothing() -> None:
    said = answer(NOTHING, [run({"a": 0.998, "b": 0.002})])
    assert said == "a got more than 99 % of the goodput, b less than 1 %."


def test_copies_of_a_flow_are_told_of_together() -> None:
    one = run({"bbr": 0.7, "cubic.1": 0.1, "cubic.2": 0.2})
    assert [sharer.said for sharer in sharers([one])] == ["bbr", "the cubic flows"]
    assert answer(NOTHING, [one]) == "bbr got 70 % of the goodput, the cubic flows 30 %."
    only_copies = run({"x.1": 0.4, "x.2": 0.6})
    assert answer(NOTHING, [only_copies]) == "x.2 got 60 % of the goodput, x.1 40 %."


def test_what_the_shares_are_of_is_said_where_it_is_not_everything() -> None:
    late = run({"a": 0.6, "b": 0.4}, b="5 to 9 s")
    assert answer(NOTHING, [late]) == "While both were active, a got 60 % of the goodput, b 40 %."
    warm = run({"a": 0.6, "b": 0.4}, warmup_s=2)
    assert answer(NOTHING, [warm]).startswith("After the warm-up, a got")
    beside = run({"a": 0.6, "b": 0.4, "udp:u": None})
    assert "of TCP's goodput" in answer(NOTHING, [beside])


def test_repetitions_are_means_and_say_so() -> None:
    runs = [run({"a": part, "b": 1 - part}, {"repetition": str(n)}) for n, part in enumerate((0.6, 0.8))]
    assert answer(NOTHING, runs) == "a got 70 % of the goodput, b 30 % (means of 2 runs)."


def test_invalid_runs_and_undefined_shares_say_nothing() -> None:
    assert answer(NOTHING, [run({"a": 0.6, "b": 0.4}, valid=False)]) == ""
    assert answer(NOTHING, [run({"a": None, "b": None})]) == ""
    assert answer(NOTHING, [run({"alone": 1.0})]) == ""
    runs = [run({"a": 0.9, "b": 0.1}, {"x": "1"}), run({"a": None, "b": None}, {"x": "2"})]
    assert answer(NOTHING, runs) == "At x 1 a got 90 % of the goodput; 1 of 2 cells has no such number."


def figured(**figure: Any) -> SetFile:
    return read(SetFile, {"scenario": {"resolved": {"figure": [{"title": "F", "x": "loss", **figure}]}}}, "x")


def lossy(*told: tuple[str, float | None]) -> list[RunView]:
    return [
        run({"one": None}, {"loss": loss}, more=(MetricValue("utilization", "total", value, "1"),))
        for loss, value in told
    ]


def test_the_first_figure_of_a_scenario_names_another_metric() -> None:
    about = figured(y="utilization")
    said = answer(about, lossy(("0%", 0.99), ("1%", 0.5), ("2%", 0.25)))
    assert said == "Utilization was 0.990 at loss 0%, 0.500 at 1% and 0.250 at 2%."
    many = lossy(*((f"{n}%", 1 - n / 10) for n in range(7)))
    assert answer(about, many) == "Utilization lay between 0.400 (loss 6%) and 1.000 (loss 0%)."
    assert answer(about, lossy(("0%", 0.5), ("1%", 0.5))) == "Utilization was 0.500 in both cells."


@pytest.mark.parametrize("figure", [{"y": "goodput_share"}, {"y": "snd_cwnd", "x": None}, {"y": "nonsense"}])
def test_other_figures_leave_it_to_the_shares(figure: dict[str, Any]) -> None:
    assert "bbr got 92 %" in answer(figured(**figure), [run({"bbr": 0.92, "cubic": 0.08})])


def test_the_table_of_cells_has_a_column_for_each_share() -> None:
    runs = buffers(("1bdp", 0.9), ("2bdp", 0.4))
    table = cells_table(runs, split=True)
    assert [column.title for column in table.columns] == ["bbr share", "cubic share"]
    assert [[round(value or 0, 3) for value in row.values] for row in table.rows] == [[0.9, 0.1], [0.4, 0.6]]
    assert table.columns[0].scale.text(0.9) == "90.0"
    assert not cells_table(runs).columns


def test_more_flows_than_a_table_can_show_have_no_columns() -> None:
    many = run(dict.fromkeys("abcde", 0.2))
    assert sharers([many]) == ()
    assert len(sharers([many], 8)) == 5
    assert share(many, sharers([many], 8)[0]) == 0.2


def test_terminal_page_and_markdown_begin_with_it_and_say_what_was_changed(tmp_path: Path) -> None:
    folder = make_set(tmp_path / "set", [{"cc": "cubic"}, {"cc": "reno"}], seconds=6)
    words = ["topology.rate=10mbit", "seed=[bold]3"]
    (folder / "set.json").write_text(json.dumps({"format": "rushhour-set/1", "asked": {"sets": words}}))
    results = ResultSet.open(folder)
    said = "While both were active, "
    assert said in screen(folder)
    assert "Changed  topology.rate=10mbit · seed=[bold]3\n" in screen(folder)
    page = html.render(results)
    assert f'<p class="answer">{said}' in page
    assert "<code>topology.rate=10mbit</code> · <code>seed=[bold]3</code>" in page
    assert 'value="goodput_share" checked' in page
    text = markdown.render(results)
    assert f"**{said}" in text
    assert "* changed: topology.rate=10mbit · seed=\\[bold\\]3\n" in text
    assert "| long share \\[%\\] |" in text


def test_without_a_change_nothing_is_said_of_one(tmp_path: Path) -> None:
    make_record(tmp_path / "runs" / "0000", seconds=6)
    assert "Changed" not in screen(tmp_path)
    assert "  share  " in screen(tmp_path), "a column of the flows' table"

"""Published beside measured: the right cells, the right unit, the right verdict."""

import json
from pathlib import Path
from typing import Any

import builders
import pytest
from report_records import make_set

from rushhour.errors import RecordError
from rushhour.record.result_set import ResultSet
from rushhour.report.published import sheets, tally
from rushhour.summary.comparison import Comparison, compare, document

CELLS = [{"cc": "cubic", "label.ratio": 1.2}, {"cc": "reno", "label.ratio": 1.2}]


def table(**change: Any) -> dict[str, Any]:
    made = {
        "source": "Table 1",
        "title": "Goodput",
        "metric": "goodput_bps",
        "unit": "Mbit/s",
        "agrees": "5%",
        "values": [{"where": {"cc": "cubic"}, "value": 95.0}, {"where": {"cc": "reno"}, "value": 9.0}],
        "cause": "Nine is no ninety.",
    }
    return made | change


def results(folder: Path, *tables: dict[str, Any], cells: Any = None, **about: Any) -> ResultSet:
    made = make_set(folder / "set", cells or CELLS, seconds=6)
    (made / "set.json").write_text(json.dumps({"published": list(tables), **about}))
    return ResultSet.open(made)


def one(found: ResultSet) -> Comparison:
    (comparison,) = compare(found)
    return comparison


def goodput(found: ResultSet, place: int) -> float:
    values = list(found)[place].metrics()
    return next(v.value or 0.0 for v in values if (v.metric, v.scope) == ("goodput_bps", "total")) / 1e6


def test_each_number_is_held_against_its_own_cells_in_its_own_unit(tmp_path: Path) -> None:
    found = results(tmp_path, table())
    cubic, reno = one(found).rows
    assert cubic.measured.mean == pytest.approx(goodput(found, 0))
    assert reno.measured.mean == pytest.approx(goodput(found, 1))
    assert cubic.difference == pytest.approx(goodput(found, 0) - 95)
    assert reno.relative == pytest.approx(goodput(found, 1) / 9 - 1)
    assert (cubic.agrees, reno.agrees) == (True, False)
    assert (one(found).agreeing, one(found).measured) == (1, 2)


def test_cells_that_differ_in_what_a_number_does_not_name_are_never_averaged(tmp_path: Path) -> None:
    found = results(tmp_path, table(values=[{"where": {"label.ratio": 1.2}, "value": 90}]))
    (row,) = one(found).rows
    assert (row.measured.n, row.agrees) == (0, None)
    assert row.note == "the cells differ in cc, which the number does not name"


def test_a_number_that_does_not_tell_cells_apart_is_held_against_each(tmp_path: Path) -> None:
    found = results(tmp_path, table(over=["cc"], values=[{"where": {"label.ratio": 1.2}, "value": 90}]))
    cubic, reno = one(found).rows
    assert (cubic.where["cc"], reno.where["cc"]) == ("cubic", "reno")
    assert cubic.measured.mean == pytest.approx(goodput(found, 0))
    assert reno.measured.mean == pytest.approx(goodput(found, 1))


def test_repetitions_of_a_cell_are_averaged_whatever_their_seeds(tmp_path: Path) -> None:
    cells = [{"cc": "cubic", "seed": 1}, {"cc": "cubic", "seed": 2}]
    found = results(tmp_path, table(values=[{"where": {"cc": "cubic"}, "value": 90}]), cells=cells)
    assert one(found).rows[0].measured.n == 2


@pytest.mark.parametrize(
    ("kind", "value", "verdict"), [("below", 1e4, True), ("below", 1, False), ("above", 1, True)]
)
def test_a_bound_is_kept_or_not_and_no_tolerance_widens_it(
    tmp_path: Path, kind: str, value: float, verdict: bool
) -> None:
    values = [{"where": {"cc": "cubic"}, "value": value, "kind": kind}]
    (sheet,) = sheets([one(results(tmp_path, table(agrees="1000%", values=values)))])
    (line,) = sheet.lines
    assert line.agrees is verdict
    assert line.published == f"{'<' if kind == 'below' else '>'} {value:.10g}"
    assert (line.place == 0) is verdict
    assert sheet.verdict == f"{int(verdict)} of 1 within the bound"


def test_what_was_derived_says_so_with_what_it_was_made_of(tmp_path: Path) -> None:
    (sheet,) = sheets([one(results(tmp_path, table(kind="derived", how="95 is 5 less than 100.")))])
    assert sheet.lines[0].published == "95, derived"
    assert "95 is 5 less than 100." in sheet.notes[0]


def test_a_cause_and_a_guess_are_said_as_what_they_are(tmp_path: Path) -> None:
    found = results(tmp_path, table(tried=["label.ratio"], guess="The moon."))
    assert sheets([one(found)])[0].notes == [
        "Cause: Nine is no ninety. Tried: label.ratio.",
        "A guess that nothing tried: The moon.",
    ]


@pytest.mark.parametrize(
    ("agrees", "spread", "verdict"),
    [("1%", None, False), ("1%", 60.0, True), ("60 Mbit/s", None, True), ("2 Mbit/s", None, False)],
)
def test_agreement_is_by_share_by_amount_or_by_the_documents_own_spread(
    tmp_path: Path, agrees: str, spread: float | None, verdict: bool
) -> None:
    values = [{"where": {"cc": "cubic"}, "value": 50.0, "spread": spread}]
    found = results(tmp_path, table(agrees=agrees, values=values))
    assert [row.agrees for row in one(found).rows] == [verdict]


def test_what_was_not_run_and_what_is_invalid_is_said_not_made_up(tmp_path: Path) -> None:
    values = [{"where": {"cc": "cubic"}, "value": 90.0}, {"where": {"cc": "vegas"}, "value": 9.0}]
    found = results(tmp_path, table(values=values))
    path = tmp_path / "set/runs/0000/manifest.json"
    path.write_text(path.read_text().replace('"valid": true', '"valid": false'))
    builders.reseal(path.parent)
    invalid, missing = one(found).rows
    assert (invalid.agrees, invalid.note) == (None, "the run is invalid")
    assert (missing.agrees, missing.note) == (None, "no such cell was run")
    assert sheets([one(found)])[0].verdict == "nothing of it was measured"


def test_a_flow_is_that_flow_or_the_mean_of_its_copies(tmp_path: Path) -> None:
    found = results(tmp_path, table(flow="long", values=[{"where": {"cc": "cubic"}, "value": 1}]))
    values = {v.scope: v.value for v in next(iter(found)).metrics() if v.metric == "goodput_bps"}
    assert one(found).rows[0].measured.mean == pytest.approx((values["flow:long"] or 0) / 1e6)
    absent = results(tmp_path / "other", table(flow="no", values=[{"where": {"cc": "cubic"}, "value": 1}]))
    assert one(absent).rows[0].measured.mean is None


def test_a_part_of_the_experiment_is_measured_where_the_table_says_so(tmp_path: Path) -> None:
    late = table(
        **{"from": "2s", "to": "4s", "flow": "long", "values": [{"where": {"cc": "cubic"}, "value": 90}]}
    )
    early = late | {"from": "0s", "to": "1s"}
    found = compare(results(tmp_path, early, late))
    first, last = (comparison.rows[0].measured.mean or 0 for comparison in found)
    assert first != pytest.approx(last, rel=0.01)
    assert "from 2s to 4s" in sheets(found)[1].about


def test_a_quick_look_is_not_compared(tmp_path: Path) -> None:
    assert compare(results(tmp_path, table(), quick=True)) == []


def test_damaged_published_data_are_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="make no sense"):
        compare(results(tmp_path, {"source": 3}))


def test_sheets_say_it_in_words_and_machines_get_numbers(tmp_path: Path) -> None:
    found = compare(results(tmp_path, table()))
    (sheet,) = sheets(found)
    assert sheet.heads == ("cc",)
    assert sheet.verdict == "1 of 2 within 5 %"
    agrees, differs = sheet.lines
    assert (agrees.published, agrees.beyond) == ("95", False)
    assert abs(agrees.place or 0.0) < 1
    assert (differs.place, differs.beyond) == (1.0, True)
    assert tally([sheet]) == (1, 2)
    (said,) = document(found)
    assert (said["agreeing"], said["measured"], said["cause"]) == (1, 2, "Nine is no ninety.")
    assert said["values"][0]["where"] == {"cc": "cubic"}
    json.dumps(said)

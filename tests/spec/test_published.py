"""Published data beside a scenario: what is read, and what is refused with its line."""

from pathlib import Path

import pytest
from scenarios import scenario

from rushhour.errors import Fault, ScenarioError
from rushhour.quantities.measures import Tolerance, convert
from rushhour.quantities.units import UnitError
from rushhour.spec import find_scenarios, load_published

UNITS = {"loss": "1", "srtt_mean_us": "µs", "drops": "packets"}
SWEPT = scenario('[sweep]\n"cc" = ["cubic", "reno"]\n"topology.rtt" = ["10ms", "20ms"]\n')
TABLE = """\
[[published]]
source = "Table 4.3"
title = "Data loss"
metric = "loss"
unit = "%"
values = [
  { where = { cc = "reno", "topology.rtt" = "20ms" }, value = 16.5, spread = 0.3 },
  { where = { cc = "reno", topology.rtt = "10ms" }, value = 20 },
]
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "name.published.toml"
    file.write_text(text)
    return file


def faults(folder: Path, text: str) -> dict[str, Fault]:
    with pytest.raises(ScenarioError) as refused:
        load_published(write(folder, text), SWEPT, UNITS)
    return {fault.key: fault for fault in refused.value.faults}


def test_a_table_of_numbers_is_read_with_its_cells(tmp_path: Path) -> None:
    (table,) = load_published(write(tmp_path, TABLE), SWEPT, UNITS)
    assert (table.source, table.read, table.agrees) == ("Table 4.3", "table", Tolerance(10, "%"))
    first, second = table.values
    assert (first.value, first.spread) == (16.5, 0.3)
    assert first.where == {"cc": "reno", "topology.rtt": "20ms"}
    assert second.where == {"cc": "reno", "topology.rtt": "10ms"}, "dotted keys are keys"


def test_every_fault_is_said_at_once_with_line_and_nearest_word(tmp_path: Path) -> None:
    text = TABLE.replace('"loss"', '"los"').replace('cc = "reno"', 'cc = "remo"', 1)
    text += 'flow = "lang"\nto = "31s"\n'
    found = faults(tmp_path, text)
    assert found["published.1.metric"].line == 4
    assert 'did you mean "loss"' in str(found["published.1.metric"].hint)
    assert found["published.1.values.1.where.cc"].line == 7
    assert 'did you mean "reno"' in str(found["published.1.values.1.where.cc"].hint)
    assert 'did you mean "long"' in str(found["published.1.flow"].hint)
    assert "after the end" in found["published.1.to"].message
    assert len(found) == 4


@pytest.mark.parametrize(
    ("change", "key", "message"),
    [
        (('unit = "%"', 'unit = "ms"'), "unit", 'cannot be converted to "1"'),
        (('unit = "%"', 'unit = "%"\nagrees = "2ms"'), "agrees", 'cannot be converted to "1"'),
        (('unit = "%"', 'unit = "%"\nagrees = 5'), "agrees", "5 is not a tolerance"),
        (('unit = "%"', 'unit = "%"\nfrom = "3s"\nto = "2s"'), "from", "is not before"),
        (('unit = "%"', 'units = "%"'), "units", "unknown key"),
        (("cc =", "queue ="), "values.1.where.queue", "is no factor of the sweep"),
        (("value = 20", "value = nan"), "values.2.value", "not a finite number"),
        ((", value = 20", ""), "values.2.value", "is missing"),
        (('source = "Table 4.3"', 'source = "Table 4.3"\nread = "guess"'), "read", "is not allowed"),
    ],
)
def test_what_makes_no_sense_is_refused(
    tmp_path: Path, change: tuple[str, str], key: str, message: str
) -> None:
    found = faults(tmp_path, TABLE.replace(*change))
    assert message in found[f"published.1.{key}"].message
    assert found[f"published.1.{key}"].line is not None


def test_a_number_must_name_one_cell(tmp_path: Path) -> None:
    left = TABLE.replace('cc = "reno", "topology.rtt" = "20ms"', '"topology.rtt" = "20ms"')
    found = faults(tmp_path, left)["published.1.values.1.where"]
    assert found.message == "leaves open cc: cells that differ are never averaged"
    assert "over = [...]" in str(found.hint)
    (table,) = load_published(write(tmp_path, left + 'over = ["cc"]\n'), SWEPT, UNITS)
    assert table.over == ("cc",)


def test_of_factors_that_vary_as_one_any_names_the_cell(tmp_path: Path) -> None:
    swept = scenario(
        '[[sweep.together]]\n"label.path" = ["a", "b"]\n"topology.rtt" = ["10ms", "20ms"]\n'
        "[[sweep.together]]\nseed = [1, 2]\n"
    )
    text = TABLE[: TABLE.index("values")] + 'values = [{ where = { "label.path" = "a" }, value = 1 }]\n'
    assert load_published(write(tmp_path, text), swept, UNITS)
    with pytest.raises(ScenarioError, match=r"leaves open label\.path"):
        load_published(write(tmp_path, text.replace('"label.path" = "a"', "")), swept, UNITS)


def test_what_is_derived_or_was_set_says_what_of(tmp_path: Path) -> None:
    text = TABLE + 'kind = "derived"\n'
    assert faults(tmp_path, text)["published.1.kind"].message == '"derived" needs how'
    (table,) = load_published(write(tmp_path, text + 'how = "1 - 2"\n'), SWEPT, UNITS)
    assert [table.kind_of(value) for value in table.values] == ["derived", "derived"]
    one = TABLE.replace("value = 20", 'value = 20, kind = "configured"')
    assert list(faults(tmp_path, one)) == ["published.1.values.2.kind"]


def test_a_cause_that_nothing_tried_is_a_guess(tmp_path: Path) -> None:
    found = faults(tmp_path, TABLE + 'cause = "The moon."\n')["published.1.cause"]
    assert found.message == "names no experiment that tried it"
    assert "guess" in str(found.hint)
    (table,) = load_published(write(tmp_path, TABLE + 'guess = "The moon."\n'), SWEPT, UNITS)
    assert (table.cause, table.guess) == ("", "The moon.")


def test_copies_are_named_up_to_the_most_that_a_cell_has(tmp_path: Path) -> None:
    swept = scenario('[sweep]\n"flow.long.count" = [1, 3]\n')
    text = TABLE[: TABLE.index("values")] + 'values = [{ where = { "flow.long.count" = 3 }, value = 1 }]\n'
    assert load_published(write(tmp_path, text + 'flow = "long.3"\n'), swept, UNITS)
    with pytest.raises(ScenarioError, match="no flow is named"):
        load_published(write(tmp_path, text + 'flow = "long.4"\n'), swept, UNITS)


def test_what_tried_a_cause_is_a_factor_or_a_scenario_beside(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text("")
    text = TABLE + 'cause = "The rate."\ntried = ["cc", "other", "kernel", "arithmetic"]\n'
    assert load_published(write(tmp_path, text), SWEPT, UNITS)
    found = faults(tmp_path, text.replace('"other"', '"otter"'))["published.1.tried.2"]
    assert 'did you mean "other"' in str(found.hint)


def test_a_list_is_not_called_empty_because_what_stands_in_it_is_wrong(tmp_path: Path) -> None:
    assert list(faults(tmp_path, TABLE.replace("value = 16.5", "value = 'much'"))) == [
        "published.1.values.1.value"
    ]
    empty = faults(tmp_path, TABLE[: TABLE.index("values")] + "values = []\n")
    assert empty["published.1.values"].message == "is empty"


@pytest.mark.parametrize("text", ["", "x = ", "published = 3", "[[published]]\n"])
def test_a_file_that_is_no_table_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ScenarioError):
        load_published(write(tmp_path, text))


def test_it_is_found_beside_a_file_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "name.toml").write_text("")
    (tmp_path / "other.toml").write_text("")
    beside = write(tmp_path, TABLE)
    assert [item.published for item in find_scenarios(tmp_path / "name.toml")] == [beside]
    assert [item.published for item in find_scenarios(tmp_path / "other.toml")] == [None]


def test_units_convert_within_their_kind() -> None:
    assert convert(16.5, "%", "1") == pytest.approx(0.165)
    assert convert(27, "ms", "µs") == pytest.approx(27_000)
    assert convert(2, "MB/s", "Mbit/s") == pytest.approx(16)
    assert convert(1, "KiB", "B") == 1024
    assert convert(3, "packets", "packets") == 3
    with pytest.raises(UnitError, match='"segments" cannot be converted to "packets"'):
        convert(3, "segments", "packets")


def test_a_tolerance_is_a_share_or_an_amount() -> None:
    assert Tolerance.parse("5%").around(-200, "ms") == 10
    assert Tolerance.parse("2ms").around(200, "µs") == pytest.approx(2000)
    assert Tolerance.parse("1 %-point").around(0.2, "1") == pytest.approx(0.01)
    assert str(Tolerance.parse(" .5 Mbit/s")) == "0.5 Mbit/s"
    for word in ("5", "%", "-5%", "", "x" * 50, 5, None):
        with pytest.raises(UnitError, match="is not a tolerance"):
            Tolerance.parse(word)

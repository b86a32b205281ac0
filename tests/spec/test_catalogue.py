"""Scenarios that ship are found by name and are all valid."""

from pathlib import Path

import pytest

from rushhour.errors import ScenarioError, UsageError
from rushhour.metrics.vocabulary import VOCABULARY
from rushhour.spec import catalogue, cells, find_in_catalogue, find_scenarios, load_scenario


@pytest.mark.parametrize("name", catalogue())
def test_every_scenario_that_ships_is_whole(name: str) -> None:
    found = load_scenario(name, words=VOCABULARY)
    assert found.title
    assert found.question.endswith("?")
    assert sum(1 for _ in cells(found)) == found.sweep.size
    text = catalogue()[name].file.read_text("utf-8")
    assert text.startswith("#"), "it begins with a drawing"
    assert all(len(line) <= 120 for line in text.splitlines())


def test_a_scenario_is_found_by_full_and_by_short_name() -> None:
    full = find_in_catalogue("tomasov/window-scaling")
    assert [item.name for item in full] == ["tomasov/window-scaling"]
    assert find_in_catalogue("window-scaling") == full
    assert full[0].stem == "window-scaling"


def test_a_study_is_all_its_scenarios() -> None:
    assert set(find_in_catalogue("tomasov")) == {
        i for n, i in catalogue().items() if n.startswith("tomasov/")
    }


def test_a_name_that_is_none_gets_the_nearest() -> None:
    with pytest.raises(UsageError, match='did you mean "window-scaling"'):
        load_scenario("window-scalng")


def test_a_file_beats_the_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "window-scaling.toml").write_text("x = 1\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ScenarioError, match="unknown key"):
        load_scenario("window-scaling.toml")
    assert find_scenarios("window-scaling")[0].name == "tomasov/window-scaling"

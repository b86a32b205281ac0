"""A study: its chapters, its order, its place in the catalogue or in a folder of one's own."""

from pathlib import Path

import pytest

from rushhour.errors import Fault, ScenarioError
from rushhour.metrics.catalog import METRICS
from rushhour.spec import catalogue, find_scenarios, load_published, load_scenario, load_study, studies

TEXT = """\
title = "A study"
[[chapter]]
title = "Second comes first"
scenarios = ["b"]
[[chapter]]
title = "First"
section = "1"
scenarios = ["a", "c"]
conclusion = "It holds."
"""
UNITS = {metric.name: metric.unit for metric in METRICS.values()}


def make(folder: Path, text: str = TEXT) -> Path:
    for name in ("a.toml", "b.toml", "c.toml", "b.published.toml"):
        (folder / name).write_text("")
    (folder / "study.toml").write_text(text)
    return folder


def faults(folder: Path, text: str) -> dict[str, Fault]:
    with pytest.raises(ScenarioError) as refused:
        load_study(make(folder, text) / "study.toml", ["a", "b", "c"])
    return {fault.key: fault for fault in refused.value.faults}


def test_a_folder_with_a_study_is_its_scenarios_in_the_order_of_the_chapters(tmp_path: Path) -> None:
    found = find_scenarios(make(tmp_path))
    assert [item.stem for item in found] == ["b", "a", "c"]
    assert [item.name for item in found] == [f"{tmp_path.name}/{stem}" for stem in ("b", "a", "c")]
    assert [item.published is not None for item in found] == [True, False, False]


def test_a_study_says_what_its_chapters_say(tmp_path: Path) -> None:
    study = load_study(make(tmp_path) / "study.toml", ["a", "b", "c"])
    assert study.scenarios == ["b", "a", "c"]
    assert study.chapter[1].conclusion == "It holds."


def test_every_scenario_is_in_exactly_one_chapter(tmp_path: Path) -> None:
    found = faults(tmp_path, TEXT.replace('"a", "c"', '"aa", "b"'))
    assert found["chapter.2.scenarios.1"].message == 'there is no scenario "aa" in this folder'
    assert found["chapter.2.scenarios.1"].line == 8
    assert found["chapter.2.scenarios.2"].message == '"b" is in chapter 1 already'
    assert 'no chapter has the scenario "c"' in found["chapter"].message


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (TEXT.replace("section", "sektion"), "chapter.2.sektion"),
        (TEXT.replace('title = "A study"\n', ""), "title"),
        ('title = "A study"\n', "chapter"),
        (TEXT.replace('["b"]', "[]"), "chapter.1.scenarios"),
    ],
)
def test_a_malformed_study_is_refused_with_its_key(tmp_path: Path, text: str, key: str) -> None:
    assert key in faults(tmp_path, text)


@pytest.mark.parametrize("name", studies())
def test_every_study_that_ships_is_whole(name: str) -> None:
    study = studies()[name]
    assert study.file is not None, "it has a study.toml"
    about = study.load()
    assert about is not None
    assert about.summary


@pytest.mark.parametrize("name", [name for name, file in catalogue().items() if file.published])
def test_published_data_that_ship_fit_their_scenario(name: str) -> None:
    file = catalogue()[name]
    assert file.published is not None
    assert load_published(file.published, load_scenario(file), UNITS)


def test_published_data_belong_to_a_scenario() -> None:
    for study in studies().values():
        beside = study.scenarios[0].file
        assert isinstance(beside, Path)
        names = {path.name.removesuffix(".published.toml") for path in beside.parent.glob("*.published.toml")}
        assert names <= {item.stem for item in study.scenarios}

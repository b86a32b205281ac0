"""Deleting baselines: what was asked for goes, and nothing else."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from result_sets import result_set
from typing_at import Typist

from rushhour import baseline
from rushhour.baseline import shelf
from rushhour.cli import cli
from rushhour.errors import RushHourError, UsageError

NOW = "2026-11-21T09:00:00Z"
CONTROL_C = "\x03"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    result_set(tmp_path / "results")
    baseline.save("stable", "results", time=NOW)
    baseline.promote("stable", "results", reason="again", time=NOW)
    baseline.save("other", "results", time=NOW, slim=True)


def delete(*words: str) -> Result:
    return CliRunner().invoke(cli, ["baseline", "delete", *words])


def everything(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_name_goes_with_all_its_versions_and_the_results_stay() -> None:
    before = everything(Path("results"))
    done = delete("stable", "--yes", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == [{"name": "stable", "versions": [1, 2], "whole": True}]
    assert "deleted the baseline stable, 2 versions with 4 runs\n" in done.stderr
    assert [one.name for one in baseline.names()] == ["other"]
    assert [path.name for path in shelf.place("any").parent.iterdir()] == ["other"]
    assert everything(Path("results")) == before
    assert baseline.save("stable", "results", time=NOW).version == 1


def test_a_version_goes_unless_it_is_the_current_one() -> None:
    assert "stands for" in str(delete("stable@2", "--yes").exception)
    assert delete("stable@1", "--yes").exit_code == 0
    kept = shelf.kept("stable")
    assert (list(kept.versions), kept.current) == ([2], 2)
    assert {path.name for path in kept.folder.iterdir()} == {"2", "name.json", ".lock"}
    assert baseline.promote("stable", "results", reason="more", time=NOW).version == 3


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("stabel", "there is no baseline"),
        ("stable@7", "no version '7'"),
        ("stable@../other", "is not a version"),
        ("..", "there is no baseline"),
        ("./mine", "a folder of yours, which this command leaves alone"),
        ("./results", "there is no baseline"),
    ],
)
def test_what_is_no_name_here_is_refused_and_nothing_goes(word: str, message: str, tmp_path: Path) -> None:
    baseline.save("./mine", "results", time=NOW, slim=True)
    before = everything(tmp_path)
    done = delete("other", word, "--yes")
    assert isinstance(done.exception, UsageError)
    assert message in str(done.exception)
    assert everything(tmp_path) == before


def test_what_somebody_put_there_is_not_deleted(tmp_path: Path) -> None:
    (shelf.place("stable") / "notes.txt").write_text("mine")
    before = everything(tmp_path)
    done = delete("stable", "--yes")
    assert "notes.txt is no part of a baseline" in str(done.exception)
    assert everything(tmp_path) == before


def test_a_damaged_one_goes_as_well() -> None:
    (shelf.place("stable") / "2/baseline.json").write_text("{")
    (shelf.place("stable") / "name.json").write_text("{")
    with pytest.raises(RushHourError):
        baseline.find("stable")
    done = delete("stable", "--yes")
    assert "2 versions of which one is damaged" in done.stderr
    assert [one.name for one in baseline.names()] == ["other"]


def test_where_nobody_can_be_asked_nothing_goes() -> None:
    done = delete("stable")
    assert "the baseline stable, 2 versions with 4 runs would be deleted" in str(done.exception)
    assert isinstance(done.exception, UsageError)
    assert baseline.find("stable").version == 2


@pytest.mark.parametrize(
    ("keys", "code", "kept"),
    [("y\n", 0, ["other"]), ("n\n", 1, ["other", "stable"]), (CONTROL_C, 130, ["other", "stable"])],
)
def test_a_terminal_is_asked(keys: str, code: int, kept: list[str], tmp_path: Path) -> None:
    with Typist("baseline", "delete", "stable", cwd=tmp_path, size=(24, 120)) as person:
        person.until("delete the baseline stable, 2 versions with 4 runs? [y/N]: ")
        person.type(keys)
        if (
            keys == CONTROL_C
        ):  # Python may miss one that comes between readline's prompt and its wait for keys
            time.sleep(0.5)
            with suppress(OSError):
                person.type(keys)
        assert person.ends()[1] == code
    assert [one.name for one in baseline.names()] == kept

"""What is known of a bisection, on disk: written whole, read only where it answers the same question."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from rushhour.bisect.state import DOCUMENT, LOG, Question, State, Step, fresh, resumed
from rushhour.errors import UsageError

QUESTION = Question(
    "/linux", "a" * 40, "b" * 40, "suite/x", "0" * 64, ("cc=reno",), "goodput_bps", None, "5%", False, 5, 20
)  # fmt: skip
STEP = Step("c" * 40, "tcp: a change", "good", "equal to the good end to the byte", 9.5e6, 1, 12.3)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    state = fresh(QUESTION, tmp_path / "out")
    state.steps.append(STEP)
    state.document = {"state": "going", "subjects": {STEP.commit: STEP.subject}}
    state.save()
    return tmp_path / "out"


def test_what_was_saved_is_read(saved: Path) -> None:
    state = resumed(QUESTION, saved, "suite/x")
    assert state.question == QUESTION
    assert state.steps == [STEP]
    assert state.document["state"] == "going"
    assert not [path for path in saved.iterdir() if path.name not in (DOCUMENT, LOG)]


def test_the_log_is_gits(saved: Path) -> None:
    assert (saved / LOG).read_text().splitlines() == [
        "git bisect start",
        f"# bad: [{'b' * 40}]",
        f"git bisect bad {'b' * 40}",
        f"# good: [{'a' * 40}]",
        f"git bisect good {'a' * 40}",
        f"# good: [{'c' * 40}] tcp: a change",
        f"git bisect good {'c' * 40}",
    ]


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("metric", replace(QUESTION, metric="drops")),
        ("sets", replace(QUESTION, sets=())),
        ("good", replace(QUESTION, good="d" * 40)),
        ("seeds", replace(QUESTION, seeds=6)),
        ("sha256", replace(QUESTION, sha256="1" * 64)),
    ],
)
def test_another_question_is_named(saved: Path, name: str, other: Question) -> None:
    with pytest.raises(UsageError, match=f"different: {name}$"):
        resumed(other, saved, "suite/x")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"question": {}, "steps": []}', '{"question": 3}'])
def test_a_damaged_document_is_said(saved: Path, text: str) -> None:
    (saved / DOCUMENT).write_text(text)
    with pytest.raises(UsageError, match="cannot be read"):
        resumed(QUESTION, saved, "suite/x")


def test_steps_of_another_version_are_not_misread(saved: Path) -> None:
    whole = json.loads((saved / DOCUMENT).read_text())
    whole["steps"][0]["surprise"] = 1
    (saved / DOCUMENT).write_text(json.dumps(whole))
    with pytest.raises(UsageError, match="surprise"):
        resumed(QUESTION, saved, "suite/x")


def test_without_a_folder_the_newest_of_the_same_question_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    place = Path("results/bisect/suite/x")
    for stamp, question in (("1", QUESTION), ("2", QUESTION), ("3", replace(QUESTION, metric="drops"))):
        State(question, place / stamp).save()
    assert resumed(QUESTION, None, "suite/x").folder == place / "2"
    with pytest.raises(UsageError, match="no interrupted bisection has this command line"):
        resumed(replace(QUESTION, metric="marks"), None, "suite/x")


def test_a_folder_with_a_bisection_is_not_written_over(saved: Path) -> None:
    with pytest.raises(UsageError, match="--resume"):
        fresh(QUESTION, saved)

"""`rushhour check` on the command line."""

import json
import subprocess
from pathlib import Path

import pytest
from checks import BODY, elsewhere, speed_of
from click.testing import CliRunner
from fakes import FakeLab
from little_tree import git
from rich.console import Console
from rich.status import Status

from rushhour.cli.check import check
from rushhour.cli.lasting import Screen
from rushhour.errors import UsageError
from rushhour.verdict import comparing


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = elsewhere(tmp_path, monkeypatch)
    lab = FakeLab(lambda kernel, _cc, _seed: float(speed_of(kernel)))
    monkeypatch.setattr(comparing, "make_lab", lambda: lab)
    (made / "one.c").write_text(BODY.format(80))
    return made


def said(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(check, [*words, "--scenario", "fake.toml", "--whole"], standalone_mode=False)
    if done.exception:
        raise done.exception
    return int(done.return_value), done.stdout, done.stderr


def verdicts(out: str) -> list[str]:
    """What the sentences begin with: lines without a path, and not those about gdb."""
    begins = [line.split(":")[0] for line in out.splitlines() if ":" in line]
    return [one for one in begins if "/" not in one and not one.startswith("Under gdb")]


def test_the_sentence_and_the_report_are_what_a_person_sees(tree: Path) -> None:
    code, out, err = said(str(tree))
    assert code == 1
    lines = out.split("\n")
    assert lines[1].startswith("Worse: fake, cc=")
    assert Path(lines[2]).is_file()
    assert "one.c: speed" in err


def test_json_and_mail(tree: Path) -> None:
    code, out, _ = said(str(tree), "--json")
    document = json.loads(out)
    assert (code, document["exit"], document["format"]) == (1, 1, "rushhour-check/1")
    (tree / "one.c").write_text(BODY.format(95))
    git(tree, "config", "user.name", "Ada")
    git(tree, "config", "user.email", "ada@example.org")
    code, out, _ = said(str(tree), "--mail")
    assert code == 0
    assert out.endswith("\nTested-by: Ada <ada@example.org>\n")


def test_watch_judges_each_state_once_and_goes_on_after_a_fault(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saves = [BODY.format(95), None, "int one = nonsense;\n", BODY.format(80)]

    def sleep(_seconds: float) -> None:
        if not saves:
            raise KeyboardInterrupt
        if (text := saves.pop(0)) is not None:
            (tree / "one.c").write_text(text)

    monkeypatch.setattr("rushhour.lab.clock.sleep", sleep)
    code, out, _ = said(str(tree), "--watch")
    assert code == 130
    words = verdicts(out)
    assert words[:4] == ["Worse", "Better", "It does not build", "Worse"]


def test_watch_waits_while_a_merge_is_not_finished(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blob = git(tree, "hash-object", "-w", "one.c").strip()
    conflict = f"100644 {blob} 1\tone.c\n100644 {blob} 2\tone.c\n100644 {blob} 3\tone.c\n"

    def merge() -> None:
        git(tree, "update-index", "--force-remove", "one.c")
        subprocess.run(
            ["git", "-C", str(tree), "update-index", "--index-info"], input=conflict, text=True, check=True
        )

    def end() -> None:
        (tree / "one.c").write_text(BODY.format(95))
        git(tree, "add", "one.c")

    steps = [merge, lambda: None, end]

    def sleep(_seconds: float) -> None:
        if not steps:
            raise KeyboardInterrupt
        steps.pop(0)()

    monkeypatch.setattr("rushhour.lab.clock.sleep", sleep)
    code, out, err = said(str(tree), "--watch")
    assert code == 130
    words = verdicts(out)
    assert words[:2] == ["Worse", "Better"]
    assert err.count("a merge is not finished: one.c is in conflict") == 1


@pytest.mark.parametrize("form", ["--json", "--mail"])
def test_watch_is_no_single_document(tree: Path, form: str) -> None:
    with pytest.raises(UsageError, match=r"--watch"):
        said(str(tree), "--watch", form)


def test_watch_into_one_folder_judges_what_comes_back(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saves = [BODY.format(95), BODY.format(80)]

    def sleep(_seconds: float) -> None:
        if not saves:
            raise KeyboardInterrupt
        (tree / "one.c").write_text(saves.pop(0))

    monkeypatch.setattr("rushhour.lab.clock.sleep", sleep)
    _, out, _ = said(str(tree), "--watch", "--out", "kept")
    words = verdicts(out)
    assert words == ["Worse", "Better", "Worse"]


def test_what_goes_on_is_one_line_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(Console, "is_terminal", True)
    monkeypatch.setattr(Status, "update", lambda _, line: shown.append(line.plain))
    screen = Screen("go on")
    screen.tell("run 1 of 2")
    screen.tell("run 2 of 2: suite/ack-filter topology.reverse_queue=cake")
    assert shown == ["run 1 of 2", "run 2 of 2: suite/ack-filter topolog…"]

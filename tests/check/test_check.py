"""Whole checks: real clones, builds of a little tree, a laboratory that measures what a test says."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fakes import SCENARIO, FakeLab
from little_tree import commit, git, make_tree

from rushhour.check import Options, check, core
from rushhour.check.reach import Reach
from rushhour.check.telling import commit as sentence
from rushhour.check.telling import mail, spans, with_scripts
from rushhour.check.telling import scripts as of_scripts
from rushhour.errors import UsageError
from rushhour.lab import kernel as kernels
from rushhour.lab.kernel import Kernel
from rushhour.packetdrill import comparing, pairs, telling
from rushhour.packetdrill.outcome import Outcome
from rushhour.packetdrill.scripts import Script
from rushhour.verdict.side import key_of

BODY = "static int speed(void)\n{{\n\treturn {};\n}}\n"


@pytest.fixture(autouse=True)
def private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    Path("fake.toml").write_text(SCENARIO)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = make_tree(tmp_path / "linux")
    (made / "net/ipv4").mkdir(parents=True)
    (made / "net/ipv4/tcp.c").write_text("int tcp;\n")
    git(made, "init", "-q", "-b", "main")
    commit(made, "first", one__c=BODY.format(90))
    return made


def measured(slow: set[str]) -> FakeLab:
    """Goodput by the value that the kernel was built with."""

    def behaviour(kernel: str, cc: str, _seed: int) -> float:
        image = next(one for one in kernels.installed() if one.name == kernel)
        value = int(image.image.read_text().split("return ")[1].split(";")[0])
        return float(value if cc in slow else 90)

    return FakeLab(behaviour)


def judged(
    tree: Path, base: str | None = None, lab: FakeLab | None = None, **options: object
) -> dict[str, Any]:
    given = Options(scenarios=("fake.toml",), whole=True, jobs=1, **options)  # type: ignore[arg-type]
    return check(tree, base, options=given, lab=lab or measured({"bbr", "cubic"}))


def test_what_is_not_committed_is_judged_against_head(tree: Path) -> None:
    (tree / "one.c").write_text(BODY.format(80))
    found = judged(tree)
    assert (found["verdict"], found["exit"]) == ("worse", 1)
    one = found["commits"][0]
    assert one["change"][0]["functions"] == {"speed": None}
    assert one["change"][0]["lines"] == {"old": [3], "new": [3]}
    assert one["sentence"].startswith("Worse: fake, cc=")
    assert Path(one["report"]).is_file()
    assert json.loads((Path(found["folder"]) / "check.json").read_text())["sentence"] == found["sentence"]
    assert (tree / "one.c").read_text() == BODY.format(80)


def test_a_clean_tree_is_judged_by_its_last_commit(tree: Path) -> None:
    commit(tree, "faster", one__c=BODY.format(99))
    found = judged(tree)
    assert (found["verdict"], found["exit"]) == ("better", 0)
    assert found["commits"][0]["subject"] == "faster"
    assert "Tested-by: A <a@example.org>" in mail(found, "A <a@example.org>")


def test_every_commit_of_a_series_is_judged_against_the_one_before(tree: Path) -> None:
    base = git(tree, "rev-parse", "HEAD")
    commit(tree, "a comment", one__c=BODY.format(90) + "/* why */\n")
    commit(tree, "slower", one__c=BODY.format(80))
    commit(tree, "does not build", one__c="int one = nonsense;\n")
    commit(tree, "mended", one__c=BODY.format(81))
    (tree / "one.c").write_text(BODY.format(82))
    found = judged(tree, base)
    words = [(one["subject"], one["verdict"]) for one in found["commits"]]
    assert words[:3] == [("a comment", "same"), ("slower", "worse"), ("does not build", "broken")]
    # What came before the mended commit cannot run, so it is judged against the last that does.
    assert words[3] == ("mended", "same")
    assert words[4][0] == "what is not committed yet"
    assert found["exit"] == 1
    assert "nonsense" in found["commits"][2]["sentence"]
    assert "Tested-by" not in mail(found, "A <a@example.org>")


def test_what_compiles_to_the_same_image_is_the_same_and_nothing_runs(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = measured(set())
    (tree / "net/ipv4/tcp.c").write_text("int tcp; /* not compiled by this little tree */\n")
    found = judged(tree, lab=lab)
    assert found["verdict"] == "same"
    assert "same image" in str(found["sentence"])
    assert lab.ran == []


def test_for_documents_nothing_is_built(tree: Path) -> None:
    (tree / "Documentation").mkdir()
    (tree / "Documentation/tcp.rst").write_text("TCP\n")
    (tree / "MAINTAINERS").write_text("You\n")
    found = judged(tree)
    assert found["sentence"] == "Same: nothing of it is ever compiled."
    assert found["exit"] == 0
    assert kernels.installed() == []


def known(*cells: str) -> Reach:
    """An index in which these algorithms' cells execute what differs."""
    keys = frozenset(key_of("fake", {"cc": cc}) for cc in cells)
    return Reach({("one.c", "speed"): keys}, {"one.c": True}, first=keys, known=True)


def test_cells_that_execute_the_change_are_the_first_and_the_first_worse_ends_it(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "one.c").write_text(BODY.format(80))
    lab = measured({"vegas"})
    monkeypatch.setattr(core, "reach", lambda *_, **__: known("vegas"))
    found = judged(tree, lab=lab)
    assert [cc for _, cc, _ in lab.ran][:2] == ["vegas", "vegas"]
    assert found["commits"][0]["change"][0]["functions"] == {"speed": 1}
    assert found["verdict"] == "worse"


def test_a_change_that_no_cell_executes_is_an_answer_of_its_own(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "one.c").write_text(BODY.format(80))
    monkeypatch.setattr(core, "reach", lambda *_, **__: known())
    found = judged(tree, lab=measured(set()))
    assert (found["verdict"], found["exit"]) == ("unexercised", 3)
    assert found["sentence"] == "Nothing here was exercised: no cell executes speed in one.c:3."
    # What the index does not know of shows all the same.
    (tree / "one.c").write_text(BODY.format(81))
    assert judged(tree, lab=measured({"bbr"}))["verdict"] == "worse"


def test_kernels_of_earlier_checks_go(tree: Path) -> None:
    for value in (80, 81, 82):
        (tree / "one.c").write_text(BODY.format(value))
        judged(tree)
    assert len([one for one in kernels.installed() if one.name.startswith("check-")]) == 2


def test_a_series_as_one_change_needs_no_common_history(tree: Path) -> None:
    commit(tree, "slower", one__c=BODY.format(80))
    commit(tree, "as before", one__c=BODY.format(90) + "/* why */\n")
    whole = judged(tree, "HEAD~2", at_once=True)
    assert [(one["subject"], one["verdict"]) for one in whole["commits"]] == [("as before", "same")]
    before = git(tree, "rev-parse", "HEAD")
    git(tree, "checkout", "-q", "--orphan", "rebased")
    commit(tree, "slow from the beginning", one__c=BODY.format(70))
    assert judged(tree, before, at_once=True)["verdict"] == "worse"
    with pytest.raises(UsageError, match="nothing differs"):
        judged(tree, "HEAD", at_once=True)


def test_a_sentence_about_scripts_is_one_line() -> None:
    ended = Outcome(
        Script("a.pkt"), "ipv4", "error", "crash", reason="a.pkt: it did not start:\n    RIP: 1\n    RSP: 2"
    )
    changes = [comparing.compare(ended, ended, "")]
    report = SimpleNamespace(headline="1 scripts: 1 invalid")
    document = {"verdict": "invalid", "exit": 4, "counts": {}}
    made = pairs.Compared(changes, document, report)  # type: ignore[arg-type]
    cells = {"verdict": "same", "exit": 0, "cells": 3, "differ": 0, "change": []}
    found = cells | with_scripts(cells, of_scripts(made))
    assert found["exit"] == 4
    assert sentence(found) == (
        "Invalid: packetdrill: INVALID a.pkt (ipv4): both failed (crash), a.pkt: it did not start; "
        "1 scripts: 1 invalid."
    )


def outcome(*, passed: bool) -> Outcome:
    script = Script("cubic/a.pkt")
    return Outcome(script, "ipv4", "pass") if passed else Outcome(script, "ipv4", "fail", "time", line=28)


@pytest.mark.parametrize(
    ("cells", "scripts", "said"),
    [
        (90, (True, True), ("same", "packetdrill: 1 scripts: 1 same.")),
        (90, (True, False), ("worse", "Worse: packetdrill: WORSE cubic/a.pkt (ipv4): passed → failed")),
        (90, (False, True), ("better", "Better: packetdrill: BETTER cubic/a.pkt (ipv4)")),
        (99, (True, True), ("better", "packetdrill: 1 scripts: 1 same.")),
        (80, (True, True), ("worse", "Worse: fake, cc=")),
    ],
)
def test_packetdrills_scripts_count_as_cells_do(
    tree: Path,
    monkeypatch: pytest.MonkeyPatch,
    cells: int,
    scripts: tuple[bool, bool],
    said: tuple[str, str],
) -> None:
    (tree / "one.c").write_text(BODY.format(cells) + "int more;\n")
    asked = []

    class Drilled:
        def compare(self, base: Kernel, candidate: Kernel, _tell: object) -> pairs.Compared:
            asked.append((base, candidate))
            one, other = (outcome(passed=passed) for passed in scripts)
            changes = [comparing.compare(one, other, "")]
            both, program = (base, candidate), {"name": "packetdrill"}
            report = telling.compared_report(changes, both, program, 0)
            return pairs.Compared(changes, telling.compared(changes, both, program, 1), report)

    monkeypatch.setattr(pairs, "find", lambda *_, **__: Drilled())
    found = judged(tree, scripts=(Path("cubic"),))
    one = found["commits"][0]
    assert (found["verdict"], one["verdict"]) == (said[0], said[0])
    assert said[1] in found["sentence"]
    # After a cell that is worse nothing runs any more.
    assert len(asked) == (cells != 80)
    if asked:
        kept = json.loads((Path(one["report"]).parent / "packetdrill.json").read_text())
        assert kept["counts"] == one["packetdrill"]["counts"]


def test_what_cannot_be_checked(tree: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no parent"):
        judged(tree)
    with pytest.raises(UsageError, match='no revision "v9"'):
        judged(tree, "v9")
    with pytest.raises(UsageError, match="nothing differs"):
        judged(tree, "HEAD")
    git(tree, "checkout", "-q", "--orphan", "other")
    commit(tree, "elsewhere", one__c=BODY.format(1))
    with pytest.raises(UsageError, match="not in the history"):
        judged(tree, "main")
    (tmp_path / "plain").mkdir()
    with pytest.raises(UsageError, match="no git repository"):
        judged(tmp_path / "plain")
    git(tmp_path, "init", "-q", "-b", "main", "program")
    commit(tmp_path / "program", "first", one__c="")
    with pytest.raises(UsageError, match="no kernel tree"):
        judged(tmp_path / "program")


def test_spans() -> None:
    assert spans([3, 4, 5, 9]) == "3-5,9"
    assert spans([]) == ""


def test_what_is_not_committed_can_be_left_out(tree: Path) -> None:
    commit(tree, "faster", one__c=BODY.format(99))
    (tree / "one.c").write_text(BODY.format(1))
    found = judged(tree, "HEAD~1", committed=True)
    assert [one["subject"] for one in found["commits"]] == ["faster"]
    assert found["verdict"] == "better"

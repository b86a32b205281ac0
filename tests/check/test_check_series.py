"""Series of commits: those that take back others, and what is kept for the next check."""

import json
from pathlib import Path
from typing import Any

import pytest
from checks import BODY, elsewhere, judged, measured
from little_tree import commit, git

from rushhour.check.change import between
from rushhour.check.steps import restored
from rushhour.check.telling import mail
from rushhour.lab import kernel as kernels


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return elsewhere(tmp_path, monkeypatch)


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
    slower = found["commits"][1]["commit"]
    assert [one.get("against") for one in found["commits"]] == [None, None, None, slower, None]
    assert f" It is judged against {slower[:12]}: " in found["commits"][3]["sentence"]
    assert found["exit"] == 1
    assert "nonsense" in found["commits"][2]["sentence"]
    assert "Tested-by" not in mail(found, "A <a@example.org>")


def test_a_commit_that_restores_the_base_is_told_as_that_and_decides_nothing(tree: Path) -> None:
    base = git(tree, "rev-parse", "HEAD")
    commit(tree, "faster", one__c=BODY.format(99))
    commit(tree, "document it", README="x")
    commit(tree, "back", one__c=BODY.format(90))
    found = judged(tree, base)
    assert [one["verdict"] for one in found["commits"]] == ["better", "same", "worse"]
    assert ["restores" in one for one in found["commits"]] == [False, False, True]
    back = found["commits"][2]
    assert back["restores"] == {"commit": base, "subject": "first", "base": True, "whole": True}
    kernel = f"It restores the kernel of {base[:12]}, the base: against that nothing differs."
    assert back["sentence"].endswith(kernel)
    assert (found["verdict"], found["exit"]) == ("better", 0)
    assert found["sentence"] == (
        "Better: 3 commits, 1 same, 1 better, 1 back at a kernel before. At its end the kernel is the base's."
    )


def test_a_revert_goes_back_to_the_commit_before_it_rather_than_to_a_part_of_the_base(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    texts = {"base": ("1", "1"), "tidy": ("2", "1"), "faster": ("2", "2"), "back": ("2", "1")}
    judged_before = []
    for subject, (one, other) in texts.items():
        (tmp_path / "other.c").write_text(other)
        judged_before.append(commit(tmp_path, subject, one__c=one))
    change = between(tmp_path, *judged_before[2:])
    found = restored(tmp_path, change, judged_before[:3], {})
    assert found == {"commit": judged_before[1], "subject": "tidy", "base": False, "whole": True}


def test_what_led_away_from_the_base_and_is_worse_is_so_although_it_is_taken_back(tree: Path) -> None:
    base = git(tree, "rev-parse", "HEAD")
    bad = commit(tree, "slower", one__c=BODY.format(80))
    commit(tree, "back", one__c=BODY.format(90))
    found = judged(tree, base)
    assert (found["verdict"], found["exit"]) == ("worse", 1)
    assert f"; the first that is: {bad[:12]} slower. At its end" in found["sentence"]


def test_where_only_a_part_is_as_it_was_the_commit_is_judged_as_any_other(tree: Path) -> None:
    base = git(tree, "rev-parse", "HEAD")
    (tree / "net/ipv4/tcp.c").write_text("int tcp, other;\n")
    commit(tree, "slower, and something else", one__c=BODY.format(88))
    (tree / "net/ipv4/tcp.c").write_text("int tcp;\n")  # not committed
    found = judged(tree, base, lab=measured(set()))
    part = found["commits"][-1]
    assert part["restores"] == {"commit": base, "subject": "first", "base": True, "whole": False}
    assert part["sentence"].endswith(f" All that it changes is as at {base[:12]}, the base, again.")
    assert "back at" not in found["sentence"]


def test_all_kernels_of_a_series_are_kept_for_its_next_check(tree: Path) -> None:
    base = git(tree, "rev-parse", "HEAD")
    commit(tree, "slower", one__c=BODY.format(80))
    commit(tree, "slower yet", one__c=BODY.format(70))
    lab = measured({"bbr"})
    judged(tree, base, lab=lab, all=True)
    built = {one.folder.name for one in kernels.installed()}
    assert len(built) == 3
    ran = len(lab.ran)
    judged(tree, base, lab=lab, all=True)
    assert {one.folder.name for one in kernels.installed()} == built
    assert len(lab.ran) == ran


def test_a_file_that_git_ignores_is_named_where_the_build_asks_for_it(tree: Path) -> None:
    text = (tree / "Makefile").read_text()
    commit(tree, "more", Makefile=text.replace("linux: one.c", "linux: one.c two.o"))
    found = judged(tree)["commits"][0]
    assert "overlooked" not in found
    assert "two.o" in found["sentence"]
    (tree / ".gitignore").write_text("/*\n")
    (tree / "two.c").write_text("int two;\n")
    git(tree, "add", "-f", ".gitignore")
    git(tree, "commit", "-q", "-m", "as Debian has it")
    found = judged(tree, "HEAD~2", at_once=True)["commits"][0]
    assert found["overlooked"] == "two.c"
    assert found["sentence"].endswith(
        " two.c is here, but git ignores it (git add --force), or it is not committed."
    )


def bisections(found: dict[str, Any]) -> list[tuple[str, str]]:
    """The good and bad ends of the bisections that reports advise."""
    reports = [Path(one["report"]) for one in found["commits"] if "report" in one]
    documents = [json.loads(report.with_name("verdict.json").read_text()) for report in reports]
    asked = [words.split() for document in documents for words in document["next"]]
    bisected = [words for words in asked if words[1] == "bisect"]
    return [(words[words.index("--good") + 1], words[words.index("--bad") + 1]) for words in bisected]


def test_a_bisection_is_advised_where_the_tree_has_commits_between_and_both_ends(tree: Path) -> None:
    base = git(tree, "rev-parse", "HEAD")
    commit(tree, "a comment", README="x")
    head = commit(tree, "slower", one__c=BODY.format(80))
    assert bisections(judged(tree, base)) == []
    assert bisections(judged(tree, base, at_once=True)) == [(base, head)]
    (tree / "one.c").write_text(BODY.format(70))
    assert judged(tree, base, at_once=True)["verdict"] == "worse"
    # What is not committed is in no tree.
    assert bisections(judged(tree, base, at_once=True)) == []
    git(tree, "checkout", "-q", "-f", "--orphan", "rebased")
    commit(tree, "slow from the beginning", one__c=BODY.format(60))
    assert bisections(judged(tree, head, at_once=True)) == []


def test_no_bisection_is_advised_to_what_is_not_committed_after_a_commit_that_does_not_build(
    tree: Path,
) -> None:
    commit(tree, "does not build", one__c="int one = nonsense;\n")
    (tree / "one.c").write_text(BODY.format(80))
    found = judged(tree, "HEAD^")
    assert [one["verdict"] for one in found["commits"]] == ["broken", "worse"]
    assert bisections(found) == []


def test_folders_of_a_series_say_which_commit_it_is(tree: Path) -> None:
    base = git(tree, "rev-parse", "HEAD")
    subject = "tcp: one/two: *slower*, as it was before the long change of 2019"
    one = commit(tree, subject, one__c=BODY.format(80))
    commit(tree, "document it", README="x")
    other = commit(tree, "äöü", one__c=BODY.format(91))
    found = judged(tree, base)
    reports = [Path(each["report"]).parent.name for each in found["commits"] if "report" in each]
    assert reports == [f"01-tcp-one-two-slower-as-it-was-before-the-{one[:12]}", f"03-{other[:12]}"]
    assert Path(found["commits"][0]["report"]).is_file()
    alone = judged(tree, "HEAD~1")
    assert Path(alone["commits"][0]["report"]).parent.name == other[:12]


def test_what_only_takes_back_a_commit_that_does_not_build_differs_in_nothing(tree: Path) -> None:
    base = git(tree, "rev-parse", "HEAD")
    good = commit(tree, "faster", one__c=BODY.format(91))
    commit(tree, "does not build", one__c="int one = nonsense;\n")
    commit(tree, "builds again", one__c=BODY.format(91))
    commit(tree, "empty")
    found = judged(tree, base)
    mended, empty = (one["sentence"] for one in found["commits"][2:])
    assert mended.startswith(f"Same: nothing differs. It is judged against {good[:12]}: ")
    assert empty == "Same: nothing differs from the commit before."

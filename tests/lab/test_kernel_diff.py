"""Patches: what `diff` and git write is applied to the letter, and what does not fit is said."""

import difflib
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from little_tree import commit, git

from rushhour.errors import KernelError
from rushhour.lab.kernel import diff

TEXT = "".join(f"line {number}\n" for number in range(1, 31))
LINES = st.lists(st.sampled_from(["a\n", "b\n", "\n", "\t}\n", "-- \n"]), max_size=40)


def unified(before: str, after: str, name: str = "net/a.c") -> str:
    lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{name}", f"b/{name}")
    return "".join(lines)


def applied(patch: str, files: dict[str, str], *, left_out: bool = False) -> diff.Edits:
    def now(name: str) -> bytes | None:
        return files[name].encode() if name in files else None

    return diff.apply(diff.read(patch, "x.patch"), "x.patch", now, lambda _: left_out)


@given(LINES, LINES)
def test_what_a_patch_was_made_of_comes_out(before: list[str], after: list[str]) -> None:
    old, new = "".join(before), "".join(after)
    if old != new:
        assert applied(unified(old, new), {"net/a.c": old})["net/a.c"].data == new.encode()


def test_a_hunk_is_found_although_lines_came_before_it() -> None:
    patch = unified(TEXT, TEXT.replace("line 20\n", "other\n"))
    moved = "new\n" * 7 + TEXT
    assert applied(patch, {"net/a.c": moved})["net/a.c"].data == moved.replace("line 20", "other").encode()


def test_a_patch_that_does_not_fit_says_file_hunk_and_line() -> None:
    changed = TEXT.replace("line 3\n", "third\n").replace("line 20\n", "other\n")
    there = TEXT.replace("line 21\n", "something else\n")
    with pytest.raises(KernelError) as caught:
        applied(unified(TEXT, changed), {"net/a.c": there})
    told = str(caught.value)
    assert "x.patch:11: hunk 2 of 2 of net/a.c does not fit this tree" in told
    assert "the tree's line 21:\n    something else\n" in told
    assert "the patch expects:\n    line 21" in told


def test_a_patch_that_is_in_the_tree_already_is_told_so() -> None:
    after = TEXT.replace("line 20\n", "other\n")
    with pytest.raises(KernelError, match=r"its hunk of net/a\.c is in the tree already"):
        applied(unified(TEXT, after), {"net/a.c": after})


def test_a_file_that_no_build_reads_is_passed_over() -> None:
    patch = unified(TEXT, TEXT + "more\n")
    assert applied(patch, {}, left_out=True) == {}
    with pytest.raises(KernelError, match=r"the tree has no net/a\.c"):
        applied(patch, {})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no diff"),
        ("Subject: words\n\nonly words\n", "no diff"),
        (unified(TEXT, TEXT + "more\n").rstrip("\n").rpartition("\n")[0], "cut off"),
        ("--- a/../../etc/x\n+++ b/../../etc/x\n@@ -1 +1 @@\n-a\n+b\n", "outside"),
        ("diff --git a/x.png b/x.png\nindex 1..2 100644\nGIT binary patch\n", "binary"),
    ],
)
def test_what_is_no_patch_is_refused(text: str, told: str) -> None:
    with pytest.raises(KernelError, match=told):
        diff.read(text, "x.patch")


def test_what_git_writes_makes_removes_renames_and_changes_modes(tmp_path: Path) -> None:
    before = {"keep.c": TEXT, "gone.c": "gone\n", "old.c": TEXT, "run.sh": "#!/bin/sh\n"}
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path, "one", **{name.replace(".", "__"): text for name, text in before.items()})
    (tmp_path / "gone.c").unlink()
    (tmp_path / "old.c").rename(tmp_path / "new.c")
    (tmp_path / "new.c").write_text(TEXT.replace("line 9\n", "nine\n"))
    (tmp_path / "run.sh").chmod(0o755)
    (tmp_path / "made.c").write_text("made\n")
    (tmp_path / "keep.c").write_text(TEXT.rstrip("\n"))
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "two")
    patch = subprocess.run(
        ["git", "-C", tmp_path, "format-patch", "--stdout", "-M", "HEAD~1"], capture_output=True, check=True
    ).stdout.decode()
    assert "rename from" in patch
    edits = applied(patch, before)
    assert {name: edit.data for name, edit in edits.items()} == {
        "keep.c": TEXT.rstrip("\n").encode(),
        "gone.c": None,
        "old.c": None,
        "new.c": TEXT.replace("line 9\n", "nine\n").encode(),
        "made.c": b"made\n",
        "run.sh": b"#!/bin/sh\n",
    }
    assert edits["run.sh"].executable is True

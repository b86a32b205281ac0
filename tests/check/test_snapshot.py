"""A clone as it lies there becomes a commit, and the clone is as it was."""

import subprocess
from pathlib import Path

import pytest
from little_tree import commit, git, make_tree

from rushhour.errors import KernelError
from rushhour.lab.kernel.snapshot import beside


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = make_tree(tmp_path / "linux")
    git(made, "init", "-q", "-b", "main")
    (made / ".gitignore").write_text("*.o\n")
    commit(made, "first", one__c="int one;\n")
    commit(made, "second", one__c="int one = 1;\n")
    return made


def files_of(where: Path, name: str) -> dict[str, str]:
    words = git(where, "ls-tree", "-r", name).splitlines()
    return {line.split("\t")[1]: line.split()[2] for line in words}


def state(tree: Path) -> list[object]:
    own = tree / ".git"
    objects = sorted(str(path.relative_to(own)) for path in own.rglob("*"))
    return [(own / "index").read_bytes(), (own / "index").stat().st_mtime_ns, objects]


def test_a_clean_clone_has_nothing_that_is_not_committed(tree: Path) -> None:
    before = state(tree)
    where = beside(tree)
    assert where.working() is None
    assert where.head() == git(tree, "rev-parse", "HEAD")
    assert state(tree) == before


def test_what_is_saved_is_committed_and_the_clone_is_as_it_was(tree: Path) -> None:
    (tree / "one.c").write_text("int one = 2;\n")
    (tree / "new.c").write_text("int other;\n")
    (tree / "one.o").write_text("a product of a build\n")
    (tree / "Kconfig").unlink()
    before = state(tree)
    where = beside(tree)
    made = where.working()
    assert made is not None
    assert state(tree) == before
    was, now = files_of(where.place, where.head()), files_of(where.place, made)
    assert {name for name in {*was, *now} if was.get(name) != now.get(name)} == {"one.c", "new.c", "Kconfig"}
    assert git(where.place, "cat-file", "blob", f"{made}:one.c") == "int one = 2;"
    assert git(where.place, "rev-parse", f"{made}^") == git(tree, "rev-parse", "HEAD")
    # The same files are the same commit, and other files another one.
    assert beside(tree).working() == made
    (tree / "new.c").write_text("int another;\n")
    assert beside(tree).working() not in (made, None)


def test_what_is_staged_counts_as_what_is_saved(tree: Path) -> None:
    (tree / "one.c").write_text("int one = 2;\n")
    git(tree, "add", "one.c")
    made = beside(tree).working()
    assert made is not None
    git(tree, "commit", "-q", "-m", "third")
    assert beside(tree).working() is None
    where = beside(tree)
    assert git(where.place, "rev-parse", f"{made}^{{tree}}") == git(tree, "rev-parse", "HEAD^{tree}")


def test_a_file_changed_within_the_second_of_the_index_is_seen(tree: Path) -> None:
    """Git itself looks again at files that are as young as the index; ours is a copy of it, and younger."""
    for number in range(20):
        commit(tree, f"commit {number}", one__c=f"int one = {number % 10};\n")
        (tree / "one.c").write_text(f"int one = {(number + 1) % 10};\n")
        made = beside(tree).working()
        assert made is not None, number


def test_a_second_work_tree_and_one_without_an_index(tree: Path, tmp_path: Path) -> None:
    git(tree, "worktree", "add", "-q", str(tmp_path / "second"), "-b", "second")
    (tmp_path / "second/one.c").write_text("int one = 3;\n")
    where = beside(tmp_path / "second")
    made = where.working()
    assert made is not None
    assert git(where.place, "cat-file", "blob", f"{made}:one.c") == "int one = 3;"
    assert beside(tree).working() is None
    (tree / ".git/index").unlink()
    assert beside(tree).working() is None


def test_a_folder_below_the_top_means_the_whole_clone(tree: Path) -> None:
    (tree / "one.c").write_text("int one = 2;\n")
    assert beside(tree / "arch").working() == beside(tree).working() is not None


def test_a_bare_repository_and_a_shallow_clone(tree: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(tree), "bare")
    assert beside(tmp_path / "bare").working() is None
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{tree}", "shallow")
    (tmp_path / "shallow/one.c").write_text("int one = 4;\n")
    where = beside(tmp_path / "shallow")
    made = where.working()
    assert made is not None
    assert len(git(where.place, "rev-list", made).split()) == 2


def test_no_repository_and_none_with_a_commit_are_told(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    with pytest.raises(KernelError, match="not a git repository"):
        beside(tmp_path / "none")
    git(tmp_path, "init", "-q", "empty")
    with pytest.raises(KernelError, match="no commit yet"):
        beside(tmp_path / "empty").working()


def test_a_merge_that_is_not_finished_is_told(tree: Path) -> None:
    git(tree, "checkout", "-q", "-b", "side", "HEAD^")
    commit(tree, "on a side", one__c="int one = 2;\n")
    with pytest.raises(subprocess.CalledProcessError):
        git(tree, "merge", "-q", "main")
    before = state(tree)
    with pytest.raises(KernelError, match=r"a merge is not finished: one\.c is in conflict"):
        beside(tree).working()
    assert state(tree) == before
    git(tree, "add", "one.c")
    assert beside(tree).working() is not None

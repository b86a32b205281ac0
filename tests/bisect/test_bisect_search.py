"""The search over real histories in git: the answer contains the truth, whatever the history looks like."""

import tempfile
from pathlib import Path

import pytest
from git_histories import ancestors, history_of, line
from hypothesis import given, settings
from hypothesis import strategies as st

from rushhour.bisect.history import History
from rushhour.bisect.search import Ahead, Decision, Position, ahead, search


class Truth:
    """Judges commits as the first bad one and those that do not build would have it; counts the steps."""

    def __init__(self, parents: list[list[int]], names: list[str], first: int, broken: set[int]) -> None:
        self.bad = {name for k, name in enumerate(names) if first in ancestors(parents, k)}
        self.broken = {names[place] for place in broken}
        self.asked: list[str] = []

    def __call__(self, commit: str, _now: Ahead) -> Decision:
        self.asked.append(commit)
        if commit in self.broken:
            return "skip"
        return "bad" if commit in self.bad else "good"


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[list[int]], int, set[int]]:
    """Commits with one to three parents each; the first bad one; those that do not build."""
    size = draw(st.integers(2, 24))
    parents: list[list[int]] = [[]]
    for place in range(1, size):
        count = draw(st.sampled_from((1, 1, 1, 2, 3)))
        near = st.integers(max(0, place - 6), place - 1)
        parents.append(draw(st.lists(near, min_size=1, max_size=count, unique=True)))
    inside = sorted(ancestors(parents, size - 1) - {0})
    first = draw(st.sampled_from(inside))
    broken = draw(st.sets(st.integers(1, size - 1), max_size=size // 2)) - {size - 1}
    return parents, first, broken


@settings(max_examples=60)
@given(histories())
def test_the_answer_contains_the_truth(case: tuple[list[list[int]], int, set[int]]) -> None:
    parents, first, broken = case
    with tempfile.TemporaryDirectory() as folder:
        history, names = history_of(Path(folder) / "git", parents)
        judge = Truth(parents, names, first, broken)
        last = search(history, Position(names[-1], (names[0],)), judge)
    assert names[first] in last.candidates
    assert len(judge.asked) == len(set(judge.asked)), "no commit is judged twice"
    assert not {names[0], names[-1]} & set(judge.asked)
    # Whatever is left beside the oldest bad commit could not be judged.
    assert all(name in judge.broken for name in last.candidates[:-1])
    if not broken:
        assert last.candidates == [names[first]]


@pytest.mark.parametrize("first", range(1, 33))
def test_a_line_takes_as_many_steps_as_halving_does(first: int, tmp_path: Path) -> None:
    history, names = history_of(tmp_path / "git", line(33))
    judge = Truth(line(33), names, first, set())
    assert search(history, Position(names[-1], (names[0],)), judge).candidates == [names[first]]
    assert len(judge.asked) == 5


def test_git_itself_comes_to_the_same_answer(tmp_path: Path) -> None:
    parents = [[], [0], [1], [1], [2], [3, 4], [5], [6], [5], [7, 8], [9]]
    history, names = history_of(tmp_path / "git", parents)
    for first in range(1, len(parents)):
        judge = Truth(parents, names, first, set())
        assert search(history, Position(names[-1], (names[0],)), judge).candidates == [names[first]]


def test_commits_that_do_not_build_are_named_with_the_first_that_was_bad(tmp_path: Path) -> None:
    history, names = history_of(tmp_path / "git", line(10))
    judge = Truth(line(10), names, 5, {4, 5, 6})
    last = search(history, Position(names[-1], (names[0],)), judge)
    assert set(last.candidates) == {names[4], names[5], names[6], names[7]}
    assert last.candidates[-1] == names[7]


def test_one_that_does_not_build_in_the_middle_costs_little(tmp_path: Path) -> None:
    history, names = history_of(tmp_path / "git", line(65))
    judge = Truth(line(65), names, 50, {32})
    assert search(history, Position(names[-1], (names[0],)), judge).candidates == [names[50]]
    assert len(judge.asked) <= 8


def test_a_run_of_broken_commits_is_jumped_over(tmp_path: Path) -> None:
    """The middle third does not build, the first bad commit is far from it."""
    history, names = history_of(tmp_path / "git", line(100))
    judge = Truth(line(100), names, 90, set(range(35, 66)))
    assert search(history, Position(names[-1], (names[0],)), judge).candidates == [names[90]]
    assert len(judge.asked) <= 16


def test_steps_left_are_estimated(tmp_path: Path) -> None:
    history, names = history_of(tmp_path / "git", line(17))
    now = ahead(history, Position(names[-1], (names[0],)))
    assert (len(now.candidates), now.steps, now.next) == (16, 4, names[8])
    done = ahead(history, Position(names[1], (names[0],)))
    assert (done.candidates, done.steps, done.next) == ([names[1]], 0, None)


def test_a_commit_is_described(tmp_path: Path) -> None:
    history, names = history_of(tmp_path / "git", [[], [0], [0], [1, 2]])
    merge = history.about(names[3])
    assert merge.parents == (names[1], names[2])
    assert set(merge.files) == {"file3"}, "against its first parent"
    assert merge.author == "A Person <a@example.org>"
    assert merge.subject == "commit 3"
    assert history.about(names[0]).files == ("file0",)
    assert isinstance(history, History)

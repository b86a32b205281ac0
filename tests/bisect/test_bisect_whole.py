"""Whole bisections: real histories, builds of a little tree, a laboratory that measures what a test says."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes import SCENARIO, FakeLab
from little_tree import commit, git, make_tree

from rushhour.bisect import Options, bisect
from rushhour.errors import AgentError, RushHourError, ScenarioError, UsageError
from rushhour.lab import kernel as kernels

GOOD, BAD = 90.0, 80.0
BROKEN = "int one = nonsense;\n"


@pytest.fixture(autouse=True)
def private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    Path("fake.toml").write_text(SCENARIO)


class Linux:
    """A tree of a few commits; what its kernels measure is said for each of them."""

    def __init__(self, folder: Path, broken: tuple[int, ...] = (), length: int = 9) -> None:
        self.tree = make_tree(folder)
        git(self.tree, "init", "-q", "-b", "main")
        self.commits = [
            commit(self.tree, f"change {k}", one__c=BROKEN if k in broken else f"int one = {k};\n")
            for k in range(length)
        ]
        self.place = {f"bisect-{name[:12]}": k for k, name in enumerate(self.commits)}

    def lab(self, measured: Callable[[int, str, int], float]) -> FakeLab:
        """What is measured, by the place of the commit, the algorithm, and the seed."""
        return FakeLab(lambda kernel, cc, seed: measured(self.place[kernel], cc, seed))

    def bisect(self, lab: FakeLab, metric: str = "goodput_bps", **options: Any) -> dict[str, Any]:
        given = {
            "flow": None if metric == "-" else "long",
            "sets": ("cc=cubic",),
            "out": Path("out"),
        } | options
        ends = self.commits[0], self.commits[-1]
        return bisect(self.tree, *ends, "fake.toml", metric, options=Options(**given), lab=lab)


@pytest.fixture
def linux(tmp_path: Path) -> Linux:
    return Linux(tmp_path / "linux")


def since(first: int) -> Callable[[int, str, int], float]:
    return lambda place, _cc, _seed: BAD if place >= first else GOOD


@pytest.mark.parametrize("first", [1, 5, 8])
def test_the_commit_is_found_and_described(linux: Linux, first: int) -> None:
    found = linux.bisect(linux.lab(since(first)))
    assert (found["state"], found["exit"]) == ("found", 0)
    answer = found["answer"]
    assert answer["hash"] == linux.commits[first]
    assert (answer["subject"], answer["files"]) == (f"change {first}", ["one.c"])
    assert found["metric"]["good"] == pytest.approx(GOOD * 1e6)
    assert found["metric"]["bad"] == pytest.approx(BAD * 1e6)
    assert found["verdict"] == "worse"
    assert found["divergence"]["table"] == "tcp_probe"
    said = found["divergence"]["sentence"]
    assert found["before"][:12] in said
    assert found["answer"]["hash"][:12] in said
    assert "candidate" not in said
    assert "base" not in said
    assert json.loads(Path("out/bisect.json").read_text())["answer"] == answer
    equal = [step for step in found["steps"] if "to the byte" in step["reason"]]
    assert equal
    for step in equal:
        assert step["reason"].endswith(f", in one seed equal to the {step['decision']} end to the byte")
    assert json.loads(Path("out/verdict/verdict.json").read_text())["verdict"] == "worse"


def test_the_page_names_each_side_once_and_advises_what_follows(linux: Linux) -> None:
    found = linux.bisect(linux.lab(since(4)), sets=("cc=cubic", "duration=9s"))
    names = [found["before"][:12], found["answer"]["hash"][:12]]
    verdict = json.loads(Path("out/verdict/verdict.json").read_text())
    assert verdict["commit"] == found["answer"]["hash"]
    assert verdict["cells"][0]["divergence"] == found["divergence"]
    page, summary = (Path("out/verdict", name).read_text() for name in ("report.html", "summary.md"))
    for role, name in zip(("Base", "Candidate"), names, strict=True):
        assert re.search(rf"<dt>{role}</dt>\s*<dd>Linux 6\.99\.0 at {name} ", page)
    assert f"Linux 6.99.0 at {names[1]} against Linux 6.99.0 at {names[0]}" in summary
    assert "rushhour bisect" not in summary, "the commit is found"
    # Without what the bisection was asked with it would be another experiment.
    assert "rushhour run fake.toml --set cc=cubic --set duration=9s --kernel bisect-" in summary


def test_git_replays_the_log(linux: Linux, tmp_path: Path) -> None:
    linux.bisect(linux.lab(since(6)))
    git(tmp_path, "clone", "-q", str(linux.tree), "clone")
    log = Path("out/git-bisect.log").resolve()
    said = git(tmp_path / "clone", "bisect", "replay", str(log))
    assert f"{linux.commits[6]} is the first bad commit" in said


def test_the_repository_is_left_alone(linux: Linux) -> None:
    (linux.tree / "one.c").write_text("/* being edited */\n")
    (linux.tree / "new.c").write_text("/* new */\n")
    git(linux.tree, "checkout", "-q", "-b", "mine")

    def state() -> list[Any]:
        index = linux.tree / ".git/index"
        words = (
            ("--no-optional-locks", "status", "--porcelain"),
            ("for-each-ref",),
            ("symbolic-ref", "HEAD"),
            ("reflog",),
        )
        return [index.stat().st_mtime_ns, *(git(linux.tree, *some) for some in words)]

    before = state()
    assert linux.bisect(linux.lab(since(4)))["answer"]["hash"] == linux.commits[4]
    assert state() == before
    assert (linux.tree / "one.c").read_text() == "/* being edited */\n"


def test_what_does_not_compile_is_skipped(tmp_path: Path) -> None:
    linux = Linux(tmp_path / "linux", broken=(4, 2))
    found = linux.bisect(linux.lab(since(6)))
    assert found["answer"]["hash"] == linux.commits[6]
    skipped = [step for step in found["steps"] if step["decision"] == "skip"]
    assert skipped[0]["commit"] == linux.commits[4]
    # As the tree has it, not the private copy.
    assert skipped[0]["reason"].startswith("it cannot be built: one.c:1:11: error")


def test_the_first_bad_commit_beside_ones_that_do_not_compile_is_one_of_them(tmp_path: Path) -> None:
    linux = Linux(tmp_path / "linux", broken=(3, 4))
    found = linux.bisect(linux.lab(since(4)))
    assert (found["state"], found["exit"], found["answer"]) == ("candidates", 3, None)
    names = {linux.commits.index(one["hash"]) for one in found["candidates"]}
    assert names == {3, 4, 5}


def test_what_panics_is_skipped(linux: Linux) -> None:
    def measured(place: int, _cc: str, _seed: int) -> float:
        if place == 4:
            raise AgentError("the kernel panicked: BUG at tcp_input.c")
        return BAD if place >= 6 else GOOD

    found = linux.bisect(linux.lab(measured))
    assert found["answer"]["hash"] == linux.commits[6]
    assert "BUG at tcp_input.c" in found["steps"][0]["reason"]


def test_a_commit_from_which_the_kernel_fails_is_found_without_a_metric(linux: Linux) -> None:
    def measured(place: int, _cc: str, _seed: int) -> float:
        if place >= 5:
            raise AgentError("the kernel panicked: BUG at tcp_input.c")
        return GOOD

    found = linux.bisect(linux.lab(measured), "-")
    assert found["mark"]["kind"] == "failure"
    assert found["answer"]["hash"] == linux.commits[5]


def test_noise_is_told_from_the_change(linux: Linux) -> None:
    """Seeds differ by more than the commit does: pairs of one seed tell it all the same."""

    def measured(place: int, _cc: str, seed: int) -> float:
        spread, own = (seed * 7919 % 1000) / 1000 * 30, (seed * 31 * (place + 1) % 97) / 97
        return (85 if place >= 3 else 100) - spread + own

    found = linux.bisect(linux.lab(measured))
    assert found["answer"]["hash"] == linux.commits[3]
    assert all(step["seeds"] >= 5 for step in found["steps"])


def test_of_two_changes_the_one_that_crosses_the_middle_is_found(linux: Linux) -> None:
    measured = {0: 90.0, 1: 90.0, 2: 87.0, 3: 87.0, 4: 87.0, 5: 87.0, 6: 80.0, 7: 80.0, 8: 80.0}
    found = linux.bisect(linux.lab(lambda place, _cc, _seed: measured[place]))
    assert found["answer"]["hash"] == linux.commits[6]
    reasons = [step["reason"] for step in found["steps"] if step["commit"] == linux.commits[4]]
    assert "30 % of the way from good to bad" in reasons[0]


def test_of_many_cells_the_clearest_is_bisected_and_the_others_named(linux: Linux) -> None:
    slower = {"cubic": 0.0, "reno": 7.0, "vegas": 20.0, "bbr": 0.0}
    lab = linux.lab(lambda place, cc, _seed: GOOD - (slower[cc] if place >= 5 else 0.0))
    found = linux.bisect(lab, sets=())
    assert found["cell"] == "cc=vegas"
    assert found["others"] == ["cc=reno"]
    assert found["answer"]["hash"] == linux.commits[5]
    ends = {f"bisect-{linux.commits[k][:12]}" for k in (0, -1)}
    assert {cc for kernel, cc, _ in lab.ran if kernel not in ends} == {"vegas"}


def test_an_interrupted_bisection_goes_on_where_it_was(linux: Linux) -> None:
    def interrupted(place: int, _cc: str, _seed: int) -> float:
        if place == 6:
            raise KeyboardInterrupt
        return BAD if place >= 7 else GOOD

    with pytest.raises(KeyboardInterrupt):
        linux.bisect(linux.lab(interrupted))
    before = json.loads(Path("out/bisect.json").read_text())
    assert (before["state"], len(before["steps"])) == ("going", 1)
    with pytest.raises(UsageError, match="bisection already") as refused:
        linux.bisect(linux.lab(since(7)))
    assert "--resume" in str(refused.value)
    lab = linux.lab(since(7))
    found = linux.bisect(lab, resume=True)
    assert found["answer"]["hash"] == linux.commits[7]
    assert found["steps"][0] == before["steps"][0]
    assert not [kernel for kernel, _, _ in lab.ran if linux.place[kernel] in (0, 4, 8)], (
        "known runs run again"
    )


def test_another_question_is_not_gone_on_with(linux: Linux) -> None:
    linux.bisect(linux.lab(since(3)))
    with pytest.raises(UsageError, match="different: metric, flow"):
        linux.bisect(linux.lab(since(3)), "drops", flow=None, resume=True)
    with pytest.raises(UsageError, match="no interrupted bisection"):
        linux.bisect(linux.lab(since(3)), resume=True, out=Path("elsewhere"))


def test_kernels_of_the_steps_go_and_none_becomes_the_default(linux: Linux) -> None:
    usual = kernels.build(str(linux.tree), "usual")
    found = linux.bisect(linux.lab(since(5)))
    names = {one.name for one in kernels.installed()}
    assert names == {"usual", *(f"bisect-{linux.commits[k][:12]}" for k in (4, 5))}
    assert found["before"] == linux.commits[4]
    assert kernels.default() == usual


def test_an_improvement_is_found_when_it_is_asked_for(linux: Linux) -> None:
    lab = linux.lab(lambda place, _cc, _seed: BAD if place < 3 else GOOD)
    with pytest.raises(UsageError, match="the bad commit is better") as caught:
        linux.bisect(lab)
    assert "--improved" in str(caught.value)
    assert linux.bisect(lab, improved=True, out=Path("two"))["answer"]["hash"] == linux.commits[3]


def test_ends_that_do_not_differ_are_refused(linux: Linux) -> None:
    with pytest.raises(UsageError, match="do not differ"):
        linux.bisect(linux.lab(lambda *_: GOOD))
    with pytest.raises(UsageError, match="do not differ"):
        linux.bisect(linux.lab(lambda place, _cc, _seed: GOOD - place * 0.1), out=Path("two"))


def test_words_that_mean_nothing_are_refused_with_the_nearest(linux: Linux) -> None:
    lab = linux.lab(since(3))
    with pytest.raises(ScenarioError, match=r'did you mean "goodput_bps"'):
        linux.bisect(lab, "goodput_bp")
    with pytest.raises(ScenarioError, match=r'no flow is named "lang"'):
        linux.bisect(lab, flow="lang")
    with pytest.raises(ScenarioError, match="minimum"):
        linux.bisect(lab, minimum="5 apples")
    with pytest.raises(UsageError, match="is undefined in this scenario"):
        linux.bisect(lab, "flow_completion_time_p50_us", flow=None)


def refused(linux: Linux, good: str, bad: str, tree: Path | None = None) -> str:
    with pytest.raises(RushHourError) as caught:
        bisect(tree or linux.tree, good, bad, "fake.toml", "goodput_bps", lab=linux.lab(since(3)))
    return str(caught.value)


def test_ends_that_are_not_ends_are_refused(linux: Linux, tmp_path: Path) -> None:
    one, two = linux.commits[0], linux.commits[-1]
    assert "comes after" in refused(linux, two, one)
    assert "same commit" in refused(linux, one, one)
    git(linux.tree, "tag", "v1.0", one)
    assert 'did you mean "v1.0"' in refused(linux, "v1.00", two)
    assert "not a git repository" in refused(linux, one, two, tmp_path / "cache")
    git(linux.tree, "checkout", "-q", "-b", "side", linux.commits[2])
    side = commit(linux.tree, "side", one__c="int side;\n")
    assert f"--good {linux.commits[2][:12]}" in refused(linux, side, two)


def test_a_cut_history_is_said_with_the_cure(linux: Linux, tmp_path: Path) -> None:
    url = f"file://{linux.tree}"
    subprocess.run(["git", "clone", "-q", "--depth=4", url, tmp_path / "shallow"], check=True)
    said = refused(linux, linux.commits[0], linux.commits[-1], tmp_path / "shallow")
    assert "--unshallow" in said
    assert "comes after" not in said


def test_an_end_that_does_not_build_is_said(tmp_path: Path) -> None:
    linux = Linux(tmp_path / "linux", broken=(0,), length=3)
    assert "the good commit does not build" in refused(linux, linux.commits[0], linux.commits[-1])


def test_with_metrics_alone_the_first_divergence_is_told_all_the_same(linux: Linux) -> None:
    from rushhour.record.record import Record  # noqa: PLC0415
    from rushhour.running.runner import keeping  # noqa: PLC0415

    found = linux.bisect(linux.lab(since(5)), wanted=keeping("uml", "metrics"))
    assert found["answer"]["hash"] == linux.commits[5]
    assert found["divergence"]["table"] == "tcp_probe"
    whole = [path for path in Path("out/records").glob("*/*/runs/[0-9]*") if Record.verified(path).is_whole]
    assert {path.parts[-4] for path in whole} == {linux.commits[place][:12] for place in (4, 5)}
    assert len(whole) == 2

"""The command of a check for gdb: it names a function that differs where one is certain to be called."""

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from checks import BODY, elsewhere, judged, measured
from little_tree import git
from verdict_documents import cell, document

from rushhour.check import calls, core, telling
from rushhour.check.change import Change, FileChange
from rushhour.check.reach import Reach
from rushhour.lab.kernel import names
from rushhour.record.document import read
from rushhour.record.verdict_file import VerdictFile
from rushhour.verdict.side import key_of

PATH = "net/ipv4/tcp_x.c"
HERE, ELSEWHERE = key_of("suite/a", {"cc": "cubic"}), key_of("suite/a", {"cc": "reno"})


def differing(path: str = PATH, *, outside: bool = False, code: bool = True) -> FileChange:
    return FileChange(path, "changed", (3,), (3,), ("one", "other"), outside, code)


def reached(*executed: str, **more: bool) -> Reach:
    """Both functions as the index knows them: those that one cell executes, and that the other does."""
    found = {(PATH, name): frozenset({HERE if name in executed else ELSEWHERE}) for name in ("one", "other")}
    return Reach(found, {PATH: True, **more})


def named(change: Change, known: Reach, *own: str) -> list[str]:
    return [*calls.calls(change, known, lambda: own)(HERE)]


@pytest.mark.parametrize(
    ("executed", "own", "expected"),
    [
        (("one",), ("one", "other"), ["one"]),
        (("one", "other"), ("one", "other"), ["one", "other"]),
        (("one", "other"), ("other",), []),  # the other may be called much later than the one in its callers
        ((), ("one", "other"), []),
        (("one",), (), []),
    ],
)
def test_functions_are_named_that_the_cell_executes_and_at_which_gdb_stops(
    executed: tuple[str, ...], own: tuple[str, ...], expected: list[str]
) -> None:
    assert named(Change("a", "b", (differing(),)), reached(*executed), *own) == expected


@pytest.mark.parametrize(
    ("more", "known", "expected"),
    [
        (differing("Documentation/x.rst"), {"Documentation/x.rst": False}, ["one"]),
        (differing("kernel/time/timer.c"), {}, []),  # no index says who executes it
        (differing("net/ipv4/tcp_y.c", outside=True), {"net/ipv4/tcp_y.c": True}, []),
        (differing("include/net/sock.h", code=False), {}, ["one"]),  # comments
    ],
)
def test_whatever_else_may_differ_before_leaves_no_function(
    more: FileChange, known: dict[str, bool], expected: list[str]
) -> None:
    change = Change("a", "b", (differing(), more))
    assert named(change, reached("one", **known), "one", "other") == expected


def test_functions_of_a_kernel_are_those_that_have_code_of_their_own(tmp_path: Path) -> None:
    text = """
    static inline __attribute__((always_inline)) int inside(int a) { return 3 * a; }
    static __attribute__((noinline)) int own(int a) { return inside(a); }
    int data = 1;
    int all(int a) { return own(a) + data; }
    """
    (tmp_path / "linux.debug.c").write_text(text)
    subprocess.run(
        ["gcc", "-O1", "-c", "-o", "linux.debug", "linux.debug.c"], cwd=tmp_path, check=True, timeout=60
    )
    kernel: Any = SimpleNamespace(image=tmp_path / "linux")
    assert names.functions(kernel) == {"own", "all"}
    (tmp_path / "linux.debug").unlink()
    assert names.functions(kernel) == frozenset()


def whole(folder: Path, *functions: str) -> dict[str, Any]:
    """What a check says of its worst cell, which parts in runs of both kernels."""
    runs = {name: [{"seed": 1, "folder": f"{name}/runs/0"}] for name in ("base", "candidate")}
    one = cell(0, runs=runs, divergence={"seed": 1, "sentence": "They part."}, calls=[*functions])
    found = read(VerdictFile, document([one]), "verdict.json")
    worst = telling.worst(found)
    assert worst is not None
    return {"verdict": "worse", "worst": worst | calls.debugging(found, worst, folder)}


@pytest.mark.parametrize(
    ("functions", "where", "last"),
    [
        (("tbf_dequeue",), "at the last call of tbf_dequeue before both part", " --last tbf_dequeue"),
        (("one", "other"), "at the last call of one or other before both part", " --last one --last other"),
        ((), "just before both part", ""),
    ],
)
def test_the_terminal_has_the_command(functions: tuple[str, ...], where: str, last: str) -> None:
    told = [*calls.told(whole(Path("results/c"), *functions))]
    assert told == [
        f"Under gdb, {where} (compiles the kernel's symbols first, once):",
        "  rushhour debug results/c/candidate/runs/0 --divergence results/c/base/runs/0" + last + " --build",
    ]


def test_of_what_is_not_worse_nothing_is_told() -> None:
    assert not [*calls.told({**whole(Path()), "verdict": "inconclusive"})]
    assert not [*calls.told({"verdict": "worse", "worst": None})]
    assert not [*calls.told({"verdict": "broken"})]


def test_the_report_of_a_check_names_the_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = elsewhere(tmp_path, monkeypatch)
    (tree / "one.c").write_text(BODY.format(80))
    git(tree, "add", "one.c")
    keys = frozenset(key_of("fake", {"cc": cc}) for cc in ("cubic", "bbr", "vegas"))
    known = Reach({("one.c", "speed"): keys}, {"one.c": True}, first=keys, known=True)
    monkeypatch.setattr(core, "reach", lambda *_, **__: known)
    monkeypatch.setattr(names, "functions", lambda _: frozenset({"speed"}))
    found = judged(tree, lab=measured({"bbr"}))
    worst = found["commits"][0]["worst"]
    assert worst["calls"] == ["speed"]
    assert " --last speed --build" in worst["debug"]
    report = Path(found["commits"][0]["report"]).read_text()
    assert "Stop in gdb at the last call of speed before both part" in report

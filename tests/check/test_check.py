"""Whole checks: real clones, builds of a little tree, a laboratory that measures what a test says."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from checks import BODY, judged, linux, measured
from fakes import SCENARIO, FakeLab
from little_tree import commit, git

from rushhour.check import Options, built, check, core
from rushhour.check.complaints import told
from rushhour.check.reach import Reach
from rushhour.check.telling import commit as sentence
from rushhour.check.telling import mail, spans, with_scripts
from rushhour.check.telling import scripts as of_scripts
from rushhour.coverage.index import Index
from rushhour.debug import Asked, debug
from rushhour.debug.again import again
from rushhour.errors import GuestError, KernelError, UsageError
from rushhour.lab import kernel as kernels
from rushhour.lab.kernel import Kernel
from rushhour.packetdrill import comparing, pairs, telling
from rushhour.packetdrill.outcome import Outcome
from rushhour.packetdrill.scripts import Script
from rushhour.record.record import Record
from rushhour.verdict.side import key_of


@pytest.fixture(autouse=True)
def private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    Path("fake.toml").write_text(SCENARIO)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return linux(tmp_path)


def test_what_is_not_committed_is_judged_against_head(tree: Path) -> None:
    (tree / "one.c").write_text(BODY.format(80))
    found = judged(tree)
    assert (found["verdict"], found["exit"]) == ("worse", 1)
    whole = json.loads(Path(found["commits"][0]["report"]).with_name("verdict.json").read_text())
    assert whole["commit"] == found["commits"][0]["commit"]
    assert not [command for command in whole["next"] if " bisect " in command], (
        "one change: nothing to bisect"
    )
    one = found["commits"][0]
    assert one["change"][0]["functions"] == {"speed": None}
    assert one["change"][0]["lines"] == {"old": [3], "new": [3]}
    assert one["sentence"].startswith("Worse: fake, cc=")
    assert Path(one["report"]).is_file()
    assert json.loads((Path(found["folder"]) / "check.json").read_text())["sentence"] == found["sentence"]
    assert (tree / "one.c").read_text() == BODY.format(80)


def test_results_in_the_tree_itself_are_no_part_of_the_change(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "fake.toml").write_text(SCENARIO)
    commit(tree, "a scenario", one__c=BODY.format(80))
    monkeypatch.chdir(tree)
    first, again = (check(options=Options(("fake.toml",), whole=True), lab=measured(set())) for _ in range(2))
    assert Path(first["folder"]).resolve().parent == tree / "results/check"
    assert first["commits"][0]["commit"] == again["commits"][0]["commit"] == git(tree, "rev-parse", "HEAD")
    assert git(tree, "status", "--short") == ""


def test_only_what_differs_is_measured(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    whole = Record.metrics

    def measure(record: Record) -> Any:
        read.append(str(record.manifest.cell.factors["cc"]))
        return whole(record)

    monkeypatch.setattr(Record, "metrics", measure)
    (tree / "one.c").write_text(BODY.format(80))
    found = judged(tree, lab=measured({"bbr"}), all=True)
    assert found["verdict"] == "worse"
    assert set(read) == {"bbr"}
    # What was measured is known from then on: of the base nothing is measured again.
    count = len(read)
    (tree / "one.c").write_text(BODY.format(70))
    judged(tree, lab=measured({"bbr"}), all=True)
    assert len(read) == count + count // 2


@pytest.fixture
def watched(tree: Path) -> Path:
    """A tree whose image has the options in it, so that a kernel with sanitizers is another one."""
    text = (tree / "Makefile").read_text()
    commit(tree, "options", Makefile=text.replace("(cat one.c;", "(cat one.c $(O)/.config;"))
    return tree


CELLS = ("reno", "vegas")


def complaining(guilty: set[str], among: tuple[str, ...] = CELLS) -> FakeLab:
    """Kernels with these values in their source complain in these cells where they have sanitizers."""

    def behaviour(kernel: str, cc: str, _seed: int) -> float:
        image = next(one for one in kernels.installed() if one.name == kernel).image.read_text()
        value = image.split("return ")[1].split(";")[0]
        if "CONFIG_KASAN=y" in image and value in guilty and cc in among:
            raise GuestError(
                "the kernel complains, 1.5 s after the experiment began: BUG: KASAN: slab-out-of-bounds\n"
                "    BUG: KASAN: slab-out-of-bounds\n    Call Trace:\n"
                "     [<60259c58>] kasan_report+0xc8/0x110\n     [<6069a064>] tcp_ack+0xbe4/0x1f30\n"
                + "".join(f"     [<6069a064>] f{n}+0x1/0x2\n" for n in range(20))
                + "    Freed by task 0:\n     kfree_skbmem+0x79/0xf0"
            )
        return 90.0

    return FakeLab(behaviour)


def test_one_kernel_has_all_sanitizers_and_what_they_find_is_worse(watched: Path) -> None:
    (watched / "one.c").write_text(BODY.format(80))
    quiet = judged(watched, lab=complaining(set()), sanitizers=("ubsan", "kasan"), all=True)
    assert quiet["verdict"] == "same"
    assert quiet["sentence"].endswith(" Nothing found by kasan, ubsan in 4 cells.")
    names = [one.name for one in kernels.installed() if one.is_variant]
    assert names == [f"check-{quiet['commits'][0]['commit'][:12]}-kasan-ubsan"]
    found = judged(watched, lab=complaining({"80"}), sanitizers=("ubsan", "kasan"), all=True)
    assert (found["verdict"], found["exit"]) == ("same", 0)  # runs are known, by image and plan
    (watched / "one.c").write_text(BODY.format(70))
    found = judged(watched, lab=complaining({"70"}), sanitizers=("ubsan", "kasan"))
    assert (found["verdict"], found["exit"]) == ("worse", 1)
    assert found["sentence"].startswith("Worse: with kasan, ubsan: fake, cc=")
    assert found["sentence"].count("BUG: KASAN: slab-out-of-bounds") == 1
    kernel = f"check-{found['commits'][0]['commit'][:12]}-kasan-ubsan"
    assert told(found) == [
        "    BUG: KASAN: slab-out-of-bounds", "    Call Trace:", "     tcp_ack+0xbe4/0x1f30",
        *(f"     f{n}+0x1/0x2" for n in range(5)), "    Freed by task 0:", "     kfree_skbmem+0x79/0xf0",
        "The same again, at the same instant:", f"  rushhour run fake.toml --kernel {kernel}",
        "Under gdb, at the line that it complains of (compiles the kernel's symbols first, once):",
        f"  {found['commits'][0]['sanitizers']['complaints'][0]['debug']}",
    ]  # fmt: skip
    assert told(quiet) == []


def test_the_command_for_gdb_finds_the_run_that_failed(watched: Path) -> None:
    (watched / "one.c").write_text(BODY.format(80))
    complaint = judged(watched, lab=complaining({"80"}), sanitizers=("kasan",))["commits"][0]["sanitizers"]
    one = complaint["complaints"][0]
    words = shlex.split(one["debug"])
    assert words[:2] + words[3:] == ["rushhour", "debug", "--complaint", "--build"]
    run = again(Path(words[2]))
    assert (run.record, run.failed) == (None, one["reason"])
    assert run.kernel.name.endswith("-kasan")
    assert f"cc={run.labels['cell']['factors']['cc']}" == one["label"]
    assert run.plan.flows[0].cc == run.labels["cell"]["factors"]["cc"]
    with pytest.raises(UsageError, match="no run of this set failed"):
        again(Path(words[2]).parents[1] / "base" / Path(words[2]).name, failed=True)


def test_a_kernel_that_is_gone_is_built_from_the_commit_that_nobody_made(watched: Path) -> None:
    """The command for gdb says how, or does it with --build."""
    (watched / "one.c").write_text(BODY.format(80))
    found = judged(watched, lab=complaining({"80"}), sanitizers=("kasan",))["commits"][0]
    run = Path(shlex.split(found["sanitizers"]["complaints"][0]["debug"])[2])
    for kernel in kernels.installed():
        kernels.remove(kernel.folder.name)
    with pytest.raises(KernelError, match="-kasan is no longer here") as refused:
        debug(run, Asked(complaint=True))
    assert f"@{found['commit']} --with kasan --with symbols" in str(refused.value)
    with pytest.raises(KernelError, match="there is no kernel 'check-") as refused:
        kernels.find(f"check-{found['commit'][:12]}-kasan")
    assert f"@{found['commit']} --with kasan --name check-{found['commit'][:12]}-kasan" in str(refused.value)


def test_the_first_complaint_ends_a_check_and_the_base_is_asked_in_its_cell_first(watched: Path) -> None:
    (watched / "one.c").write_text(BODY.format(80))
    lab = complaining({"80"}, (*CELLS, "cubic", "bbr"))
    found = judged(watched, lab=lab, sanitizers=("kasan",))
    assert (found["verdict"], found["commits"][0]["sanitizers"]["cells"]) == ("worse", 1)
    ran = [(name, cc) for name, cc, _ in lab.ran if name.endswith("-kasan") and cc != "boot"]
    mine, *both = ran
    # The two run beside each other, in any order.
    (its_base,) = [kernel for kernel, _ in both if kernel != mine[0]]
    assert sorted(both) == sorted([(its_base, mine[1]), mine]), "what fails is not known when asked for again"
    # It starts, so it is kept for who wants to see the complaint again.
    assert mine[0] in {one.name for one in kernels.installed()}


def test_of_what_sanitizers_find_in_the_base_a_change_is_not_guilty(watched: Path) -> None:
    (watched / "one.c").write_text(BODY.format(80))
    found = judged(watched, lab=complaining({"80", "90"}), sanitizers=("kasan",))
    assert (found["verdict"], found["exit"]) == ("same", 0)
    assert " With kasan the base does the same: fake, cc=" in found["sentence"]
    assert found["commits"][0]["sanitizers"]["verdict"] == "common"


def test_with_all_sanitizers_look_also_at_what_is_worse_without_them(watched: Path) -> None:
    (watched / "one.c").write_text(BODY.format(80))
    complains = complaining({"80"})

    def slower(kernel: str, cc: str, seed: int) -> float:
        image = next(one for one in kernels.installed() if one.name == kernel).image.read_text()
        return min(complains.behaviour(kernel, cc, seed), float(image.split("return ")[1].split(";")[0]))

    found = judged(watched, lab=FakeLab(slower), sanitizers=("kasan",), all=True)
    assert (found["verdict"], found["exit"]) == ("worse", 1)
    assert found["sentence"].startswith("Worse: fake, cc=")
    assert " With kasan: fake, cc=" in found["sentence"]
    assert "BUG: KASAN" in found["sentence"]


def test_a_kernel_that_runs_nothing_with_sanitizers_has_found_nothing_good(watched: Path) -> None:
    (watched / "one.c").write_text(BODY.format(80))
    all_of_them = (*CELLS, "cubic", "bbr", "boot")
    found = judged(watched, lab=complaining({"80", "90"}, all_of_them), sanitizers=("kasan",))
    assert (found["verdict"], found["exit"]) == ("invalid", 4)
    assert found["sentence"].startswith("Invalid: with kasan nothing can be judged: fake, cc=")
    # Kernels that start for nothing are of no use, the base's with sanitizers is none either.
    assert not [one.name for one in kernels.installed() if one.is_variant]
    assert len(kernels.installed()) == 2


def test_a_clean_tree_is_judged_by_its_last_commit(tree: Path) -> None:
    commit(tree, "faster", one__c=BODY.format(99))
    found = judged(tree)
    assert (found["verdict"], found["exit"]) == ("better", 0)
    assert re.match(
        r"Better: fake, cc=\w+: goodput_bps of flow:long rose by .* cells? differs?\.", found["sentence"]
    )
    assert found["commits"][0]["subject"] == "faster"
    assert "Tested-by: A <a@example.org>" in mail(found, "A <a@example.org>")


def test_what_compiles_to_the_same_image_is_the_same_and_nothing_runs(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = measured(set())
    (tree / "net/ipv4/tcp.c").write_text("int tcp, other;\n")
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


def test_for_comments_nothing_is_built(tree: Path) -> None:
    base = git(tree, "rev-parse", "HEAD")
    commit(tree, "a comment", one__c="/* Two\n * lines. */\n" + BODY.format(90))
    commit(tree, "slower", one__c="/* Two\n * lines. */\n" + BODY.format(80))
    commented, slower = judged(tree, base)["commits"]
    assert commented["sentence"] == "Same: only comments and blank space differ."
    assert (commented["exit"], commented["change"][0]["code"]) == (0, False)
    assert slower["verdict"] == "worse"
    built = {one.name for one in kernels.installed()}
    assert built == {f"check-{one['commit'][:12]}" for one in (commented, slower)}


def test_a_change_with_which_the_kernel_does_not_start_is_told_in_the_kernels_words(tree: Path) -> None:
    (tree / "one.c").write_text(BODY.format(80))
    panic = "the virtual kernel did not start; its last console lines:\n    Kernel panic - not syncing: x"

    def behaviour(kernel: str, _cc: str, _seed: int) -> float:
        image = next(one for one in kernels.installed() if one.name == kernel).image.read_text()
        if "return 80" in image:
            raise GuestError(panic)
        return 90.0

    found = judged(tree, lab=FakeLab(behaviour))
    assert (found["verdict"], found["exit"]) == ("broken", 1)
    assert found["sentence"] == "It does not start: Kernel panic - not syncing: x."
    assert found["commits"][0]["starts"] is False
    complaint = {
        **found["commits"][0],
        "reason": "the kernel complains, 0.1 s after the experiment began: WARNING: x",
    }
    assert sentence(complaint) == "It complains 0.1 s after the experiment began: WARNING: x."
    # It is not kept: the base alone is.
    assert [one.name for one in kernels.installed()] == [f"check-{git(tree, 'rev-parse', 'HEAD')[:12]}"]
    # Where the base does not run either, nobody knows.

    def nothing(_kernel: str, _cc: str, _seed: int) -> float:
        raise GuestError(panic)

    commit(tree, "other", one__c=BODY.format(82))
    (tree / "one.c").write_text(BODY.format(83))
    found = judged(tree, lab=FakeLab(nothing))
    assert (found["verdict"], found["exit"]) == ("invalid", 4)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("one.c:1:2: error: 'x' undeclared\n  1 | x", "one.c:1:2: error: 'x' undeclared"),
        (
            "ld: one.o: in function `a':\n one.c:(.text+0x1): undefined reference to `b'\ncollect2: error",
            "one.c:(.text+0x1): undefined reference to `b'",
        ),
        (
            "make[4]: *** No rule to make target 'net/one.o', needed by 'net/built-in.a'.  Stop.",
            "No rule to make target 'net/one.o', needed by 'net/built-in.a'.  Stop.",
        ),
        ("make: *** [/linux/Makefile:1: linux] Error 2", "[/linux/Makefile:1: linux] Error 2"),
    ],
)
def test_why_it_does_not_build_is_told_by_the_line_that_says_so(said: str, told: str) -> None:
    found = {"verdict": "broken", "reason": f"make: build failed (exit 2):\n  {said}", "change": []}
    assert sentence(found) == f"It does not build: {told}"


def test_new_warnings_are_told_with_the_verdict() -> None:
    found = {"verdict": "same", "numbers": True, "image": "same", "change": [], "warnings": ["a.c: unused x"]}
    said = "Same: it compiles to the same code; only numbers of lines in warnings may differ."
    assert sentence(found) == f"{said} The compiler warns: a.c: unused x."
    found["warnings"] = ["a.c: unused x", "a.c: unused y"]
    assert sentence(found) == f"{said} The compiler warns: a.c: unused x (and 1 more)."


def test_of_a_file_that_the_index_does_not_have_it_is_told_that_nobody_knows(tree: Path) -> None:
    (tree / "one.c").write_text(BODY.format(80))
    found = judged(tree, lab=measured(set()))
    assert found["sentence"] == (
        "Same: all 4 cells are equal to the byte. Whether a cell executes one.c is not known."
    )


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


def test_cells_that_cannot_come_to_the_change_are_left_out_and_said_so(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only if the index is of this very base; `--all` runs them as well."""
    right = True
    idle = frozenset(key_of("fake", {"cc": cc}) for cc in ("reno", "cubic", "bbr"))
    monkeypatch.setattr(core, "reach", lambda *_, **__: replace(known("vegas"), idle=idle))
    monkeypatch.setattr(core, "holds", lambda *_: right)
    monkeypatch.setattr(core, "_index", lambda _: Index({}, (), {}, np.zeros((0, 0), np.bool_)))
    index = Path("index.json.xz")
    (tree / "one.c").write_text(BODY.format(80))
    lab = measured(set())
    found = judged(tree, lab=lab, whole=False, coverage=index)
    assert {cc for _, cc, _ in lab.ran} == {"vegas"}
    assert found["sentence"] == (
        "Same: the 1 cell that comes to it is equal to the byte. 2 other cells cannot come to it."
    )
    assert found["commits"][0]["idle"] == 2
    assert (
        judged(tree, lab=measured(set()), whole=False, coverage=index, all=True)["commits"][0]["cells"] == 3
    )
    assert judged(tree, lab=measured(set()), coverage=index)["commits"][0]["cells"] == 4, (
        "longer runs do more"
    )
    # A scenario of somebody's own is none of the index that the program has.
    assert judged(tree, lab=measured(set()), whole=False)["commits"][0]["cells"] == 3
    right = False
    assert judged(tree, lab=measured(set()), whole=False, coverage=index)["commits"][0]["cells"] == 3


def test_behind_commits_of_the_same_code_the_index_is_of_the_base_as_before(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = git(tree, "rev-parse", "HEAD")
    idle = frozenset(key_of("fake", {"cc": cc}) for cc in ("reno", "cubic", "bbr"))
    monkeypatch.setattr(core, "reach", lambda *_, **__: replace(known("vegas"), idle=idle))
    monkeypatch.setattr(core, "holds", lambda _index, _kernel, _place, commit: commit == base)
    monkeypatch.setattr(core, "_index", lambda _: Index({}, (), {}, np.zeros((0, 0), np.bool_)))
    commit(tree, "why", one__c=BODY.format(90) + "/* why */\n")
    commit(tree, "and how", one__c=BODY.format(90) + "/* why and how */\n")
    commit(tree, "slower", one__c=BODY.format(80))
    commit(tree, "slower still", one__c=BODY.format(70))
    index = Path("index.json.xz")
    found = judged(tree, base, lab=measured(set()), whole=False, coverage=index)
    # Of the last one's base the code is another.
    assert [one["cells"] for one in found["commits"]] == [0, 0, 1, 3]


def test_kernels_of_earlier_checks_go_but_for_those_of_the_last_few(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was printed of an earlier state goes on working; the disk does not fill."""
    monkeypatch.setattr(built, "MOST_EARLIER", 2)
    states = []
    for value in (80, 81, 82, 83):
        (tree / "one.c").write_text(BODY.format(value))
        states.append(judged(tree)["commits"][0]["commit"])
    base = git(tree, "rev-parse", "HEAD")
    assert {one.name for one in kernels.installed()} == {f"check-{one[:12]}" for one in (base, *states[1:])}


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
    report = SimpleNamespace(headline="1 script: 1 invalid")
    document = {"verdict": "invalid", "exit": 4, "counts": {}}
    made = pairs.Compared(changes, document, report)  # type: ignore[arg-type]
    cells = {"verdict": "same", "exit": 0, "cells": 3, "differ": 0, "change": []}
    found = cells | with_scripts(cells, of_scripts(made))
    assert found["exit"] == 4
    assert sentence(found) == (
        "Invalid: packetdrill: INVALID a.pkt (ipv4): both failed (crash), a.pkt: it did not start; "
        "1 script: 1 invalid."
    )


def test_scripts_that_a_newer_packetdrill_leaves_unread_are_told_with_the_remedy() -> None:
    ran, unread = Outcome(Script("a.pkt"), "ipv4", "pass"), Outcome(Script("b.pkt"), "ipv4", "fail", "newer")
    lacking = Outcome(Script("c.pkt"), "ipv4", "fail", "program")
    changes = [comparing.compare(one, one, "") for one in (ran, unread, lacking)]
    report = SimpleNamespace(headline="3 scripts: 2 skipped, 1 same")
    document = {"verdict": "same", "exit": 0, "counts": {}}
    made = pairs.Compared(changes, document, report)  # type: ignore[arg-type]
    cells = {"verdict": "same", "exit": 0, "cells": 3, "differ": 0, "change": []}
    said = sentence(cells | with_scripts(cells, of_scripts(made)))
    assert said.endswith(
        "2 skipped, 1 same. 1 stays out: packetdrill is newer than the kernel "
        "(an older one: --source TREE@REVISION)."
    )


def outcome(*, passed: bool) -> Outcome:
    script = Script("cubic/a.pkt")
    return Outcome(script, "ipv4", "pass") if passed else Outcome(script, "ipv4", "fail", "time", line=28)


@pytest.mark.parametrize(
    ("cells", "scripts", "said"),
    [
        (90, (True, True), ("same", "packetdrill: 1 script: 1 same.")),
        (90, (True, False), ("worse", "Worse: packetdrill: WORSE cubic/a.pkt (ipv4): passed → failed")),
        (90, (False, True), ("better", "Better: packetdrill: BETTER cubic/a.pkt (ipv4)")),
        (99, (True, True), ("better", "packetdrill: 1 script: 1 same.")),
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

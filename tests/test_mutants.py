"""Kernel mutants: the patches, what is kept of judgements, the page; live: a fault and a harmless change."""

from __future__ import annotations

import csv
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from mutants import __main__ as command
from mutants import groups, judge, page, patches, results
from mutants.cells import Place, Suite
from mutants.judge import Built, Court, Scope
from mutants.results import Judgement
from mutants.source import Source
from rushhour.errors import UsageError
from rushhour.lab import kernel as kernels
from rushhour.lab.kernel import Kernel, sources
from rushhour.record.slim import WHOLE
from rushhour.verdict.comparing import make_lab

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mutants.patches import Mutant
    from rushhour.verdict.side import Key

SOURCE = "debian:6.12"
HEADER = "Subject: Beta is a half\nArea: cubic\nSymptom: Goodput falls.\n\n--- a/net/x.c\n+++ b/net/x.c\n"


def test_the_collection_is_what_it_claims_to_be() -> None:
    mutants = patches.load()
    kinds = Counter(mutant.kind for mutant in mutants)
    assert kinds["faults"] >= 60
    assert kinds["harmless"] >= 12
    changes = [mutant.sha256 for mutant in mutants]
    assert len(set(changes)) == len(changes), "two mutants make the same change"


def test_each_patch_changes_one_place_of_the_network_stack() -> None:
    for mutant in patches.load():
        assert len(mutant.files) == 1, mutant.name
        assert mutant.files[0].startswith(("net/", "include/net/", "drivers/net/")), mutant.name
        lines = mutant.text.partition("\n+++ ")[2].splitlines()[1:]
        changed = sum(line.startswith(("+", "-")) for line in lines)
        assert changed <= (10 if mutant.fault else 45), f"{mutant.name} changes {changed} lines"


def test_a_header_that_lacks_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.patch").write_text(HEADER.replace("Area: cubic\n", "Colour: red\n"))
    with pytest.raises(UsageError, match=r"lacks Area and has Colour"):
        patches.read(tmp_path / "x.patch", "faults")


def test_only_the_change_itself_decides_whether_a_judgement_holds(tmp_path: Path) -> None:
    place = tmp_path / "x.patch"
    place.write_text(HEADER)
    before = patches.read(place, "faults").sha256
    place.write_text(HEADER.replace("Goodput falls.", "Goodput falls on lossy paths."))
    assert patches.read(place, "faults").sha256 == before
    place.write_text(HEADER + "+\n")
    assert patches.read(place, "faults").sha256 != before


def test_mutants_are_chosen_by_name_area_and_kind() -> None:
    mutants = patches.load()
    assert {mutant.area for mutant in patches.select(mutants, ("cubic",))} == {"cubic"}
    assert [mutant.name for mutant in patches.select(mutants, ("netem-limit",))] == ["netem-limit"]
    assert all(not mutant.fault for mutant in patches.select(mutants, ("harmless",)))
    assert patches.select(mutants, ()) == mutants
    with pytest.raises(UsageError, match="'cubik'"):
        patches.select(mutants, ("cubik",))


BASE = Kernel("debian-6.12", Path("linux"), "6.12", {"image_sha256": "image"}, Path("config"))
FAULT, OTHER = (mutant for mutant in patches.load()[:2])


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(results, "written", dict)
    return tmp_path


def test_a_judgement_rests_on_the_bytes_of_the_base_and_on_no_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"cubic": "1", "reno": "1"}
    monkeypatch.setattr(results, "scenarios", lambda: texts)
    sums: dict[Key, str] = {("suite/cubic", "{}"): "bytes"}
    before = results.basis(FAULT, BASE, sums)
    assert results.basis(FAULT, BASE, dict(sums)) == before
    texts["reno"] = "2"
    assert results.basis(FAULT, BASE, sums) == before, "of another scenario"
    assert results.basis(FAULT, BASE, {("suite/cubic", "{}"): "other bytes"}) != before
    assert results.basis(OTHER, BASE, sums) != before
    assert results.basis(FAULT, replace(BASE, identity={"image_sha256": "newer"}), sums) != before
    texts["cubic"] = "2"
    assert results.basis(FAULT, BASE, sums) != before


@pytest.mark.usefixtures("cache")
def test_a_judgement_is_kept_and_recalled() -> None:
    assert results.recall(FAULT) is None
    found = Judgement(FAULT.name, "worse", "cubic", "cc=cubic", known="hash", build_s=1.5, differ=2)
    assert results.keep(FAULT, found)
    assert results.recall(FAULT) == found


@pytest.mark.usefixtures("cache")
def test_a_part_of_the_suite_never_overwrites_what_the_whole_suite_said() -> None:
    whole = Judgement(FAULT.name, "same", cells=817, known="hash")
    looked = replace(whole, cells=9, whole=False)
    assert results.keep(FAULT, looked), "better than nothing"
    assert results.keep(FAULT, whole)
    assert not results.keep(FAULT, looked)
    assert results.recall(FAULT) == whole


@pytest.mark.usefixtures("cache")
def test_a_failed_build_is_no_judgement() -> None:
    assert not results.keep(FAULT, Judgement(FAULT.name, "failed", reason="no room"))
    assert results.recall(FAULT) is None


def test_the_worst_of_all_stages_counts() -> None:
    early = Judgement("", "better", "cubic", cells=9, differ=2)
    late = Judgement("", "same", cells=800, differ=1)
    assert results.worst([early, late]) == replace(early, cells=809, differ=3)
    assert (
        results.worst([Judgement("", "same"), Judgement("", "inconclusive"), early]).verdict == "inconclusive"
    )


def test_a_judgement_survives_the_table_in_the_repository(tmp_path: Path) -> None:
    found = Judgement(
        FAULT.name, "worse", "cubic", "path=1 Mbit/s, 40 ms", True, "goodput_bps", -0.25, "slower, by far",
        8, 3, 1.5, 2.5, False, "hash",
    )  # fmt: skip
    place = tmp_path / "found.csv"
    place.write_text(page.judgements([(FAULT, found), (OTHER, None)]))
    assert results.written(place) == {FAULT.name: found}


class Said(Court):
    """A court that says what it is told to, of kernels that are never built."""

    def __init__(self, *found: Judgement) -> None:
        self.found, self.asked = [*found], list[str]()

    def build(self, mutants: Sequence[Mutant]) -> Built:
        return Built(mutants, None, 0.0, "")

    def judge(self, built, tell, scope=None):  # type: ignore[no-untyped-def]
        self.asked += [mutant.name for mutant in built.mutants]
        return [replace(self.found.pop(0), mutant=mutant.name) for mutant in built.mutants]

    def holds(self, found, mutant, *, whole=True) -> bool:  # type: ignore[no-untyped-def]
        return True


@pytest.mark.usefixtures("cache")
def test_the_reason_of_a_failed_build_is_shown_and_it_is_tried_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    court = Said(*2 * [Judgement("", "failed", reason="tcp_x.c:7: error: expected ;")])
    for _ in range(2):
        assert command._judge([FAULT], court, Scope(), fresh=False)
    assert court.asked == [FAULT.name, FAULT.name]
    assert "tcp_x.c:7: error: expected ;" in capsys.readouterr().err


@pytest.mark.usefixtures("cache")
def test_a_named_scenario_is_always_answered_and_known_mutants_are_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    whole = Judgement(FAULT.name, "worse", "cubic", known="hash")
    results.keep(FAULT, whole)
    court = Said(Judgement("", "same", cells=9, differ=0, whole=False))
    command._judge([FAULT], court, Scope(), fresh=False)
    assert "1 of 1 are known" in capsys.readouterr().err
    assert court.asked == []
    command._judge([FAULT], court, Scope(scenarios=("reno",)), fresh=False)
    assert court.asked == [FAULT.name]
    said = capsys.readouterr().err
    assert "9 cells ran, 0 differ" in said
    assert "kept is what the whole suite said" in said
    assert results.recall(FAULT) == whole


class Loud(Said):
    """A court that notices one fault, alone or among others."""

    def judge(self, built, tell, scope=None):  # type: ignore[no-untyped-def]
        self.asked.append(" ".join(mutant.name for mutant in built.mutants))
        verdict = "worse" if FAULT in built.mutants else "same"
        differ = int(any(mutant.name == "fourth" for mutant in built.mutants))
        return [Judgement(mutant.name, verdict, "cubic", differ=differ) for mutant in built.mutants]


@pytest.mark.usefixtures("cache")
def test_faults_that_quick_cells_do_not_tell_from_the_base_are_judged_together_then_in_halves() -> None:
    third, fourth = (replace(FAULT, name=name) for name in ("third", "fourth"))
    quiet = [FAULT, OTHER, third, fourth]
    for mutant in quiet:
        results.keep(mutant, Judgement(mutant.name, "same", cells=3, whole=False))
    # What differs, if by less than matters, could hide something or be hidden.
    loud = replace(FAULT, name="differs")
    results.keep(loud, Judgement(loud.name, "same", cells=3, differ=1, whole=False))
    court = Loud()
    command._judge([loud, *quiet], court, Scope(), fresh=True)
    ordered = sorted(quiet, key=command._order)
    middle = [" ".join(one.name for one in ordered[:2]), " ".join(one.name for one in ordered[2:])]
    assert court.asked[:2] == [loud.name, " ".join(middle)]
    assert court.asked.count(FAULT.name) == 1
    found = {one.name: results.recall(one) for one in quiet}
    assert [name for name, one in found.items() if one and one.caught] == [FAULT.name]
    # A difference, even if by less than matters, is that of one.
    assert [name for name, one in found.items() if one and one.differ] == ["fourth"]
    # The quick suite is what told so little: it is asked of each alone again.
    court = Loud()
    command._judge([OTHER, third], court, Scope(quick=True), fresh=True)
    assert sorted(court.asked) == sorted([OTHER.name, third.name])


def test_a_scenario_that_the_suite_does_not_have_is_refused() -> None:
    assert results.named("suite/cubic", {"cubic"}) == "cubic"
    with pytest.raises(UsageError, match="'cubik'"):
        results.named("cubik", {"cubic"})


def test_the_page_counts_names_and_explains(tmp_path: Path) -> None:
    calm = next(mutant for mutant in patches.load() if not mutant.fault)
    rows = [
        (FAULT, Judgement(FAULT.name, "worse", "cubic", "cc=cubic", metric="goodput", change=-0.25)),
        (replace(OTHER, missed="nobody can see it"), Judgement(OTHER.name, "same", differ=1)),
        (calm, Judgement(calm.name, "better", "cubic", "cc=reno", metric="loss", change=0.1)),
    ]
    place, kept = tmp_path / "page.md", tmp_path / "found.csv"
    place.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n")
    page.write(rows, place, kept)
    text = place.read_text()
    assert "1 of 2 faults caught (50%), 1 false alarms in 1 harmless changes" in text
    assert f"[{FAULT.name}](../mutants/faults/{FAULT.name}.patch)" in text
    judged = {one["mutant"]: one["verdict"] for one in csv.DictReader(kept.read_text().splitlines())}
    assert judged == {FAULT.name: "worse", OTHER.name: "same", calm.name: "better"}
    assert "nobody can see it" in text
    assert f"False alarm: [{calm.name}](../mutants/harmless/{calm.name}.patch), **better** by cubic" in text
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "\nold\n" not in text
    assert "were not judged" not in text
    assert "0 of these 3 judgements say what they rest on, 0 of them catches; 3 are older and to be" in text
    new = [(mutant, found and replace(found, known="hash")) for mutant, found in rows]
    assert "3 of these 3 judgements say what they rest on, 1 of them catches." in page.table(new)
    assert "1 were not judged" in page.table([*rows, (OTHER, None)])
    page.write(rows, place, kept)
    assert place.read_text() == text


def test_the_share_caught_by_rule_leaves_out_what_is_equal_to_the_byte() -> None:
    made = [replace(FAULT, name=str(number), kind="mechanical") for number in range(4)]
    said = [Judgement("0", "worse"), Judgement("1", "same", differ=2), Judgement("2", "identical"), None]
    text = page.table([*zip(made, said, strict=True)])
    assert "| **all** | 1 | 50% | 1 | 1 | 1 |" in text
    assert "| [1](../mutants/mechanical/1.patch) |" in text


def test_files_have_their_group() -> None:
    assert groups.group_of("net/ipv4/tcp_input.c") == "TCP core"
    assert groups.group_of("net/ipv4/tcp_cubic.c") == "congestion controls"
    assert groups.group_of("net/sched/sch_fq.c") == "queue disciplines"
    assert groups.group_of("net/ipv4/udp.c") == "other"


def test_the_file_of_judgements_has_every_mutant() -> None:
    judged = {one["mutant"] for one in csv.DictReader(results.FOUND.read_text("utf-8").splitlines())}
    assert judged == {mutant.name for mutant in patches.load()}
    text = page.PAGE.read_text("utf-8")
    named = {name for name in judged if f"/{name}.patch)" in text}
    # Of those by rule the page names only what was not caught.
    assert judged - named <= {mutant.name for mutant in patches.load() if mutant.kind == "mechanical"}


def test_the_list_says_what_is_known_and_judges_nothing() -> None:
    said = CliRunner().invoke(command.main, ["--list", "cubic"])
    assert said.exit_code == 0
    assert "cubic-beta-half" in said.output
    assert "cubik" in CliRunner().invoke(command.main, ["--list", "cubik"]).output


@pytest.fixture(scope="module")
def court(tmp_path_factory: pytest.TempPathFactory) -> Court:
    place = Place(make_lab(), None, WHOLE, tmp_path_factory.mktemp("mutants"))
    return Court(Source(kernels.find(judge.BASE)), place, command.the_index())


@pytest.mark.virtual
def test_live_a_fault_is_worse_and_a_harmless_change_the_same(court: Court) -> None:
    known = {mutant.name: mutant for mutant in patches.load()}
    scope = Scope(quick=True, scenarios=("suite/prio",))
    [fault] = court.judge(court.build([known["prio-bands-reversed"]]), print, scope)
    assert fault.caught, fault
    assert (fault.scenario, fault.quick) == ("prio", True)
    mutant = known["prio-bands-reversed"]
    assert court.holds(fault, mutant, whole=False)
    assert not court.holds(fault, mutant), "one scenario is no answer of the whole suite"
    assert not court.holds(replace(fault, known="of other bytes"), mutant, whole=False)
    calm = [known["loop-rewritten"], known["likely-hints"]]
    found = court.judge(court.build(calm), print, scope)
    assert [one.mutant for one in found] == [mutant.name for mutant in calm]
    assert all(one.verdict == "same" and one.cells > 0 and not one.differ for one in found), found
    assert not [kernel.name for kernel in kernels.installed() if kernel.name.startswith("mutant-prio-bands")]


@pytest.mark.virtual
def test_live_a_kernel_that_lacks_what_the_base_has_is_worse(court: Court) -> None:
    known = {mutant.name: mutant for mutant in patches.load()}
    scope = Scope(quick=True, scenarios=("suite/dctcp",))
    [found] = court.judge(court.build([known["tcp_dctcp-295-negated"]]), print, scope)
    assert found.caught, found
    assert (found.scenario, found.metric) == ("dctcp", "")
    assert found.differ
    assert 'no congestion control "dctcp"' in found.reason


@pytest.mark.virtual
def test_live_what_compiles_to_the_same_object_and_what_does_not_compile(court: Court) -> None:
    known = {mutant.name: mutant for mutant in patches.load()}
    [same] = court.judge(court.build([known["comment-reworded"]]), print)
    assert same.verdict == "identical"
    broken = known["cubic-beta-half"].text.replace("static int beta", "static int beta beta")
    assert broken != known["cubic-beta-half"].text
    [failed] = court.judge(court.build([replace(known["cubic-beta-half"], text=broken)]), print)
    assert failed.verdict == "failed"
    assert "tcp_cubic.c" in failed.reason
    assert not failed.known


@pytest.mark.virtual
def test_the_index_chooses_the_cells_that_execute_a_change(court: Court) -> None:
    known = {mutant.name: mutant for mutant in patches.load()}
    chosen = court.executing([known["prio-bands-reversed"]])
    assert chosen is not None
    assert 0 < len(chosen) < 20
    assert all(key in {task.key for task in court.suites[True].tasks} for key in chosen)


@pytest.mark.virtual
def test_what_the_base_writes_is_remembered(court: Court, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = court.suites[True]
    tasks = suite.of(["prio"])
    found = suite.sums(tasks)
    again = Suite(suite.base, suite.place, quick=True)
    monkeypatch.setattr(Place, "conductor", lambda *_, **__: pytest.fail("it ran again"))
    assert again.sums(tasks) == found


@pytest.mark.virtual
def test_every_patch_applies_to_the_source_of_the_base() -> None:
    tree = sources.resolve(SOURCE, print).directory()
    patched = {
        mutant.name: str(patches.FOLDER / mutant.kind / f"{mutant.name}.patch") for mutant in patches.load()
    }
    # No repository around the cache is to have a say.
    command = ["env", f"GIT_CEILING_DIRECTORIES={tree.parent}", "git", "apply", "--check"]
    done = [
        subprocess.run([*command, patch], cwd=tree, check=False, capture_output=True, text=True)
        for patch in patched.values()
    ]
    assert not {name: one.stderr for name, one in zip(patched, done, strict=True) if one.returncode}

"""Kernel mutants: the patches, what is kept of judgements, the page; live: a fault and a harmless change."""

from __future__ import annotations

import csv
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from mutants import judge, page, patches, results
from mutants.results import Judgement
from mutants.tree import SOURCE, Tree
from rushhour.errors import UsageError
from rushhour.lab import agent as agents
from rushhour.lab import kernel as kernels
from rushhour.lab.agent import Agent
from rushhour.lab.kernel import Kernel, sources

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
        assert mutant.files[0].startswith(("net/", "include/net/")), mutant.name
        lines = mutant.patch.read_text().partition("\n+++ ")[2].splitlines()[1:]
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
AGENT = Agent("1", "agent", Path("root"))


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    known = {"cubic": "1", "reno": "1"}
    monkeypatch.setattr(results, "scenarios", lambda: known)
    monkeypatch.setattr(agents, "find", lambda: AGENT)
    return known


def test_what_was_caught_holds_with_its_scenario_and_what_was_missed_with_all(suite: dict[str, str]) -> None:
    mutant = patches.load()[0]
    caught = Judgement("x", "worse", scenario="cubic", known=results.basis(mutant, BASE, "cubic"))
    missed = Judgement("x", "same", known=results.basis(mutant, BASE, ""))
    assert results.holds(caught, mutant, BASE)
    assert results.holds(missed, mutant, BASE)
    looked = replace(missed, whole=False)
    assert not results.holds(looked, mutant, BASE)
    assert results.holds(looked, mutant, BASE, whole=False)
    suite["reno"] = "2"
    assert results.holds(caught, mutant, BASE)
    assert not results.holds(missed, mutant, BASE)
    suite["cubic"] = "2"
    assert not results.holds(caught, mutant, BASE)


def test_a_judgement_is_kept_and_recalled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    mutant = patches.load()[0]
    assert results.recall(mutant) is None
    found = Judgement(
        mutant.name, "worse", "cubic", "cc=cubic", "goodput", -0.2, "slower", 3, 1.5, 2.5, known="hash"
    )
    results.keep(mutant, found)
    assert results.recall(mutant) == found


def test_the_page_counts_names_and_explains(tmp_path: Path) -> None:
    fault, other = (mutant for mutant in patches.load()[:2])
    calm = next(mutant for mutant in patches.load() if not mutant.fault)
    rows = [
        (fault, Judgement(fault.name, "worse", "cubic", "cc=cubic", "goodput", -0.25, build_s=4, judge_s=9)),
        (replace(other, missed="nobody can see it"), Judgement(other.name, "same")),
        (calm, Judgement(calm.name, "better", "cubic", "cc=reno", "loss", 0.1)),
    ]
    place, kept = tmp_path / "page.md", tmp_path / "found.csv"
    place.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n")
    page.write(rows, place, kept)
    text = place.read_text()
    assert "1 of 2 faults caught (50%), 1 false alarms in 1 harmless changes" in text
    assert f"[{fault.name}](../mutants/faults/{fault.name}.patch)" in text
    judged = list(csv.DictReader(kept.read_text().splitlines()))
    said = {one["mutant"]: (one["verdict"], one["by"], one["build_s"], one["judge_s"]) for one in judged}
    assert said == {
        fault.name: ("caught", "cubic cc=cubic: goodput -25.00%", "4", "9"),
        other.name: ("same", "", "0", "0"),
        calm.name: ("better", "cubic cc=reno: loss +10.00%", "0", "0"),
    }
    assert "nobody can see it" in text
    assert f"False alarm: [{calm.name}](../mutants/harmless/{calm.name}.patch), **better** by cubic" in text
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert "were not judged" not in text
    assert "1 were not judged" in page.table([*rows, (other, None)])
    page.write(rows, place, kept)
    assert place.read_text() == text


def test_the_file_of_judgements_has_every_mutant() -> None:
    judged = {
        one["mutant"]: one["what"] for one in csv.DictReader(page.FOUND.read_text("utf-8").splitlines())
    }
    assert judged == {mutant.name: mutant.subject for mutant in patches.load()}
    text = page.PAGE.read_text("utf-8")
    assert [name for name in judged if f"/{name}.patch)" not in text] == []


@pytest.mark.virtual
def test_live_a_fault_is_worse_and_a_harmless_change_the_same() -> None:
    known = {mutant.name: mutant for mutant in patches.load()}
    base, tree, scope = (
        kernels.find(judge.BASE),
        Tree(print),
        judge.Scope(quick=True, scenarios=("suite/prio",)),
    )
    [fault] = judge.judge([known["prio-bands-reversed"]], tree, base, print, scope)
    assert fault.caught, fault
    assert fault.scenario == "prio"
    calm = [known["loop-rewritten"], known["likely-hints"]]
    found = judge.judge(calm, tree, base, print, scope)
    assert [one.mutant for one in found] == [mutant.name for mutant in calm]
    assert all(one.verdict == "same" and one.cells > 0 for one in found), found
    assert not [kernel.name for kernel in kernels.installed() if kernel.name.startswith("mutant-prio-bands")]


@pytest.mark.virtual
def test_every_patch_applies_to_the_source_of_the_base() -> None:
    tree = sources.resolve(SOURCE, print).directory()
    patched = {mutant.name: str(mutant.patch.resolve()) for mutant in patches.load()}
    # No repository around the cache is to have a say.
    command = ["env", f"GIT_CEILING_DIRECTORIES={tree.parent}", "git", "apply", "--check"]
    done = [
        subprocess.run([*command, patch], cwd=tree, check=False, capture_output=True, text=True)
        for patch in patched.values()
    ]
    assert not {name: one.stderr for name, one in zip(patched, done, strict=True) if one.returncode}

"""Baselines: what is kept of records, how it is found again, and that nothing of it is ever lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from result_sets import AGENT, kernel, result_set, study

from rushhour import baseline
from rushhour.baseline import shelf
from rushhour.cli import cli
from rushhour.errors import RecordError, RushHourError, UsageError
from rushhour.verdict import judge, side
from rushhour.verdict.lane import batches_of

NOW = "2026-11-21T09:00:00Z"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def test_what_was_saved_is_found_again(tmp_path: Path) -> None:
    results = result_set(tmp_path / "results", repeat=2)

    baseline.save("stable", tmp_path / "results", time=NOW)
    found = baseline.find("stable")

    assert [(run.cell, run.factors, run.repetition, run.seed) for run in found.runs] == [
        (0, {"cc": "cubic"}, 0, 1), (0, {"cc": "cubic"}, 1, 101),
        (1, {"cc": "reno"}, 0, 1), (1, {"cc": "reno"}, 1, 101),
    ]  # fmt: skip
    assert found.kernel["name"] == "stable"
    records = list(results)
    assert [found.values()[run.folder] for run in found.runs] == [record.metrics() for record in records]
    raw = [{"raw/tcp_probe.rh": record.manifest["files"]["raw/tcp_probe.rh"]} for record in records]
    assert [found.digests()[run.folder] for run in found.runs] == raw
    kept = list(found.records())
    assert [record.key for record in kept] == [record.key for record in records]
    for record in kept:
        record.verify()


def test_records_share_their_files_with_the_results(tmp_path: Path) -> None:
    results = result_set(tmp_path / "results")

    found = baseline.save("stable", tmp_path / "results", time=NOW)

    first = next(found.records()).path / "raw" / "tcp_probe.rh"
    assert first.samefile(results.folders()[0] / "raw" / "tcp_probe.rh")


def test_a_slim_baseline_has_the_same_bytes_wherever_it_is_made(tmp_path: Path) -> None:
    for place in ("one", "two/there"):
        sets = [
            result_set(tmp_path / place / name, scenario=f"suite/{name}", indexed=place == "one")
            for name in ("start", "loss")
        ]
        paths = [one.path for one in sets]
        study(tmp_path / place, paths if place == "one" else paths[::-1])
        baseline.save(f"{tmp_path}/{place}/repo/base", tmp_path / place, time=NOW, slim=True)

    first, second = tmp_path / "one/repo/base", tmp_path / "two/there/repo/base"
    assert sorted(path.name for path in first.iterdir()) == ["baseline.json", "index.parquet"]
    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes()
    text = (first / "baseline.json").read_text()
    assert str(tmp_path) not in text
    assert "2026" not in text


def test_a_slim_baseline_gives_values_and_no_records(tmp_path: Path) -> None:
    results = result_set(tmp_path / "results")
    found = baseline.save(f"{tmp_path}/slim", tmp_path / "results", time=NOW, slim=True)

    assert list(found.records()) == []
    assert list(baseline.find(f"{tmp_path}/slim").values().values()) == [one.metrics() for one in results]


def test_each_scenario_of_a_folder_that_is_no_set_is_its_own(tmp_path: Path) -> None:
    for name, revision in (("loss", "5"), ("start", "7")):
        made = result_set(tmp_path / name, scenario=f"suite/{name}", revision=revision)
        for run in made.folders():
            shutil.copytree(run, tmp_path / "both/runs" / f"{name}-{run.name}")

    kept = baseline.save("stable", tmp_path / "both", time=NOW).scenarios

    assert [(one.name, one.sha256) for one in kept] == [("suite/loss", "5" * 64), ("suite/start", "7" * 64)]


def test_a_scenario_that_the_kernel_cannot_carry_out_is_known(tmp_path: Path) -> None:
    sets = [result_set(tmp_path / name, scenario=f"suite/{name}").path for name in ("start", "dual")]
    about = json.loads((sets[1] / "set.json").read_text())
    entry = {"cell": about["cells"][0], "kernel": "stable", "message": "no qdisc dual"}
    shutil.rmtree(sets[1] / "runs")
    (sets[1] / "set.json").write_text(json.dumps({**about, "runs": 0, "skipped": [entry]}))
    study(tmp_path / "both", sets)

    made = baseline.save("stable", tmp_path / "both", time=NOW)

    assert {one.name: len(one.skipped) for one in made.scenarios} == {"suite/start": 0, "suite/dual": 1}
    cells = side.of_baseline(made).cells.values()
    assert [cell.skipped for cell in cells if cell.scenario == "suite/dual"] == ["no qdisc dual"]

    (sets[1] / "set.json").write_text(json.dumps({**about, "skipped": [{**entry, "kernel": "another"}]}))
    other = baseline.save("other", tmp_path / "both", kernel="stable", time=NOW)
    assert [one.name for one in other.scenarios] == ["suite/start"]


def test_a_baseline_of_a_baseline_is_the_same(tmp_path: Path) -> None:
    result_set(tmp_path / "results")
    baseline.save("stable", tmp_path / "results", time=NOW)

    exported = baseline.save(f"{tmp_path}/repo/stable", "stable", time=NOW, slim=True)

    direct = baseline.save(f"{tmp_path}/other/stable", tmp_path / "results", time=NOW, slim=True)
    assert (exported.path / "baseline.json").read_bytes() == (direct.path / "baseline.json").read_bytes()
    with pytest.raises(UsageError, match="only metrics are known of 2 of 2 runs"):
        baseline.save("again", exported.path, time=NOW)


def test_the_words_it_was_asked_with_are_kept_told_and_in_commands(tmp_path: Path) -> None:
    made = result_set(tmp_path / "results", scenario="suite/start")
    other = result_set(
        tmp_path / "other", scenario="suite/start", kernels=[kernel("next", "6.13.0")], apart=True
    )
    words = ["topology.rate=1mbit", "flow.long.cc=[bbr]"]
    for one in (made, other):
        about = json.loads((one.path / "set.json").read_text())
        (one.path / "set.json").write_text(json.dumps({**about, "asked": {"sets": words}}))
    baseline.save("stable", made.path, time=NOW)
    baseline.save("copy", "stable", time=NOW, slim=True)
    for name in ("stable", "copy"):
        found = side.of_baseline(baseline.find(name))
        assert list(found.sets["suite/start"]) == words
        verdict = judge(found, side.of_sets([other], "other"))
        asked = "suite/start was asked for with --set topology.rate=1mbit --set 'flow.long.cc=[bbr]'"
        assert asked in verdict.notes
        assert all(list(cell.sets) == words for cell in verdict.document().cells)
    shown = CliRunner().invoke(cli, ["baseline", "show", "stable"], catch_exceptions=False).stdout
    assert "\nasked     suite/start with --set topology.rate=1mbit --set 'flow.long.cc=[bbr]'\n" in shown
    nobody: Any = None
    (batch,) = batches_of(side.of_baseline(baseline.find("stable")), nobody)
    assert batch.asked == {"sets": words}


def test_a_name_is_never_overwritten(tmp_path: Path) -> None:
    result_set(tmp_path / "results")
    baseline.save("stable", tmp_path / "results", time=NOW)

    with pytest.raises(UsageError, match="already") as caught:
        baseline.save("stable", tmp_path / "results", time=NOW)

    assert "promote stable" in str(caught.value.hint)


def test_promotion_makes_a_new_version_and_keeps_the_old(tmp_path: Path) -> None:
    result_set(tmp_path / "old")
    result_set(tmp_path / "new", kernels=[kernel("next", "6.13.0")])
    baseline.save("stable", tmp_path / "old", time=NOW, reason="first")

    made = baseline.promote("stable", tmp_path / "new", reason="6.13 is out", time="2026-12-01T00:00:00Z")

    assert (made.version, made.kernel["name"]) == (2, "next")
    assert baseline.find("stable").version == 2
    assert baseline.find("stable@1").kernel["name"] == "stable"
    assert [(one.version, one.reason) for one in shelf.kept("stable").promotions] == [
        (1, "first"),
        (2, "6.13 is out"),
    ]


def test_an_older_version_becomes_the_current_one_again(tmp_path: Path) -> None:
    result_set(tmp_path / "old")
    baseline.save("stable", tmp_path / "old", time=NOW)
    baseline.promote("stable", tmp_path / "old", reason="again", time=NOW)

    baseline.promote("stable", "1", reason="2 was wrong", time=NOW)

    assert baseline.find("stable").version == 1
    assert list(shelf.kept("stable").versions) == [1, 2]
    with pytest.raises(UsageError, match="no version 9"):
        baseline.promote("stable", "9", reason="?", time=NOW)
    assert baseline.find("stable").version == 1


def test_a_comparison_is_promoted_by_its_candidate(tmp_path: Path) -> None:
    result_set(tmp_path / "old")
    baseline.save("stable", tmp_path / "old", time=NOW)
    result_set(tmp_path / "compared/candidate/start", kernels=[kernel("next", "6.13.0")])
    study(tmp_path / "compared/candidate", [tmp_path / "compared/candidate/start"])
    verdict = {"format": "rushhour-verdict/1", "candidate": {"records": "candidate"}}
    (tmp_path / "compared/verdict.json").write_text(json.dumps(verdict))

    baseline.promote("stable", tmp_path / "compared", reason="accepted", time=NOW)

    assert baseline.find("stable").kernel["name"] == "next"


def test_a_baseline_in_a_folder_is_replaced(tmp_path: Path) -> None:
    result_set(tmp_path / "old")
    result_set(tmp_path / "new", kernels=[kernel("next", "6.13.0")])
    place = f"{tmp_path}/repo/base"
    baseline.save(place, tmp_path / "old", time=NOW, slim=True)

    baseline.promote(place, tmp_path / "new", reason="6.13 is out", time=NOW)

    found = baseline.find(place)
    assert (found.version, found.kernel["name"], found.slim) == (2, "next", True)
    assert [path.name for path in (tmp_path / "repo").iterdir()] == ["base"]
    (found.path / "README").write_text("mine")
    with pytest.raises(UsageError, match="README"):
        baseline.promote(place, tmp_path / "old", reason="?", time=NOW)


def test_several_kernels_are_several_baselines(tmp_path: Path) -> None:
    result_set(tmp_path / "results", kernels=[kernel("stable"), kernel("next", "6.13.0")])

    with pytest.raises(UsageError, match="more than one kernel") as caught:
        baseline.save("stable", tmp_path / "results", time=NOW)
    assert "next, stable" in str(caught.value.hint)
    with pytest.raises(UsageError, match="no runs of the kernel 'other'"):
        baseline.save("stable", tmp_path / "results", time=NOW, kernel="other")

    found = baseline.save("stable", tmp_path / "results", time=NOW, kernel="next")

    assert {record.manifest["kernel"]["name"] for record in found.records()} == {"next"}
    assert len(found.runs) == 2


def test_agents_are_not_mixed_and_tools_are_gathered(tmp_path: Path) -> None:
    tc = {"tc": {"version": "6.1", "sha256": "b" * 64}}
    result_set(tmp_path / "a/one", scenario="suite/one")
    result_set(tmp_path / "a/two", scenario="suite/two", tools=tc)
    result_set(tmp_path / "a/three", scenario="suite/three", agent={**AGENT, "sha256": "c" * 64})
    result_set(
        tmp_path / "a/four", scenario="suite/four", tools={"tc": {"version": "6.9", "sha256": "d" * 64}}
    )
    one, two, three, four = (tmp_path / "a" / name for name in ("one", "two", "three", "four"))

    assert baseline.save("x", study(tmp_path / "s1", [one, two]), time=NOW).about["tools"] == tc
    with pytest.raises(UsageError, match="more than one agent"):
        baseline.save("y", study(tmp_path / "s2", [one, three]), time=NOW)
    with pytest.raises(UsageError, match="version of tc"):
        baseline.save("y", study(tmp_path / "s3", [two, four]), time=NOW)


def test_an_index_that_knows_not_all_runs_is_no_excuse(tmp_path: Path) -> None:
    results = result_set(tmp_path / "results")
    later = result_set(tmp_path / "later", factors=[{"cc": "bbr"}])
    later.folders()[0].rename(results.path / "runs" / "00009-later")

    found = baseline.save("stable", tmp_path / "results", time=NOW)

    assert all(found.values()[run.folder] for run in found.runs)
    assert len(found.runs) == 3


def _read_all(name: str) -> None:
    found = baseline.find(name)
    found.values()
    list(found.records())


def _break_document(path: Path) -> None:
    (path / "baseline.json").write_text('{"format": "rushhour-baseline/1", "runs": 3}')


def _break_version(path: Path) -> None:
    (path / "baseline.json").write_text('{"format": "rushhour-baseline/2"}')


def _break_index(path: Path) -> None:
    with (path / "index.parquet").open("r+b") as file:
        file.seek(100)
        file.write(b"\0\1\2\3")


def _lose_index(path: Path) -> None:
    (path / "index.parquet").unlink()


def _lose_a_record(path: Path) -> None:
    next((path / "runs").iterdir()).rename(path / "elsewhere")


def _swap_records(path: Path) -> None:
    first, second = sorted((path / "runs").iterdir())
    first.rename(path / "away")
    second.rename(first)
    (path / "away").rename(second)


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (_break_document, "name is None; expected something"),
        (_break_version, "'rushhour-baseline/2'"),
        (_break_index, "was changed"),
        (_lose_index, "is missing"),
        (_lose_a_record, "is missing"),
        (_swap_records, "not the run that was saved"),
    ],
)
def test_a_damaged_baseline_is_not_believed(tmp_path: Path, harm: object, words: str) -> None:
    result_set(tmp_path / "results")
    assert callable(harm)
    harm(baseline.save("stable", tmp_path / "results", time=NOW).path)

    with pytest.raises(RecordError, match=words) as caught:
        _read_all("stable")

    assert caught.value.where
    assert caught.value.hint


@pytest.mark.parametrize("name", ["", ".hidden", "a b", "x" * 65, "-flag", "ä"])
def test_what_is_no_name_is_refused(tmp_path: Path, name: str) -> None:
    result_set(tmp_path / "results")
    with pytest.raises(UsageError, match="cannot name a baseline"):
        baseline.save(name, tmp_path / "results", time=NOW)


def test_an_unknown_name_says_which_there_are(tmp_path: Path) -> None:
    result_set(tmp_path / "results")
    baseline.save("stable", tmp_path / "results", time=NOW)

    with pytest.raises(UsageError, match="kept here: stable"):
        baseline.find("stabel")
    with pytest.raises(UsageError, match="is not a version"):
        baseline.find("stable@new")


def test_a_save_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result_set(tmp_path / "results")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(RecordError, match="No space left"):
            baseline.save("stable", tmp_path / "results", time=NOW)
    assert [one for one in shelf.place("stable").iterdir() if one.name != ".lock"] == []

    baseline.save("stable", tmp_path / "results", time=NOW)
    assert baseline.find("stable").version == 1


def test_an_interrupt_leaves_a_version_and_its_promotion_or_neither(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result_set(tmp_path / "results")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shelf, "point", interrupted)
        with pytest.raises(KeyboardInterrupt):
            baseline.save("stable", tmp_path / "results", time=NOW)
    assert [one for one in shelf.place("stable").iterdir() if one.name != ".lock"] == []
    assert baseline.save("stable", tmp_path / "results", time=NOW).version == 1

    point = shelf.point

    def late(*words: Any) -> None:
        point(*words)
        raise KeyboardInterrupt

    monkeypatch.setattr(shelf, "point", late)
    with pytest.raises(KeyboardInterrupt):
        baseline.promote("stable", tmp_path / "results", reason="again", time=NOW)
    assert baseline.find("stable").version == 2


@pytest.mark.parametrize("at", [1, 2])
def test_an_interrupt_while_a_baseline_in_a_folder_is_replaced_loses_none(
    at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result_set(tmp_path / "results")
    folder = tmp_path / "mine"
    baseline.save(str(folder), tmp_path / "results", time=NOW)
    rename, seen = Path.rename, [0]

    def struck(path: Path, target: Path) -> Path:
        done = rename(path, target)
        if folder in (path, Path(target)):
            seen[0] += 1
            if seen[0] == at:
                raise KeyboardInterrupt
        return done

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", struck)
        with pytest.raises(KeyboardInterrupt):
            baseline.promote(str(folder), tmp_path / "results", reason="again", time=NOW)
    assert baseline.find(folder).version == at
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "results"]


PROMOTE = """
import sys
from rushhour import baseline
for _ in range(3):
    baseline.promote("stable", sys.argv[1], reason=sys.argv[2], time="2026-11-21T09:00:00Z")
"""


def test_promotions_at_once_lose_none(tmp_path: Path) -> None:
    result_set(tmp_path / "results")
    baseline.save("stable", tmp_path / "results", time=NOW, slim=True)

    here = {**os.environ, "PYTHONPATH": str(Path(baseline.__file__).parents[2])}
    workers = [
        subprocess.Popen([sys.executable, "-c", PROMOTE, str(tmp_path / "results"), str(number)], env=here)
        for number in range(3)
    ]
    assert [worker.wait() for worker in workers] == [0, 0, 0]

    kept = shelf.kept("stable")
    assert list(kept.versions) == list(range(1, 11))
    assert sorted(one.version for one in kept.promotions) == list(range(1, 11))
    assert [kept.open(version).version for version in kept.versions] == list(range(1, 11))


KILLED = """
import os, sys, time
from rushhour import baseline
from rushhour.files import cache
from rushhour.record import kept
whole = kept.share
def slow(*words, **options):
    whole(*words, **options)
    print("in the middle", flush=True)
    time.sleep(60)
kept.share = slow
baseline.promote("stable", sys.argv[1], reason="never", time="2026-11-21T09:00:00Z")
"""


def test_killed_in_the_middle_the_version_before_stays(tmp_path: Path) -> None:
    result_set(tmp_path / "results")
    baseline.save("stable", tmp_path / "results", time=NOW)
    here = {**os.environ, "PYTHONPATH": str(Path(baseline.__file__).parents[2])}
    worker = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path / "results")], env=here, stdout=subprocess.PIPE, text=True
    )
    assert worker.stdout is not None
    assert worker.stdout.readline() == "in the middle\n"
    worker.kill()
    worker.wait()
    worker.stdout.close()

    assert list(shelf.kept("stable").versions) == [1]
    assert baseline.promote("stable", tmp_path / "results", reason="again", time=NOW).version == 2
    assert {path.name for path in shelf.place("stable").iterdir()} == {"1", "2", "name.json", ".lock"}


def test_one_that_is_damaged_hides_no_other(tmp_path: Path) -> None:
    result_set(tmp_path / "results")
    for name in ("good", "bad"):
        baseline.save(name, tmp_path / "results", time=NOW, slim=True)
    _break_version(baseline.find("bad").path)

    found = {kept.name: kept for kept in baseline.names()}

    assert found["good"].open().version == 1
    with pytest.raises(RushHourError):
        found["bad"].open()

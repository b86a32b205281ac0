"""Sweeps: everything is run once, kept, resumed, told when it fails. The lab is a fake, the rest is real."""

import errno
import json
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import builders
import pytest

from rushhour.errors import LabError, RecordError, ScenarioError, UnsupportedError, UsageError
from rushhour.files import rooms
from rushhour.lab import kernel
from rushhour.lab.base import CancelledError, Job, canonical, sha256
from rushhour.lab.kernel import Kernel
from rushhour.record import kept
from rushhour.record.record import Record
from rushhour.running import runner
from rushhour.running.runner import Batch, Outcome, carry_out, prepare

SCENARIO = """
title = "Fake"
duration = "1s"
[topology]
preset = "dumbbell"
rate = "10mbit"
rtt = "10ms"
[[flow]]
name = "one"
[sweep]
cc = ["cubic", "reno", "vegas", "bbr", "westwood"]
"topology.rtt" = ["10ms", "20ms"]
"""


class FakeLab:
    """Writes a small record at once; `before` is called first and may fail."""

    name = "uml"

    def __init__(self, before: Callable[[Job], None] = lambda _: None) -> None:
        self.before = before
        self.ran: list[Job] = []
        self.cpus: list[int | None] = []
        self.busy: set[int | None] = set()
        self.cancelled = threading.Event()

    def key(self, job: Job) -> str:
        return sha256(str(job.kernel.identity["image_sha256"]), canonical(job.plan))

    def run(self, job: Job, destination: Path, cpu: int | None = None) -> Path:
        if self.cancelled.is_set():
            raise CancelledError("stopped")
        assert cpu not in self.busy, "a CPU belongs to one run at a time"
        self.busy.add(cpu)
        self.cpus.append(cpu)
        try:
            self.before(job)
            self.ran.append(job)
            about = {
                **job.labels, "key": self.key(job), "context": job.context, "kernel": job.kernel.identity,
                "agent": {}, "host": {}, "elapsed_s": 0.0, "virtual_s": 1.0,
            }  # fmt: skip
            outcomes = [builders.outcome(flow["id"]) for flow in job.plan["flows"]]
            record = builders.record(destination, flows=[], outcomes=outcomes, plan=job.plan, manifest=about)
            return record.path
        finally:
            self.busy.remove(cpu)

    def cancel(self) -> None:
        self.cancelled.set()


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    kernels = {
        name: Kernel(
            name, tmp_path / name, "6.12.1", {"name": name, "image_sha256": name}, tmp_path / "config"
        )
        for name in ("old", "new")
    }
    monkeypatch.setattr(kernel, "find", kernels.__getitem__)
    monkeypatch.setattr(kernel, "default", lambda: kernels["new"])
    path = tmp_path / "fake.toml"
    path.write_text(SCENARIO)
    return path


def everything(batch: Batch, lab: FakeLab, **options: Any) -> list[Outcome]:
    with closing(carry_out([batch], lab, **options)) as outcomes:
        return list(outcomes)


def about(batch: Batch) -> dict[str, Any]:
    return dict(json.loads((batch.folder / "set.json").read_text()))


def test_every_cell_kernel_and_repetition_runs_once(scenario: Path) -> None:
    (batch,) = prepare([scenario], kernels=["old", "new"], repeat=3)
    lab = FakeLab()
    outcomes = everything(batch, lab)
    assert len(outcomes) == len(batch) == 5 * 2 * 2 * 3
    assert not any(outcome.cached or outcome.error for outcome in outcomes)
    records = list(batch.results())
    found = {(r.manifest["kernel"]["name"], r.manifest["repetition"], *r.factors.values()) for r in records}
    assert len(found) == len(batch)
    assert {r.manifest["seed"] for r in records if r.manifest["repetition"] == 0} == {1}
    assert batch.results().index().num_rows > 0
    assert (batch.folder / "index.parquet").is_file()
    assert about(batch)["complete"] is True
    assert (batch.folder.parent / "latest").resolve() == batch.folder.resolve()


def test_what_is_known_is_not_run_again_unless_asked(scenario: Path) -> None:
    lab = FakeLab()
    (first,) = prepare([scenario])
    everything(first, lab)
    (second,) = prepare([scenario])
    assert first.folder != second.folder
    outcomes = everything(second, lab)
    assert len(lab.ran) == 10
    assert all(outcome.cached for outcome in outcomes)
    for record in second.results():
        record.verify()
        assert record.factors == Record.open(first.folder / "runs" / record.path.name).factors
    everything(prepare([scenario])[0], lab, fresh=True)
    assert len(lab.ran) == 20


def test_a_change_of_anything_that_determines_a_run_is_another_run(scenario: Path) -> None:
    lab = FakeLab()
    everything(prepare([scenario])[0], lab)
    for options in ({"seed": 2}, {"kernels": ["old"]}, {"sets": ["topology.rate=11mbit"]}):
        before = len(lab.ran)
        everything(prepare([scenario], **options)[0], lab)
        assert len(lab.ran) == before + 10, options
    everything(prepare([scenario], sets=["title=Another name"])[0], lab)
    assert len(lab.ran) == 40, "a name determines nothing"


def test_a_failed_run_is_told_and_stops_nothing(scenario: Path) -> None:
    def fail(job: Job) -> None:
        if job.labels["cell"]["factors"]["cc"] == "vegas":
            raise LabError("the kernel panicked", where="here", hint="do that")

    (batch,) = prepare([scenario])
    outcomes = everything(batch, FakeLab(fail))
    failed = [outcome for outcome in outcomes if outcome.error]
    assert len(outcomes) == 10
    assert {outcome.run.cell.factors["cc"] for outcome in failed} == {"vegas"}
    assert len(batch.results()) == 8
    said = about(batch)
    assert said["complete"] is False
    assert [entry["message"] for entry in said["failures"]] == ["the kernel panicked"] * 2


def test_an_interrupted_sweep_keeps_what_it_has_and_goes_on(scenario: Path) -> None:
    lab = FakeLab()
    (batch,) = prepare([scenario])
    outcomes = carry_out([batch], lab, jobs=1)
    next(outcomes)
    next(outcomes)
    outcomes.close()
    assert lab.cancelled.is_set()
    kept = len(batch.results())
    assert 2 <= kept < 10
    assert (batch.folder / "index.parquet").is_file()
    assert about(batch)["complete"] is False
    again = FakeLab()
    (rest,) = prepare([scenario])
    assert sum(outcome.cached for outcome in everything(rest, again)) == kept
    assert len(again.ran) == 10 - kept


def test_the_same_folder_given_again_is_completed(scenario: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    everything(prepare([scenario], out=out)[0], FakeLab())
    everything(prepare([scenario], out=out)[0], FakeLab())
    everything(prepare([scenario], out=out)[0], FakeLab(), fresh=True)
    assert len(prepare([scenario], out=out)[0].results()) == 10


def test_a_full_disk_ends_the_sweep_with_a_clear_word(scenario: Path) -> None:
    def full(_: Job) -> None:
        raise RecordError("cannot seal") from OSError(errno.ENOSPC, "No space left on device")

    (batch,) = prepare([scenario])
    lab = FakeLab(full)
    with pytest.raises(LabError, match="disk is full") as caught:
        everything(batch, lab, jobs=1)
    assert "same command" in str(caught.value.hint)
    assert lab.cancelled.is_set()


def test_runs_are_handed_out_as_they_are_needed(scenario: Path) -> None:
    """Memory stays flat: of a long sweep only a few runs are ever prepared ahead."""
    scenario.write_text(SCENARIO.replace('"10ms", "20ms"', ", ".join(f'"{n}ms"' for n in range(10, 60))))
    (batch,) = prepare([scenario])
    lab = FakeLab()
    with closing(carry_out([batch], lab, jobs=2)) as outcomes:
        next(outcomes)
        assert len(lab.ran) <= 8
    assert len(batch) == 250


def test_a_quick_look_takes_few_values_and_no_repetitions(scenario: Path) -> None:
    (batch,) = prepare([scenario], repeat=5, quick=True)
    assert len(batch) == 3 * 2
    assert [cell.factors["cc"] for cell in batch.cells[::2]] == ["cubic", "vegas", "westwood"]
    assert about(batch)["quick"] is True if (batch.folder / "set.json").exists() else True


def test_cells_that_are_alike_have_records_of_their_own(scenario: Path) -> None:
    scenario.write_text(SCENARIO.replace("[sweep]", '[sweep]\nwarmup = ["0s", "100ms"]'))
    (batch,) = prepare([scenario], sets=["cc=cubic", "topology.rtt=10ms"])
    lab = FakeLab()
    everything(batch, lab, jobs=1)
    assert len(batch.results()) == len(batch) == 2
    assert {record.factors["warmup"] for record in batch.results()} == {"0s", "100ms"}


def test_words_that_name_nothing(scenario: Path) -> None:
    with pytest.raises(UsageError, match="nosuch"):
        prepare(["nosuch"])
    with pytest.raises(UsageError, match="no scenario was named"):
        prepare([])
    with pytest.raises(UsageError, match="no lab 'moon'"):
        runner.make_lab("moon")
    assert not (scenario.parent / "results").exists(), "nothing is written before everything is checked"


def test_the_cache_replaces_and_forgets_nothing_else(scenario: Path, tmp_path: Path) -> None:
    record = builders.record(tmp_path / "abc").path
    kept.keep("abc", record)
    kept.keep("abc", record)
    found = kept.find("abc")
    assert found is not None
    Record.open(found).verify()
    assert [path.name for path in found.parent.glob("[!.]*")] == ["abc"]
    assert kept.find("abd") is None


def test_who_keeps_many_records_leaves_nothing_beside_them_and_outlives_an_emptied_cache(
    scenario: Path, tmp_path: Path
) -> None:
    record = builders.record(tmp_path / "abc").path
    keeper = kept.Keeper()
    with ThreadPoolExecutor(4) as hands:
        list(hands.map(keeper.keep, [f"a{number}" for number in range(40)], [record] * 40))
    home = kept._place("a1").parents[1]
    assert all(kept.has(f"a{number}") for number in range(40))
    shutil.rmtree(home)
    keeper.keep("a1", record)
    assert kept.has("a1")
    keeper.close()
    assert [path.name for path in home.iterdir()] == ["a1"]
    assert (home / "a1" / "a1").stat().st_mode & 0o777 == 0o777 & ~rooms.umask()


def test_what_a_kernel_lacks_is_skipped_with_the_reason_and_the_rest_runs(scenario: Path) -> None:
    def lacks(job: Job) -> None:
        if job.plan["flows"][0]["cc"] == "vegas" and job.kernel.name == "old":
            raise UnsupportedError('no congestion control "vegas"')

    (batch,) = prepare([scenario], kernels=["old", "new"])
    outcomes = everything(batch, FakeLab(lacks))
    assert sum(outcome.skipped for outcome in outcomes) == 2
    assert len(batch.results()) == 18
    said = about(batch)
    assert said["failures"] == []
    assert said["complete"] is True, "nothing that could run was left out"
    assert {(entry["cell"]["factors"]["cc"], entry["kernel"]) for entry in said["skipped"]} == {
        ("vegas", "old")
    }
    assert {entry["message"] for entry in said["skipped"]} == {'no congestion control "vegas"'}


def test_what_did_not_run_is_named_in_the_order_of_the_cells(scenario: Path) -> None:
    """Whichever run ended first: the same command gives the same page."""

    (batch,) = prepare([scenario], kernels=["old", "new"])
    for run in reversed([*batch.runs()]):
        batch.enter(Outcome(batch, run, None, LabError(str(run.number)), cached=False))
    batch.write_about(complete=False)
    places = [
        (entry["cell"]["index"], entry["kernel"], entry["repetition"]) for entry in about(batch)["failures"]
    ]
    assert len(places) == len(batch)
    assert places == sorted(places)


def test_published_data_go_with_the_set_unless_another_experiment_is_made_of_it(scenario: Path) -> None:
    table = '[[published]]\nsource = "T"\ntitle = "t"\nmetric = "loss"\nunit = "%"\nover = ["topology.rtt"]\n'
    reno = '{where = {cc = "reno", topology.rtt = "20ms"}, value = 2}'
    values = f'values = [{{where = {{cc = "bbr"}}, value = 1}}, {reno}]\n'
    scenario.with_name("fake.published.toml").write_text(table + values)

    def kept(*sets: str) -> list[Any]:
        (batch,) = prepare([scenario], sets=sets)
        return [(value.where, value.value) for one in batch.published for value in one.values]

    assert len(kept()) == len(kept("seed=3")) == 2
    assert kept("topology.rtt=20ms") == [({"cc": "bbr"}, 1), ({"cc": "reno"}, 2)]
    assert kept("topology.rtt=10ms") == [({"cc": "bbr"}, 1)]
    assert kept("topology.rtt=30ms", "cc=cubic") == []
    assert kept("topology.rate=1mbit") == []
    batch = prepare([scenario], out=scenario.parent / "set")[0]
    batch.write_about(complete=False)
    assert [entry["metric"] for entry in about(batch)["published"]] == ["loss"]
    scenario.with_name("fake.published.toml").write_text(table.replace("loss", "lass") + values)
    with pytest.raises(ScenarioError, match='did you mean "loss"'):
        prepare([scenario])


def test_a_folder_with_a_study_runs_whole_and_keeps_its_chapters(scenario: Path) -> None:
    text = 'title = "S"\n[[chapter]]\ntitle = "C"\nscenarios = ["second", "fake"]\n'
    scenario.with_name("study.toml").write_text(text)
    scenario.with_name("second.toml").write_text(scenario.read_text())
    first, second = prepare([f"{scenario.parent}/"])
    assert [one.name.rpartition("/")[2] for one in (first, second)] == ["second", "fake"]
    assert first.study == {
        "name": scenario.parent.name,
        "title": "S",
        "summary": "",
        "chapter": [{"title": "C", "text": "", "scenarios": ["second", "fake"], "conclusion": ""}],
    }
    scenario.with_name("third.toml").write_text(scenario.read_text())
    with pytest.raises(ScenarioError, match='no chapter has the scenario "third"'):
        prepare([f"{scenario.parent}/"])


def test_a_folder_with_other_results_is_refused(scenario: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    (batch,) = prepare([str(scenario)], out=folder)
    everything(batch, FakeLab())
    with pytest.raises(UsageError, match="holds results of another scenario"):
        prepare([str(scenario)], sets=["duration=2s"], out=folder)
    assert prepare([str(scenario)], out=folder)


def test_a_seed_in_the_sweep_is_the_seed_of_its_cells(scenario: Path) -> None:
    scenario.write_text(scenario.read_text().replace("[sweep]", "[sweep]\nseed = [5, 6]"))
    (batch,) = prepare([str(scenario)])
    first = {run.cell.factors["seed"]: run.seed for run in batch.runs() if run.repetition == 0}
    assert first == {5: 5, 6: 6}

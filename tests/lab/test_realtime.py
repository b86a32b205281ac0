"""Running in real time: order, identity, what is never shared. The lab is a fake, the rest is real."""

import gzip
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import builders
import pytest

from rushhour.errors import RushHourError, UnsupportedError, UsageError
from rushhour.lab import realtime
from rushhour.lab.base import Job
from rushhour.record import kept
from rushhour.record.json_file import read_json
from rushhour.record.plan_file import planned
from rushhour.record.record import Record
from rushhour.report.reproduce import reproduction, run_command
from rushhour.running import runner

SCENARIO = """
title = "Fake"
duration = "1s"
repeat = 3
[topology]
preset = "dumbbell"
rate = "10mbit"
rtt = "10ms"
[[flow]]
name = "one"
start = "100ms"
[[flow]]
name = "late"
start = "700ms"
[sweep]
cc = ["cubic", "reno", "vegas", "bbr"]
"""
KERNEL = realtime.described("6.18.44", "#1 SMP", "x86_64", b"CONFIG_VETH=y\n")


class FakeMachine:
    """A lab in real time that writes a small record at once and lacks one algorithm."""

    name = "netns"

    def __init__(self) -> None:
        self.ran: list[Job] = []
        self.warmed: list[int] = []
        self.asked = 0

    def tested(self) -> realtime.RunningKernel:
        return KERNEL

    def refusal(self, job: Job) -> RushHourError | None:
        self.asked += 1
        assert not self.ran, "what is lacking is told before anything runs"
        return UnsupportedError("no vegas here") if job.plan["flows"][0].get("cc") == "vegas" else None

    def warm_up(self, job: Job) -> None:
        self.warmed.append(len(self.ran))

    def key(self, job: Job) -> str:
        return realtime.key(self.name, job, "a" * 64)

    def run(self, job: Job, destination: Path, cpu: int | None = None) -> Path:
        assert cpu is None
        self.ran.append(job)
        about: dict[str, Any] = {
            **job.labels, "key": self.key(job), "context": job.context, "kernel": job.kernel.identity,
            "agent": {}, "host": {}, "elapsed_s": 0.0, "virtual_s": 1.0, "lab": self.name,
        }  # fmt: skip
        outcomes = [builders.outcome(flow["id"]) for flow in job.plan["flows"]]
        return builders.record(destination, flows=[], outcomes=outcomes, plan=job.plan, manifest=about).path

    def cancel(self) -> None:
        pass


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "fake.toml"
    path.write_text(SCENARIO)
    return path


def batch_of(scenario: Path, **options: Any) -> runner.Batch:
    return runner.prepare([scenario], lab="netns", tested=KERNEL, **options)[0]


def outcomes_of(batch: runner.Batch, lab: FakeMachine, **options: Any) -> list[runner.Outcome]:
    with closing(runner.carry_out([batch], lab, **options)) as going:
        return list(going)


def test_blocks_have_every_cell_once_in_an_order_of_their_own(scenario: Path) -> None:
    batch = batch_of(scenario)
    blocks = batch.blocks()
    assert [Counter(run.cell.index for run in block) for block in blocks] == [Counter(range(4))] * 3
    assert {run.number for run in batch.runs()} == set(range(12))
    assert len({tuple(run.cell.index for run in block) for block in blocks}) > 1
    assert blocks == batch_of(scenario).blocks()
    assert blocks != batch_of(scenario, seed=2).blocks()


def test_one_run_at_a_time_each_block_warmed_up(scenario: Path) -> None:
    batch, lab = batch_of(scenario), FakeMachine()
    outcomes = outcomes_of(batch, lab)
    assert [outcome.skipped for outcome in outcomes] == [True] * 3 + [False] * 9
    assert lab.asked == 4
    assert lab.warmed == [0, 3, 6]
    about: Any = read_json(batch.folder / "set.json")
    assert about["lab"] == "netns"
    assert about["asked"]["lab"] == "netns"
    assert about["blocks"] == [[run.number for run in block] for block in batch.blocks()]
    assert [entry["message"] for entry in about["skipped"]] == ["no vegas here"] * 3


def test_runs_are_never_shared(scenario: Path) -> None:
    lab = FakeMachine()
    outcomes_of(batch_of(scenario), lab)
    again = outcomes_of(batch_of(scenario), other := FakeMachine())
    assert len(other.ran) == 9
    keys = {Record.open(outcome.folder).key for outcome in again if outcome.folder}
    assert len(keys) == 9
    assert not any(kept.find(key) for key in keys)


def test_an_interrupted_sweep_goes_on_in_its_folder(scenario: Path, tmp_path: Path) -> None:
    out, lab = tmp_path / "out", FakeMachine()
    with closing(runner.carry_out([batch_of(scenario, out=out)], lab)) as going:
        for outcome in going:
            if not outcome.skipped:
                break
    assert len(lab.ran) < 9
    rest = outcomes_of(batch_of(scenario, out=out), other := FakeMachine())
    assert len(lab.ran) + len(other.ran) == 9
    assert sum(outcome.cached for outcome in rest) == len(lab.ran)
    assert read_json(out / "set.json")["complete"]


def test_several_at_once_and_a_chosen_kernel_are_refused(scenario: Path) -> None:
    with pytest.raises(UsageError, match="one run at a time"):
        outcomes_of(batch_of(scenario), FakeMachine(), jobs=2)
    with pytest.raises(UsageError, match="cannot be used in the lab netns"):
        runner.prepare([scenario], kernels=["debian-6.12"], lab="netns", tested=KERNEL)
    with pytest.raises(UsageError, match="there is no lab"):
        runner.make_lab("elsewhere")
    with pytest.raises(UsageError, match="--pin"):
        runner.make_lab("uml", pins=["s1=0"])


def test_a_record_says_how_it_is_run_again(scenario: Path) -> None:
    batch = batch_of(scenario)
    outcomes_of(batch, FakeMachine())
    commands = [command for _, command in reproduction(batch.results()).commands]
    assert len(commands) == 2
    first = next(iter(batch.results()))
    for command in (*commands, run_command(first.manifest)):
        assert "--lab netns" in command
        assert "--kernel" not in command


def test_pauses_are_of_virtual_time() -> None:
    assert realtime.of_virtual_time(planned({"pauses": None})) is None
    refused = realtime.of_virtual_time(planned({"pauses": {"interval_ns": 1000, "ports": []}}))
    assert isinstance(refused, UnsupportedError)
    assert "--lab uml" in str(refused.hint)


def test_a_running_kernel_is_known_by_its_configuration(tmp_path: Path) -> None:
    zipped = tmp_path / "config.gz"
    zipped.write_bytes(gzip.compress(b"CONFIG_VETH=y\n"))
    assert realtime.configuration([tmp_path / "none", zipped]) == b"CONFIG_VETH=y\n"
    assert realtime.configuration([tmp_path / "none"]) is None
    assert KERNEL.identity["name"] == "running-6.18.44"
    assert KERNEL.identity != realtime.described("6.18.44", "#1 SMP", "x86_64", b"").identity
    assert "config_sha256" not in realtime.described("6.18.44", "#1 SMP", "x86_64", None).identity


def test_a_run_in_is_the_beginning_of_the_plan(scenario: Path) -> None:
    batch = batch_of(scenario)
    plan = batch.job(next(batch.runs())).plan
    short = realtime.run_in(plan, 300_000_000)
    assert short["duration_ns"] == 300_000_000
    assert [flow["name"] for flow in short["flows"]] == ["one"]
    assert short["flows"][0]["stop_ns"] == 300_000_000
    assert not any(short["readings"].values())
    assert short["links"] == plan["links"]


def test_a_scenario_for_another_lab_is_skipped_before_anything_runs(scenario: Path) -> None:
    scenario.write_text('labs = ["uml"]\n' + SCENARIO)
    outcomes = outcomes_of(batch_of(scenario), lab := FakeMachine())
    assert all(outcome.skipped for outcome in outcomes)
    assert {outcome.error.message for outcome in outcomes if outcome.error} == {
        "this scenario is for the lab uml; netns cannot show what it measures"
    }
    assert lab.ran == []
    assert lab.asked == 0

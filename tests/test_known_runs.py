"""Virtual runs of the tests: one that is known is not made again, and only what is whole is known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from fakes import SCENARIO, FakeLab, kernel
from known_runs import AGENTS, record_of

from rushhour.lab.base import Job
from rushhour.plan import lower
from rushhour.spec import parse_scenario

if TYPE_CHECKING:
    from pathlib import Path

LABELS = {"scenario": {"name": "fake"}, "cell": {"index": 0, "factors": {"cc": "cubic"}}}


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeLab:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("RUSHHOUR_FRESH", raising=False)
    return FakeLab(lambda *_: 90.0)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    lowered = lower(parse_scenario(SCENARIO), 1)
    return Job(lowered.plan, lowered.context, kernel("old", tmp_path), LABELS)


def test_a_run_is_made_once_and_serves_with_other_labels(lab: FakeLab, job: Job, tmp_path: Path) -> None:
    first = record_of(lab, job, tmp_path / "first")
    named = Job(job.plan, job.context, job.kernel, {**LABELS, "scenario": {"name": "other"}})
    second = record_of(lab, named, tmp_path / "second")
    assert len(lab.ran) == 1
    assert second.key == first.key
    assert second.table("tcp_probe").tobytes() == first.table("tcp_probe").tobytes()
    assert second.manifest["scenario"]["name"] == "other"
    assert record_of(lab, job, tmp_path / "third", fresh=True).key == first.key
    assert len(lab.ran) == 2


def test_all_are_made_again_where_that_is_asked_for(
    lab: FakeLab, job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record_of(lab, job, tmp_path / "first")
    monkeypatch.setenv("RUSHHOUR_FRESH", "1")
    record_of(lab, job, tmp_path / "second")
    assert len(lab.ran) == 2


def test_what_is_damaged_is_not_known(lab: FakeLab, job: Job, tmp_path: Path) -> None:
    record_of(lab, job, tmp_path / "first")
    (kept,) = (tmp_path / "cache/rushhour/test-runs").rglob("tcp_probe.rh")
    kept.chmod(0o644)
    kept.write_bytes(kept.read_bytes()[:-1] + b"x")
    record_of(lab, job, tmp_path / "second")
    assert len(lab.ran) == 2


def test_runs_of_the_last_agents_are_kept(lab: FakeLab, job: Job, tmp_path: Path) -> None:
    for number in range(AGENTS + 2):
        lab.agent = SimpleNamespace(sha256=f"{number}" * 64)
        record_of(lab, job, tmp_path / f"run-{number}")
    left = {folder.name[0] for folder in (tmp_path / "cache/rushhour/test-runs").iterdir()}
    assert left == {str(number) for number in range(2, AGENTS + 2)}

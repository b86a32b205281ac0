"""The fuzzers, for a moment: what once failed, where they begin, and some changes; `make fuzz` goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from fuzz import targets
from fuzz.__main__ import _GUIDED
from fuzz.known import known
from rushhour.errors import PlanError, ScenarioError

# Inputs of one fuzzer; the slow ones write pages and judge results.
RUNS = {"scenario": 150, "trace": 3000, "record": 120, "results": 20, "exchange": 20, "database": 120}
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", targets.TARGETS)
def test_what_once_failed_is_answered(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    for data in known(name):
        targets.TARGETS[name].run(data)


@pytest.mark.parametrize("name", targets.TARGETS)
def test_any_change_is_answered(name: str, tmp_path: Path) -> None:
    _fuzz(name, tmp_path, "--unguided")


def test_coverage_guides_the_fuzzer(tmp_path: Path) -> None:
    _fuzz("trace", tmp_path)


def _fuzz(name: str, tmp_path: Path, *words: str) -> None:
    # In a process of its own: what takes all memory is ended there, and what hangs here.
    done = subprocess.run(
        [sys.executable, "-m", "fuzz", name, "--runs", str(RUNS.get(name, 60)), *words],
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}", "TMPDIR": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert not list(tmp_path.iterdir()), "it left something behind"


@pytest.mark.parametrize("name", ["record", "scenario"])
def test_changes_reach_what_they_are_meant_for(name: str) -> None:
    # A fuzzer whose inputs are all refused at the door finds nothing.
    target, rng = targets.TARGETS[name], Random(1)
    seeds = target.seeds()
    changed = {target.mutate(rng.choice(seeds), rng) for _ in range(20)}
    assert len(changed) > 15


def test_every_fuzzer_is_guided_and_can_be_asked_for() -> None:
    assert set(_GUIDED) == set(targets.TARGETS)
    make = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert set(targets.TARGETS) == set(make.split("TARGET := ")[1].splitlines()[0].split())


@pytest.mark.parametrize("error", [PlanError("no"), KeyError("no"), ScenarioError([])])
def test_what_is_raised_after_a_scenario_was_accepted_is_a_fault(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lower(*_: object) -> None:
        raise error

    target = targets.TARGETS["scenario"]
    monkeypatch.setattr("rushhour.plan.lower", lower)
    with pytest.raises((AssertionError, type(error))):
        target.run(target.seeds()[0])
    error = PlanError(
        "two nodes have one name", where="topology", hint="rename one"
    )  # a refusal as documented
    target.run(target.seeds()[0])


def test_a_fault_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "read_trace", lambda *_: int("nothing"))
    with pytest.raises(ValueError, match="nothing"):
        targets.TARGETS["trace"].run(b"1\n")

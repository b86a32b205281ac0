"""Commands that a comparison of quick looks gives make the same runs again, not the whole experiment's."""

from __future__ import annotations

import shlex
from pathlib import Path

import fakes
import pytest
from fakes import FakeLab

from rushhour.lab import kernel as kernels
from rushhour.report.verdict.advice import commands
from rushhour.running import runner
from rushhour.verdict import compare

QUICK = '[quick]\nduration = "2s"\ncc = ["cubic"]\n'


def slower(kernel: str, _cc: str, _seed: int) -> float:
    return 50.0 if kernel == "new" else 90.0


@pytest.mark.parametrize("quick", [True, False])
def test_what_is_run_again_is_what_was_compared(
    quick: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    there = {name: fakes.kernel(name, tmp_path) for name in ("old", "new")}
    monkeypatch.setattr(kernels, "find", there.__getitem__)
    monkeypatch.setattr(kernels, "installed", lambda: list(there.values()))
    Path("fake.toml").write_text(fakes.SCENARIO + QUICK)
    lab = FakeLab(slower)
    made = compare("old", "new", scenarios=["fake.toml"], quick=quick, lab=lab).document()
    again, *_ = commands(made)
    assert again.startswith("rushhour run fake.toml")
    words = shlex.split(again)
    assert ("--quick" in words) == quick == made.cells[0].quick
    batch, *_ = runner.prepare(
        [words[2]],
        sets=[words[place + 1] for place, word in enumerate(words) if word == "--set"],
        kernels=["old"],
        repeat=1,
        seed=int(words[words.index("--seed") + 1]),
        quick="--quick" in words,
        out=tmp_path / "again",
    )
    run = next(iter(batch.runs()))
    assert lab.key(batch.job(run)) == made.cells[0].runs.base[0].key

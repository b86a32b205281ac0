"""Metrics are the same on any processor, and with any Python.

numpy and its BLAS choose their code by what a processor can do; `sum` adds up fractions more exactly from
Python 3.12 on.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from another_python import STRICT
from commandline import rush

from rushhour.record.result_set import ResultSet

if TYPE_CHECKING:
    from pathlib import Path

# Long enough for code that is parallel, or takes many numbers at once.
SCENARIO = """
title = "Fast"
duration = "2s"
[topology]
preset = "dumbbell"
rate = "500mbit"
rtt = "10ms"
[[flow]]
name = "one"
[[flow]]
name = "other"
cc = "reno"
"""
MEASURE = """
import sys
from pathlib import Path
from rushhour.record.record import Record
{before}
for value in Record.open(Path(sys.argv[1])).metrics():
    print(value.metric, value.scope, repr(value.value), value.note)
"""
FOUND = np.show_config("dicts")["SIMD Extensions"].get("found", [])
LESSER = {
    "numpy": {"NPY_DISABLE_CPU_FEATURES": " ".join(FOUND)},
    "BLAS": {"OPENBLAS_CORETYPE": "Nehalem"},
    "one processor": {"OPENBLAS_NUM_THREADS": "1"},
}


def measured(run: Path, before: str = "", **more: str) -> list[str]:
    environment = {name: word for name, word in os.environ.items() if "BLAS" not in name} | more
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    command = [sys.executable, "-W", "ignore", "-c", MEASURE.format(before=before), str(run)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


@pytest.mark.virtual
def test_with_a_lesser_processor_metrics_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "fast.toml").write_text(SCENARIO)
    done = rush("run", "fast.toml", "--out", "out", "--no-report", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    run = ResultSet.open(tmp_path / "out").folders()[0]
    here = measured(run)
    assert len(here) > 100
    for name, words in LESSER.items():
        assert measured(run, **words) == here, name


# Several flows, of each kind of traffic whose metrics add up what is no whole number.
MANY = """
title = "Many"
duration = "2s"
[topology]
preset = "dumbbell"
rate = "20mbit"
rtt = "10ms"
[[flow]]
name = "long"
count = 3
[[flow]]
name = "mice"
arrivals = { load = 0.1 }
size = { distribution = "pareto", mean = "20kB", shape = 1.3, max = "1MB" }
"""


@pytest.mark.virtual
def test_with_another_python_metrics_are_the_same(tmp_path: Path) -> None:
    (tmp_path / "many.toml").write_text(MANY)
    done = rush("run", "many.toml", "--out", "out", "--no-report", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    run = ResultSet.open(tmp_path / "out").folders()[0]
    here = measured(run)
    assert any(line.startswith("goodput_share flow:long") for line in here)
    assert any(line.startswith("offered_load group:mice 0.") for line in here)
    assert measured(run, before=STRICT) == here

"""How workers share the tests: a file's are together, those of the ring `host` too, slow files come first."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from itertools import groupby
from typing import TYPE_CHECKING

import pytest
from sharing_out import BEARS_OTHERS, HOST, of_host, order, rank, unit

if TYPE_CHECKING:
    from pathlib import Path

SLOW = "import pytest\npytestmark = pytest.mark.virtual\n"
SOME = "import pytest\n@pytest.mark.host\n@pytest.mark.parametrize('n', [1, 2])\ndef test_root(n): pass\n"
ALL = "import pytest\npytestmark = [pytest.mark.virtual, pytest.mark.host]\n"
TESTS = "import os, pathlib, time\n" + "".join(
    f"def test_{number}():\n    time.sleep(0.01)\n"
    "    with pathlib.Path('ran').open('a') as file:\n"
    f"        file.write(f\"{{os.environ['PYTEST_XDIST_WORKER']}} {{__name__}}\\n\")\n"
    for number in range(8)
)


def test_units_are_files_and_what_is_of_the_host(tmp_path: Path) -> None:
    for name, text in {"test_a.py": "", "test_b.py": SOME, "test_c.py": ALL}.items():
        (tmp_path / name).write_text(text)
    assert unit("test_a.py::test_root[1]", tmp_path) == "test_a.py"
    assert unit("test_b.py::test_root[1]", tmp_path) == HOST
    assert unit("test_b.py::test_other", tmp_path) == "test_b.py"
    assert unit("test_c.py::test_other", tmp_path) == HOST
    assert of_host(tmp_path / "test_c.py") is None


def test_a_file_that_bears_others_is_a_unit_of_its_own(tmp_path: Path) -> None:
    for name, mark in {"test_a.py": BEARS_OTHERS, "test_b.py": "mark.alone"}.items():
        (tmp_path / name).write_text(f"import pytest\npytestmark = [pytest.mark.host, pytest.{mark}]\n")
    assert unit("test_a.py::test_one", tmp_path) == "test_a.py"
    assert unit("test_b.py::test_one", tmp_path) == HOST
    assert len({unit("test_a.py::test_one", tmp_path), unit("test_a.py::test_two[3]", tmp_path)}) == 1


def test_slow_units_come_first(tmp_path: Path) -> None:
    texts = {"test_pure.py": "", "test_programs.py": "import subprocess\n", "test_slow.py": SLOW}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    units = [*texts, HOST]
    assert sorted(units, key=lambda one: rank(one, tmp_path)) == units[::-1]


def test_the_folders_of_equals_are_mixed(tmp_path: Path) -> None:
    units = [f"{folder}/test_{number}.py" for folder in ("fleet", "truth") for number in range(12)]
    for one in units:
        (tmp_path / one).parent.mkdir(exist_ok=True)
        (tmp_path / one).write_text(SLOW)
    folders = [one.partition("/")[0] for one in sorted(units, key=lambda one: order(one, tmp_path))]
    assert max(len(list(run)) for _, run in groupby(folders)) < 6


@pytest.mark.parametrize("workers", [2, 3])
def test_a_file_is_of_one_worker(tmp_path: Path, workers: int) -> None:
    for number in range(6):
        (tmp_path / f"test_{number}.py").write_text(TESTS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "sharing_out", "-n", str(workers)],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "48 passed" in done.stdout, done.stdout
    workers_of = defaultdict(set)
    for line in (tmp_path / "ran").read_text().splitlines():
        worker, file = line.split()
        workers_of[file].add(worker)
    assert {len(found) for found in workers_of.values()} == {1}
    assert len({worker for found in workers_of.values() for worker in found}) > 1


def collected(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "sharing_out", "--collect-only", *words],
        cwd=folder, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_for_what_runs_alone_no_other_file_is_imported(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = alone\n")
    (tmp_path / "test_a.py").write_text("raise ImportError\n")
    (tmp_path / "test_b.py").write_text(SOME.replace("mark.host", "mark.alone"))
    said = collected(tmp_path, "-m", "alone")
    assert (said.returncode, said.stdout.count("test_b.py::")) == (0, 2), said.stdout
    assert collected(tmp_path, "-m", "not alone").returncode != 0


def test_a_mark_that_a_file_does_not_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = alone\n")
    (tmp_path / "marks.py").write_text("import pytest\nquiet = pytest.mark.alone\n")
    (tmp_path / "test_a.py").write_text("from marks import quiet\n@quiet\ndef test_one(): pass\n")
    said = collected(tmp_path, "-m", "not alone")
    assert said.returncode != 0
    assert "is marked alone, which its file does not name" in said.stdout + said.stderr

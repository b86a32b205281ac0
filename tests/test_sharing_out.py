"""How workers share the tests: a file's are together, those of the ring `host` too, slow files come first."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from typing import TYPE_CHECKING

import pytest
from sharing_out import HOST, of_host, rank, unit

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


def test_slow_units_come_first(tmp_path: Path) -> None:
    texts = {"test_pure.py": "", "test_programs.py": "import subprocess\n", "test_slow.py": SLOW}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    units = [*texts, HOST]
    assert sorted(units, key=lambda one: rank(one, tmp_path)) == units[::-1]


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

"""The house's rules: a planted violation of each is found by the linter that keeps it."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
(FLOORS,) = PROJECT["tool"]["importlinter"]["contracts"]
BIN = Path(sys.executable).parent


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy of the package whose files may be changed."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "_agent"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def plant(house: Path, place: str, line: str) -> None:
    """Put a line behind the imports of the future of a file."""
    file = house / "src/rushhour" / place
    text = file.read_text("utf-8")
    mark = "from __future__ import annotations\n"
    assert mark in text
    file.write_text(text.replace(mark, f"{mark}\n{line}\n", 1), "utf-8")


def floors(house: Path) -> subprocess.CompletedProcess[str]:
    """What the linter of imports says of the package."""
    return subprocess.run(
        [BIN / "lint-imports", "--no-cache"], cwd=house, env=os.environ | {"PYTHONPATH": "src"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("place", "line", "said"),
    [
        ("metrics/goodput.py", "import rushhour.explain.words", "rushhour.metrics is not allowed to import"),
        ("verdict/rule.py", "import rushhour.report.tables", "rushhour.verdict is not allowed to import"),
        ("store/core.py", "import rushhour.history", "rushhour.store is not allowed to import"),
        ("spec/load.py", "import rushhour.lab.clock", "rushhour.spec is not allowed to import"),
        ("spec/load.py", "import rushhour.metrics.value", "rushhour.spec is not allowed to import"),
    ],
)
def test_an_import_of_a_room_above_is_found(house: Path, place: str, line: str, said: str) -> None:
    plant(house, place, line)
    found = floors(house)
    assert found.returncode == 1
    assert said in " ".join(found.stdout.split())


def test_a_room_that_stands_on_no_floor_is_found(house: Path) -> None:
    (house / "src/rushhour/attic").mkdir()
    (house / "src/rushhour/attic/__init__.py").write_text("")
    assert "rushhour.attic" in floors(house).stdout


def test_every_room_stands_in_the_overview() -> None:
    overview = (ROOT / "docs/overview.md").read_text("utf-8")
    rooms = {path.parent.name for path in (ROOT / "src/rushhour").glob("*/__init__.py")}
    named = {word for floor in FLOORS["layers"] for word in floor.replace("|", " ").split()}
    assert rooms <= named
    assert not {room for room in rooms if f"`{room}/" not in overview}
    outside = {path.stem for path in (ROOT / "src/rushhour").glob("*.py")}
    assert outside == {"__init__", "__main__", "errors", "extras", "plain", "version"}


@pytest.mark.parametrize(
    "line",
    [
        "from time import monotonic", "from os import environ", "import random", "import socket",
        "import subprocess",
        "from datetime import datetime\nNOW = datetime.now()",
    ],
)  # fmt: skip
def test_the_world_is_touched_at_its_edge_only(house: Path, line: str) -> None:
    for place, allowed in (("metrics/goodput.py", False), ("lab/base.py", True)):
        plant(house, place, line)
        checked = subprocess.run(
            [BIN / "ruff", "check", "--no-cache", "--select", "TID251", f"src/rushhour/{place}"],
            cwd=house, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (checked.returncode == 0) is allowed, checked.stdout


# Names under which the code outside `record/` holds a document that `record/` reads.
DOCUMENTS = {"manifest", "record.manifest", "results.about"}
# What writes manifests.
WRITERS = {"lab/manifest.py"}


def by_hand(tree: ast.AST) -> list[int]:
    """The lines that take a value out of a document by its key."""
    found = []
    for node in ast.walk(tree):
        holder: ast.expr | None = None
        if isinstance(node, ast.Subscript):
            holder = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
            holder = node.func.value
        name = "" if holder is None else ast.unparse(holder)
        found += [node.lineno] if isinstance(node, ast.expr) and name in DOCUMENTS else []
    return found


def test_documents_are_read_in_one_room() -> None:
    source = ROOT / "src/rushhour"
    files = {str(path.relative_to(source)): path for path in source.rglob("*.py")}
    found = {
        name: lines
        for name, path in files.items()
        if not name.startswith("record/") and name not in WRITERS
        if (lines := by_hand(ast.parse(path.read_text("utf-8"))))
    }
    assert found == {}


@pytest.mark.parametrize(
    "line", ["manifest['seed']", "record.manifest.get('seed')", "results.about['kernels'][0]"]
)
def test_a_value_taken_by_hand_is_found(line: str) -> None:
    assert by_hand(ast.parse(line)) == [1]

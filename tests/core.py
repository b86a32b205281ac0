"""A Python that has only what `pip install rushhour` brings: everything else here cannot be imported."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]

# Runs before the command line, in its process.
_BLOCKED = """
import sys
from functools import cache
from importlib.machinery import PathFinder
BLOCKED, find = frozenset(%r), PathFinder.find_spec
def known(name, path=None, target=None):
    return None if name.partition(".")[0] in BLOCKED else find(name, path, target)
PathFinder.find_spec = known
"""
_MAIN = "from rushhour.cli import main; sys.argv[1:] = %r; main()"


@cache
def foreign() -> list[str]:
    """The modules here that are of no package in requirements.lock."""
    lock = (ROOT / "requirements.lock").read_text()
    locked = {_plain(name) for name in re.findall(r"^([A-Za-z0-9._-]+)==", lock, re.MULTILINE)}
    kept = locked | {"rushhour"}
    found = packages_distributions()
    return sorted(name for name, owners in found.items() if not kept & {_plain(owner) for owner in owners})


def python(code: str, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    """Run Python code where only the core is there."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "100", "NO_COLOR": "1", **more}
    command = [sys.executable, "-c", _BLOCKED % foreign() + code]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, env=environment, timeout=300, check=False
    )


def rush(*words: str, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    """Run `rushhour` where only the core is there."""
    return python(_MAIN % [*words], cwd, **more)


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()

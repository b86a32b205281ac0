"""The command line as a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

HEAVY = ("numpy", "pyarrow", "pydantic", "scipy", "matplotlib", "rich", "jinja2")
"""Packages that no help page and no completion has the time to load."""


def rush(*words: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `rushhour` with these words; 100 columns, no colour."""
    paths = os.pathsep.join(sys.path)
    env = os.environ | {"PYTHONPATH": paths, "COLUMNS": "100", "NO_COLOR": "1"} | environment
    command = [sys.executable, "-m", "rushhour", *words]
    return subprocess.run(command, capture_output=True, text=True, env=env, cwd=cwd, timeout=300, check=False)

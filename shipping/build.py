"""Building wheels with fixed dates: the same files give the same bytes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rushhour.errors import RushHourError
from rushhour.lab.kernel.make import STAMPS

ROOT = Path(__file__).resolve().parents[1]
EPOCH = STAMPS["SOURCE_DATE_EPOCH"]
"""The date of every file in a wheel, in seconds: that of the kernels' own stamps."""


def build(project: Path, out: Path, kind: str = "wheel") -> Path:
    """Build the wheel (or `sdist`) of a project into a folder.

    Raises:
        RushHourError: it could not be built, with the builder's words.
    """
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=out) as room:
        folder = str(Path(room).resolve())
        command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", folder]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH}
        done = subprocess.run(
            command, cwd=project, env=environment, stderr=subprocess.PIPE, text=True, check=False
        )
        if done.returncode:
            raise RushHourError(f"the {kind} could not be built:\n{done.stderr.strip()}", where=str(project))
        (made,) = Path(room).iterdir()
        made.chmod(0o644)
        return made.replace(out / made.name)

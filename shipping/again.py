"""Whether a release can be made again: all wheels twice, from nothing, in two places, byte by byte."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import RushHourError
from shipping.build import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def same(specs: Sequence[str], tell: Callable[[str], None]) -> bool:
    """Make the wheels in two copies of this checkout, each with a cache of its own; takes half an hour.

    Args:
        specs: The kernels' sources.
        tell: Told what goes on, and what differs.

    Raises:
        RushHourError: they could not be made.
    """
    with tempfile.TemporaryDirectory(prefix="rushhour-again-") as room:
        # Not of one length: nothing may depend on that either.
        places = [Path(room) / "one", Path(room) / "another-place"]
        sums = [_make(place, specs, tell) for place in places]
    for name in sorted(sums[0].keys() | sums[1].keys()):
        equal = sums[0].get(name) == sums[1].get(name)
        tell(f"{'same' if equal else 'DIFFERS'}  {name}  {sums[0].get(name)}")
    return sums[0] == sums[1]


def _make(place: Path, specs: Sequence[str], tell: Callable[[str], None]) -> dict[str, str]:
    tell(f"making the wheels in {place}")
    left_out = shutil.ignore_patterns(".git", ".venv", "target", "results", "dist", "__pycache__")
    shutil.copytree(ROOT, place / "checkout", symlinks=True, ignore=left_out)
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(place / "cache"),
        "PYTHONPATH": os.pathsep.join([str(place / "checkout/src"), str(place / "checkout")]),
    }
    words = ["--from-nothing", *(word for spec in specs for word in ("--kernel", spec))]
    command = [
        sys.executable,
        "-m",
        "shipping",
        "wheels",
        "--out",
        str(place / "dist"),
        "--from-nothing",
        *words,
    ]
    done = subprocess.run(command, cwd=place / "checkout", env=environment, check=False)
    if done.returncode:
        raise RushHourError("the wheels could not be made; see above", where=str(place))
    return {
        path.name: sha256(path.read_bytes()).hexdigest() for path in sorted((place / "dist").glob("*.whl"))
    }

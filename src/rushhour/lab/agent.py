"""The agent's binary: found, identified, and laid out as the root of a virtual kernel.

A guest's root holds nothing but the agent as `init` and empty folders to mount on. It is kept in the cache by
the binary's hash, so that runs under way are not disturbed when the agent is built anew.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rushhour.errors import LabError
from rushhour.lab import cache as store
from rushhour.seal import checksum

VARIABLE = "RUSHHOUR_AGENT"
TARGET = "x86_64-unknown-linux-gnu"
MOUNT_POINTS = ("dev", "out", "proc", "sys", "tmp", "trace")


@dataclass(frozen=True)
class Agent:
    """An agent: `root` is a guest's root folder, `binary` the program in it."""

    version: str
    sha256: str
    root: Path

    @property
    def binary(self) -> Path:
        """The program, as it was when it was found."""
        return self.root / "init"


def find() -> Agent:
    """Find the agent: `$RUSHHOUR_AGENT`, the package's own, or a checkout's build, in this order.

    Raises:
        LabError: there is none, or it does not run.
    """
    places = _places()
    for place in places:
        if place.is_file():
            return _identify(place, place.stat().st_mtime_ns)
    raise LabError(
        f"the agent was not found; looked at {', '.join(str(place) for place in places)}",
        hint=f"build it with `make agent`, or name it in {VARIABLE}",
    )


def _places() -> list[Path]:
    if named := os.environ.get(VARIABLE):
        return [Path(named)]
    package = Path(__file__).parents[1]
    target = package.parents[1] / "agent/target"
    return [
        package / "_agent/x86_64/rushhour-agent",
        target / TARGET / "release/rushhour-agent",
        target / "release/rushhour-agent",
    ]


@cache
def _identify(binary: Path, _changed: int) -> Agent:
    digest = checksum(binary)
    root = store.folder("guest", digest[:16])
    if not root.is_dir():
        _lay_out(binary, root)
    command = [str(root / "init"), "--version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError) as error:
        raise LabError(
            f"the agent does not run: {error}", where=str(binary), hint="build it again with `make agent`"
        ) from error
    return Agent(answer.stdout.strip(), digest, root)


def _lay_out(binary: Path, root: Path) -> None:
    try:
        folder = Path(tempfile.mkdtemp(prefix=".new-", dir=root.parent))
        for name in MOUNT_POINTS:
            (folder / name).mkdir()
        shutil.copyfile(binary, folder / "init")
        (folder / "init").chmod(0o555)
        folder.chmod(0o755)
        try:
            folder.rename(root)
        except OSError:
            # Another process laid out the same one first.
            shutil.rmtree(folder, ignore_errors=True)
            if not root.is_dir():
                raise
    except OSError as error:
        raise LabError(
            f"the guest's root cannot be laid out: {error.strerror}",
            where=str(root),
            hint=store.HINT,
        ) from error

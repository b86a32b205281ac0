"""The agent's binary: found, identified, and laid out as the root of a virtual kernel.

A guest's root holds nothing but the agent as `init`, empty folders to mount on, and the programs that the
plan names. It is kept in the cache by the hash of what it holds, so that runs under way are not disturbed
when the agent is built anew.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import LabError
from rushhour.files import cache as store
from rushhour.files import rooms
from rushhour.files.regular import checksum
from rushhour.lab.base import sha256
from rushhour.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rushhour.lab.tools import Tool

VARIABLE = "RUSHHOUR_AGENT"
MOUNT_POINTS = ("dev", "out", "proc", "sys", "tmp", "trace")


@dataclass(frozen=True)
class Agent:
    """An agent: `root` is a guest's root folder, `binary` the program in it, `machine` what it is for."""

    version: str
    sha256: str
    root: Path
    machine: str = platform.machine()

    @property
    def binary(self) -> Path:
        """The program, as it was when it was found."""
        return self.root / "init"

    def root_with(self, tools: Sequence[Tool]) -> Path:
        """A guest's root folder that holds these programs, too.

        Raises:
            LabError: it cannot be laid out.
        """
        if not tools:
            return self.root
        digest = sha256(self.sha256, *(tool.sha256 for tool in tools))
        root = store.folder("guest", digest[:16])
        if not root.is_dir():
            contents: dict[str, Path | str] = {"init": self.binary}
            sums: dict[str, str] = {}
            for tool in tools:
                contents.update(tool.files)
                contents[f"tools/{tool.name}.env"] = "".join(f"{setting}\n" for setting in tool.environment)
                sums.update(tool.sums)
            _lay_out(contents, root, sums)
        return root


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
        machine=True,
    )


def of(binary: Path) -> Agent:
    """The agent that this file is.

    Raises:
        LabError: it does not run here.
    """
    return _identify(binary, binary.stat().st_mtime_ns)


def find_for(machine: str) -> Agent | None:
    """The agent for machines of another kind (as `uname -m` says it), for hosts; None where there is none."""
    for place in _built(machine):
        if place.is_file():
            root = store.folder("guest", (digest := checksum(place))[:16])
            if not root.is_dir():
                _lay_out({"init": place}, root)
            return Agent(__version__, digest, root, machine)
    return None


def _places() -> list[Path]:
    if named := os.environ.get(VARIABLE):
        return [Path(named)]
    return _built(platform.machine())


def _built(machine: str) -> list[Path]:
    package = Path(__file__).parents[1]
    target = package.parents[1] / "agent/target"
    places = [
        package / f"_agent/{machine}/rushhour-agent",
        target / f"{machine}-unknown-linux-gnu/release/rushhour-agent",
    ]
    return [*places, target / "release/rushhour-agent"] if machine == platform.machine() else places


@cache
def _identify(binary: Path, _changed: int) -> Agent:
    digest = checksum(binary)
    root = store.folder("guest", digest[:16])
    if not root.is_dir():
        _lay_out({"init": binary}, root)
    command = [str(root / "init"), "--version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError) as error:
        raise LabError(
            f"the agent does not run: {error}",
            where=str(binary),
            hint="build it again with `make agent`",
            machine=True,
        ) from error
    return Agent(answer.stdout.strip(), digest, root)


def _lay_out(contents: Mapping[str, Path | str], root: Path, sums: Mapping[str, str] | None = None) -> None:
    """Make the folder `root`, all at once or not at all: path in the guest → file here, or a text.

    Raises:
        LabError: it cannot be written, or a file is not the one any more that `sums` says.
    """
    try:
        with rooms.room(root.parent) as room:
            folder = room / "root"
            folder.mkdir()
            _fill(folder, contents, sums or {})
            try:
                folder.rename(root)
            except OSError:
                # Another process may have laid out the same one first.
                if not root.is_dir():
                    raise
    except OSError as error:
        raise LabError(
            f"the guest's root folder cannot be made: {error.strerror}",
            where=str(root),
            hint=store.HINT,
        ) from error


def _fill(folder: Path, contents: Mapping[str, Path | str], sums: Mapping[str, str]) -> None:
    for name in MOUNT_POINTS:
        (folder / name).mkdir()
    for place, content in contents.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            target.write_text(content, encoding="utf-8")
        else:
            shutil.copyfile(content, target)
        if place in sums and checksum(target) != sums[place]:
            raise LabError(
                "a file changed while a program was taken from this machine, as in an upgrade",
                where=str(content),
                hint="run it again when that has ended",
            )
        target.chmod(0o555)
    folder.chmod(0o755)

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
from typing import TYPE_CHECKING, NamedTuple

from rushhour.errors import LabError
from rushhour.files import cache as store
from rushhour.files import laid
from rushhour.files.regular import checksum
from rushhour.lab import root, system
from rushhour.lab.base import sha256
from rushhour.plan.programs import FOREIGN, ROOT
from rushhour.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rushhour.lab.tools import Tool

VARIABLE = "RUSHHOUR_AGENT"
# All roots together take so many bytes at most: of each version of the agent there is one with each program.
_MOST = 2_000_000_000
MOUNT_POINTS = ("dev", "out", "proc", "sys", "tmp", "trace")


class Link(NamedTuple):
    """A symbolic link in a root."""

    target: str


Contents = dict[str, "Path | str | Link | None"]
"""What a root holds: path in the guest → file here, text, link, or (None) a folder."""


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
        """A guest's root folder that holds these programs, too; roots of programs are no part of it.

        Raises:
            LabError: it cannot be laid out.
        """
        if not tools:
            return self.root
        roots = any(root.is_root(tool) for tool in tools)
        tools = [tool for tool in tools if not root.is_root(tool)]
        digest = sha256(self.sha256, *(tool.sha256 for tool in tools), *([ROOT] if roots else []))
        place = store.folder("guest", digest[:16])
        _lay_out(*_contents(self.binary, tools, roots=roots), place)
        return place


def _contents(agent: Path, tools: Sequence[Tool], *, roots: bool) -> tuple[Contents, dict[str, str]]:
    """What a root holds with these programs, and the SHA-256 of its files as far as these say it.

    With `roots` there is also a folder in which those of programs are mounted.
    """
    contents: Contents = {"init": agent}
    known = [tool for tool in tools if not tool.name.startswith(FOREIGN)]
    whole = roots or len(known) < len(tools)
    if roots:
        contents["roots"] = None
    if whole:
        contents |= system.SYSTEM
        contents |= dict.fromkeys(system.FOLDERS)
        contents |= {place: Link(target) for place, target in system.LINKS.items()}
    sums: dict[str, str] = {}
    for tool in tools:
        place = system.in_guest if whole else str
        contents |= {place(name): path for name, path in tool.files.items()}
        contents |= {name: Link(target) for name, target in tool.links.items()}
        sums |= {place(name): digest for name, digest in tool.sums.items()}
    for tool in known:
        contents[f"tools/{tool.name}.env"] = "".join(f"{setting}\n" for setting in tool.environment)
    return contents, sums


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
            _lay_out({"init": place}, {}, root)
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
    _lay_out({"init": binary}, {}, root)
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


def _lay_out(contents: Contents, sums: Mapping[str, str], root: Path) -> None:
    """See to it that the folder `root` is there, as it was made; all at once or not at all.

    Raises:
        LabError: it cannot be written, or a file is not the one any more that `sums` says.
    """
    try:
        laid.out(root, lambda new: _fill(new, contents, sums), _MOST)
    except OSError as error:
        raise LabError(
            f"the guest's root folder cannot be made: {error.strerror}",
            where=str(root),
            hint=store.HINT,
        ) from error


def _fill(folder: Path, contents: Contents, sums: Mapping[str, str]) -> None:
    folder.mkdir()
    for name in MOUNT_POINTS:
        (folder / name).mkdir()
    for place, content in contents.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        match content:
            case None:
                target.mkdir(exist_ok=True)
                continue
            case Link():
                target.symlink_to(content.target)
                continue
            case str():
                target.write_text(content, encoding="utf-8")
            case Path():
                shutil.copyfile(content, target)
        if place in sums and checksum(target) != sums[place]:
            raise LabError(
                "a file changed while a program was taken from this machine, as in an upgrade",
                where=str(content),
                hint="run it again when that has ended",
            )
        target.chmod(0o555)
    folder.chmod(0o755)

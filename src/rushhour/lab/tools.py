"""Programs of this machine for a guest: found, identified by content, with everything they load.

A guest has no file system but its root, so a program goes there as `/tools/NAME`, its loader and its
libraries under the paths they have here. The hash over all of it tells one program from another: it is part
of a run's key, and the record names it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rushhour.errors import LabError
from rushhour.lab.base import sha256
from rushhour.seal import checksum

# Programs a guest can be given, and the package that holds them.
PACKAGES = {
    "dash": "dash",
    "ethtool": "ethtool",
    "ip": "iproute2",
    "iperf3": "iperf3",
    "stress-ng": "stress-ng",
    "sysctl": "procps",
    "tc": "iproute2",
}
# The option that makes them say their version; dash has none.
_VERSION = {"ip": "-V", "tc": "-V"} | dict.fromkeys(("ethtool", "iperf3", "stress-ng", "sysctl"), "--version")
# What they read beside libraries: the tables of netem's distributions.
_DATA = {"tc": ("/usr/lib/tc", "*.dist")}
# An unprivileged user's PATH often lacks these.
_SYSTEM = ("/usr/sbin", "/sbin", "/usr/local/sbin")
# `libc.so.6 => /lib/libc.so.6 (0x…)`, or the loader: `/lib64/ld-linux-x86-64.so.2 (0x…)`
_LOADED = re.compile(r"^\s*(?:\S+ => )?(/\S+) \(0x[0-9a-f]+\)$", re.MULTILINE)


@dataclass(frozen=True)
class Tool:
    """A program and all it loads; `files` are pairs of path in the guest and file here."""

    name: str
    version: str
    sha256: str
    files: tuple[tuple[str, Path], ...]

    def identity(self) -> dict[str, str]:
        """What a record says of it."""
        return {"version": self.version, "sha256": self.sha256}


def find(name: str) -> Tool:
    """Find a program and what it loads.

    Raises:
        LabError: it is not installed, not one a guest can be given, or does not say what it loads.
    """
    if name not in PACKAGES:
        raise LabError(f"a guest cannot be given {name!r}", hint=f"it can have: {', '.join(PACKAGES)}")
    places = os.pathsep.join([os.environ.get("PATH", os.defpath), *_SYSTEM])
    found = shutil.which(name, path=places)
    if found is None:
        raise LabError(
            f"this scenario needs the program {name}, and it is not installed",
            hint=f"apt-get install {PACKAGES[name]}",
        )
    program = Path(found).resolve()
    return _identify(name, program, program.stat().st_mtime_ns)


@cache
def _identify(name: str, program: Path, _changed: int) -> Tool:
    files = {f"tools/{name}": program}
    files |= {path.lstrip("/"): Path(path) for path in _loaded(program)}
    if name in _DATA:
        folder, pattern = _DATA[name]
        files |= {str(path).lstrip("/"): path for path in sorted(Path(folder).glob(pattern))}
    try:
        parts = [f"{place} {checksum(path)}" for place, path in sorted(files.items())]
    except OSError as error:
        raise LabError(
            f"{name} cannot be read whole: {error.strerror}",
            where=str(error.filename or program),
            hint=f"install its package again: apt-get install --reinstall {PACKAGES[name]}",
        ) from error
    return Tool(name, _version(name, program), sha256(*parts), tuple(sorted(files.items())))


def _loaded(program: Path) -> list[str]:
    """The loader and all libraries of a program; none if it is static."""
    try:
        answer = subprocess.run(
            ["ldd", program], capture_output=True, text=True, timeout=10, env={"LC_ALL": "C"}, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise LabError(
            f"what {program.name} loads cannot be found out: {error}",
            where=str(program),
            hint="apt-get install libc-bin",
        ) from error
    said = answer.stdout + answer.stderr
    if answer.returncode and ("not a dynamic executable" in said or "statically linked" in said):
        return []
    if answer.returncode or "not found" in said:
        raise LabError(
            f"{program.name} does not load here: {said.strip()}",
            where=str(program),
            hint="install its package again",
        )
    return _LOADED.findall(answer.stdout)


def _version(name: str, program: Path) -> str:
    if name not in _VERSION:
        return ""
    try:
        answer = subprocess.run(
            [program, _VERSION[name]], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise LabError(
            f"{name} does not say its version: {error}",
            where=str(program),
            hint=f"install its package again: apt-get install --reinstall {PACKAGES[name]}",
        ) from error
    # iperf3 adds a line about this machine.
    return answer.stdout.partition("\n")[0].strip()

"""Programs of this machine for a guest: found, identified by content, with everything they load.

A guest has no file system but its root, so a program goes there as `/tools/NAME`, its loader and its
libraries under the paths they have here. The hash over all of it tells one program from another: it is part
of a run's key, and the record names it.

How a program is loaded must not depend on the processor: glibc's loader looks for each library in folders for
x86-64-v4, -v3 and -v2, as far as the processor goes, and each look that finds nothing costs virtual time. So
`/tools/NAME.env` holds the environment in which the agent starts it: every library by its path, which leaves
nothing to look for, no feature of the processor beyond those that every x86-64 has, and caches of one size.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import LabError
from rushhour.files.sums import sum_of
from rushhour.lab import loading, packages
from rushhour.lab.base import sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

PROGRAMS = ("dash", "ethtool", "ip", "iperf3", "stress-ng", "sysctl", "tc")
"""Programs a guest can be given."""
# The option that makes them say their version; dash has none.
_VERSION = {"ip": "-V", "tc": "-V"} | dict.fromkeys(("ethtool", "iperf3", "stress-ng", "sysctl"), "--version")
# The tables of netem's distributions: where systems have them, and where a guest has.
_TABLES = ("usr/lib/tc", "usr/lib/*/tc", "usr/lib64/tc", "usr/share/tc")
_TABLES_FOLDER = "tools/tc.tables"


@dataclass(frozen=True)
class Tool:
    """A program and all it loads.

    `files` are its files here by their path in the guest, `sums` their SHA-256; `environment` is what it is
    started with, `NAME=VALUE`; `links` are symbolic links there, and where they lead; `sha256` is over all
    of it.
    """

    name: str
    version: str
    sha256: str
    files: Mapping[str, Path]
    sums: Mapping[str, str]
    environment: tuple[str, ...]
    links: Mapping[str, str] = field(default_factory=dict)

    def identity(self) -> dict[str, str]:
        """Version and hash, as a record has them."""
        return {"version": self.version, "sha256": self.sha256}


def find(name: str) -> Tool:
    """Find a program and what it loads.

    Raises:
        LabError: it is not installed, not one a guest can be given, or does not say what it loads.
    """
    if name not in PROGRAMS:
        raise LabError(f"a guest cannot be given {name!r}", hint=f"it can have: {', '.join(PROGRAMS)}")
    found = loading.where(name)
    if found is None:
        raise loading.AbsentError(name)
    program = found.resolve()
    return remembered(name, program, lambda: _identify(name, program))


def remembered(name: str, program: Path, identify: Callable[[], Tool]) -> Tool:
    """What this program was identified as, as long as its files are these and the same."""
    known = _known.get((name, program))
    if known is None or known[1] != _stamps(known[0], program):
        tool = identify()
        known = _known[name, program] = (tool, _stamps(tool, program))
    return known[0]


# What was identified, and what its files were like then: another one when a package is upgraded meanwhile.
_known: dict[tuple[str, Path], tuple[Tool, list[tuple[int, ...]]]] = {}


def _stamps(tool: Tool, program: Path) -> list[tuple[int, ...]]:
    """What tells whether files changed: times, size, number; those that are gone have none.

    A folder changes with the names in it.
    """
    files = tool.files.values()
    inside = {place for file in files for place in file.parents if place.is_relative_to(program)}
    found: list[tuple[int, ...]] = []
    for place in (*files, *sorted(inside)):
        try:
            about = place.stat()
            found.append((about.st_mtime_ns, about.st_ctime_ns, about.st_size, about.st_ino))
        except OSError:
            found.append(())
    return found


def identified(
    name: str,
    files: Mapping[str, Path],
    *,
    version: str = "",
    environment: tuple[str, ...] = (),
    links: Mapping[str, str] | None = None,
    beside: Sequence[str] = (),
) -> Tool:
    """A program whose files are found and have their places, with the hash over all of it.

    `beside` are texts that the hash is to cover, too; the others are as in `Tool`.

    Raises:
        LabError: a file cannot be read.
    """
    links = links or {}
    try:
        sums = {place: sum_of(file.resolve()) for place, file in sorted(files.items())}
    except OSError as error:
        raise unreadable(name, error) from error
    named = (f"{place} -> {target}" for place, target in links.items())
    digest = sha256(*(f"{place} {one}" for place, one in sums.items()), *named, *environment, *beside)
    return Tool(name, version, digest, files, sums, environment, links)


def unreadable(name: str, error: OSError, program: Path | None = None) -> LabError:
    """The error of a program of which a file cannot be read."""
    return LabError(
        f"{name.rpartition(':')[2]} cannot be read whole: {error.strerror or error}",
        where=str(error.filename or program or ""),
        hint="remove and install its package again",
    )


def _identify(name: str, program: Path) -> Tool:
    try:
        libraries = loading.libraries([program])
    except OSError as error:
        raise unreadable(name, error, program) from error
    tables = _tables() if name == "tc" else []
    files = {f"tools/{name}": program} | {str(path).lstrip("/"): path for path in libraries}
    files |= {f"{_TABLES_FOLDER}/{path.name}": path for path in tables}
    environment = _environment(libraries)
    environment += (f"TC_LIB_DIR=/{_TABLES_FOLDER}",) if tables else ()
    return identified(name, files, version=_version(name, program), environment=environment)


def _environment(libraries: list[Path]) -> tuple[str, ...]:
    """In what a program is started that loads these."""
    if not libraries:
        return ()
    shared = ":".join(str(path) for path in libraries if not path.name.startswith("ld-"))
    # Bound at once: what binds a function at its first call saves as many registers as the processor has.
    return (
        f"GLIBC_TUNABLES={loading.BASELINE}",
        "LD_BIND_NOW=1",
        *([f"LD_PRELOAD={shared}"] if shared else []),
    )


def _tables() -> list[Path]:
    """The tables of netem's distributions on this machine; none where there are none."""
    for place in _TABLES:
        if found := sorted(Path("/").glob(f"{place}/*.dist")):
            return found
    return []


def _version(name: str, program: Path) -> str:
    if name not in _VERSION:
        return ""
    try:
        answer = subprocess.run(
            [program, _VERSION[name]], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise LabError(
            f"{name} does not print its version: {error}",
            where=str(program),
            hint=_again(name),
        ) from error
    # iperf3 adds a line about this machine.
    return answer.stdout.partition("\n")[0].strip()


def _again(name: str) -> str:
    return f"remove and install its package again: {', '.join(packages.here().names(name))}"

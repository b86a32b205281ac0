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

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import LabError
from rushhour.files.regular import checksum
from rushhour.lab import packages
from rushhour.lab.base import sha256

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PROGRAMS = ("dash", "ethtool", "ip", "iperf3", "stress-ng", "sysctl", "tc")
"""Programs a guest can be given."""
# The option that makes them say their version; dash has none.
_VERSION = {"ip": "-V", "tc": "-V"} | dict.fromkeys(("ethtool", "iperf3", "stress-ng", "sysctl"), "--version")
# The tables of netem's distributions: where systems have them, and where a guest has.
_TABLES = ("usr/lib/tc", "usr/lib/*/tc", "usr/lib64/tc", "usr/share/tc")
_TABLES_FOLDER = "tools/tc.tables"
# What a processor may have beyond the first x86-64, by glibc's names; it passes over what it does not know.
_FEATURES = (
    *("AVX512F", "AVX512CD", "AVX512BW", "AVX512DQ", "AVX512VL", "AVX512ER", "AVX512PF", "AVX2", "AVX"),
    *("FMA", "FMA4", "F16C", "BMI1", "BMI2", "LZCNT", "MOVBE", "POPCNT", "SSE4_2", "SSE4_1", "SSSE3"),
    *("ERMS", "FSRM", "RTM"),
    # As glibc before 2.33 called them.
    *("AVX512F_Usable", "AVX2_Usable", "AVX_Usable", "FMA_Usable", "FMA4_Usable"),
)
# By the sizes of caches glibc chooses how it copies, and so in which order pages are touched.
_CACHES = {
    "x86_data_cache_size": 2**15,
    "x86_shared_cache_size": 2**20,
    "x86_non_temporal_threshold": 3 * 2**18,
}
BASELINE = ":".join(
    [
        "glibc.cpu.hwcaps=" + ",".join(f"-{name}" for name in _FEATURES),
        *(f"glibc.cpu.{name}={size:#x}" for name, size in _CACHES.items()),
    ]
)
# What glibc loads when a thread is cancelled, which `ldd` does not know; it lies beside libc.
_CANCELLING, _LOADED_LATE = b"pthread_cancel", "libgcc_s.so.1"
# An unprivileged user's PATH often lacks these.
_SYSTEM = ("/usr/sbin", "/sbin", "/usr/local/sbin")
# `libc.so.6 => /lib/libc.so.6 (0x…)`, or the loader: `/lib64/ld-linux-x86-64.so.2 (0x…)`
_LOADED = re.compile(r"^\s*(?:\S+ => )?(/\S+) \(0x[0-9a-f]+\)$", re.MULTILINE)


@dataclass(frozen=True)
class Tool:
    """A program and all it loads.

    `files` are its files here by their path in the guest, `sums` their SHA-256; `environment` is what it is
    started with, `NAME=VALUE`; `sha256` is over all of it.
    """

    name: str
    version: str
    sha256: str
    files: Mapping[str, Path]
    sums: Mapping[str, str]
    environment: tuple[str, ...]

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
    found = _path(name)
    if found is None:
        raise LabError(
            f"this scenario needs the program {name}, and it is not installed",
            hint=packages.advice(name),
            machine=True,
        )
    program = Path(found).resolve()
    known = _known.get((name, program))
    if known is None or known[1] != _stamps(known[0].files.values()):
        tool = _identify(name, program)
        known = _known[name, program] = (tool, _stamps(tool.files.values()))
    return known[0]


def there(name: str) -> bool:
    """Whether a program is installed, also where an ordinary user's path does not lead."""
    return _path(name) is not None


def _path(name: str) -> str | None:
    return shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", os.defpath), *_SYSTEM]))


# What was identified, and what its files were like then: another one when a package is upgraded meanwhile.
_known: dict[tuple[str, Path], tuple[Tool, list[tuple[int, int]]]] = {}


def _stamps(files: Iterable[Path]) -> list[tuple[int, int]]:
    """When files were changed, and their sizes; those that are gone have none."""
    found = []
    for file in files:
        try:
            status = file.stat()
            found.append((status.st_mtime_ns, status.st_size))
        except OSError:
            found.append((0, 0))
    return found


def _identify(name: str, program: Path) -> Tool:
    loaded = _loaded(program)
    try:
        libraries = _with_late(loaded, program)
        tables = _tables() if name == "tc" else []
        files = {f"tools/{name}": program} | {str(path).lstrip("/"): path for path in libraries}
        files |= {f"{_TABLES_FOLDER}/{path.name}": path for path in tables}
        sums = {place: checksum(path) for place, path in sorted(files.items())}
    except OSError as error:
        raise LabError(
            f"{name} cannot be read whole: {error.strerror}",
            where=str(error.filename or program),
            hint=_again(name),
        ) from error
    environment = _environment(libraries)
    environment += (f"TC_LIB_DIR=/{_TABLES_FOLDER}",) if tables else ()
    digest = sha256(*(f"{place} {digest}" for place, digest in sums.items()), *environment)
    return Tool(name, _version(name, program), digest, files, sums, environment)


def _environment(libraries: list[Path]) -> tuple[str, ...]:
    """In what a program is started that loads these."""
    if not libraries:
        return ()
    shared = ":".join(str(path) for path in libraries if not path.name.startswith("ld-"))
    # Bound at once: what binds a function at its first call saves as many registers as the processor has.
    return (f"GLIBC_TUNABLES={BASELINE}", "LD_BIND_NOW=1", *([f"LD_PRELOAD={shared}"] if shared else []))


def _tables() -> list[Path]:
    """The tables of netem's distributions on this machine; none where there are none."""
    for place in _TABLES:
        if found := sorted(Path("/").glob(f"{place}/*.dist")):
            return found
    return []


def _loaded(program: Path) -> list[Path]:
    """The loader and all libraries of a program in the order in which they are loaded; none if it is static.

    They are those of the first x86-64, where a distribution has others for newer processors beside them.
    """
    environment = {"LC_ALL": "C", "GLIBC_TUNABLES": BASELINE, "PATH": os.environ.get("PATH", os.defpath)}
    try:
        answer = subprocess.run(
            ["ldd", program], capture_output=True, text=True, timeout=10, env=environment, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise LabError(
            f"what {program.name} loads cannot be found out: {error}",
            where=str(program),
            hint=packages.advice("ldd"),
            machine=True,
        ) from error
    said = answer.stdout + answer.stderr
    if answer.returncode and ("not a dynamic executable" in said or "statically linked" in said):
        return []
    if answer.returncode or "not found" in said:
        raise LabError(
            f"{program.name} does not load here: {said.strip()}",
            where=str(program),
            hint="install its package again, and with it what it loads",
        )
    return [Path(path) for path in _LOADED.findall(answer.stdout)]


def _with_late(libraries: list[Path], program: Path) -> list[Path]:
    """The libraries of a program, and what it loads only when it needs it."""
    libc = [path for path in libraries if path.name.startswith("libc.so")]
    others = [program, *(path for path in libraries if path not in libc)]
    late = [path.with_name(_LOADED_LATE) for path in libc]
    if not any(_CANCELLING in path.read_bytes() for path in others if path.is_file()):
        return libraries
    return [*libraries, *(path for path in late if path.is_file() and path not in libraries)]


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

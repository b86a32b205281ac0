"""The compiler's own gcov, reading what a kernel counted.

A kernel that was built with coverage keeps the compiler's notes of each object; with an object's counters
from a run they say how often each line and branch was executed. Most objects of most runs count the same (a
queue discipline that no cell uses), so what was read once is remembered.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rushhour.coverage.decoded import Decoded, Shape, shape_of
from rushhour.errors import KernelError, LabError
from rushhour.lab import packages
from rushhour.lab.kernel.coverage import NOTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

    from rushhour.lab.kernel import Kernel

_BUILD = "rushhour kernel build debian:6.12 --with coverage"


class Gcov:
    """The gcov of one kernel; a context manager, for it needs a folder.

    Raises:
        KernelError: the kernel keeps no notes, or another compiler's gcov is here.
        LabError: there is no gcov.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._notes = notes_of(kernel)
        _check_version(str(kernel.identity["compiler"]), kernel.name)
        self._room = tempfile.TemporaryDirectory(prefix="rushhour-gcov-")
        self._shapes: dict[str, Shape] = {}
        self._known: dict[tuple[str, bytes], Decoded] = {}

    def __enter__(self) -> Self:
        """Unpack the notes."""
        with zipfile.ZipFile(self._notes) as archive:
            names = [name for name in archive.namelist() if name.endswith(".gcno")]
            archive.extractall(self._room.name, names)
        self._there = {name.removesuffix(".gcno") for name in names}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the folder."""
        self._room.cleanup()

    def decode(self, counts: Mapping[str, bytes]) -> list[Decoded]:
        """What a run executed, object by object.

        Args:
            counts: Counters by object, as `Record.counts` has them.

        Raises:
            LabError: gcov failed, or the counters are of another kernel.
        """
        keys = {name: (name, hashlib.sha256(data).digest()) for name, data in counts.items()}
        fresh = [name for name, key in keys.items() if key not in self._known]
        if strange := [name for name in fresh if name not in self._there]:
            raise LabError(f"the kernel has no notes of {strange[0]}", hint="run it again with this kernel")
        for name, said in self._ask({name: counts[name] for name in fresh}):
            shape = self._shapes.get(name) or self._shapes.setdefault(name, shape_of(said))
            self._known[keys[name]] = shape.decoded(said)
        return [self._known[key] for key in keys.values()]

    def _ask(self, counts: Mapping[str, bytes]) -> Iterable[tuple[str, Mapping[str, Any]]]:
        names = [*counts]
        if not names:
            return []
        with tempfile.TemporaryDirectory(dir=self._room.name) as folder:
            for name, data in counts.items():
                place = Path(folder, name)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.with_suffix(".gcno").symlink_to(Path(self._room.name, f"{name}.gcno"))
                place.with_suffix(".gcda").write_bytes(data)
            command = ["gcov", "--stdout", "--json-format", "--branch-probabilities"]
            command += [f"{name}.gcda" for name in names]
            done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        documents = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]
        said = {str(one["data_file"]).removesuffix(".gcda"): one for one in documents}
        complaint = done.stderr.decode(errors="replace").strip()
        missing = [name for name in names if name not in said]
        if done.returncode or missing or "mismatch" in complaint:
            words = complaint.splitlines()[0] if complaint else f"nothing said of {', '.join(missing[:3])}"
            raise LabError(
                f"gcov cannot read what the kernel counted: {words}", hint="run it again with this kernel"
            )
        return said.items()


def notes_of(kernel: Kernel) -> Path:
    """The file with the compiler's notes and the text of what is covered.

    Raises:
        KernelError: the kernel does not count.
    """
    path = kernel.folder / NOTES
    if not path.is_file():
        raise KernelError(
            "this kernel does not count what it executes", where=kernel.name, hint=f"build one: {_BUILD}"
        )
    return path


def texts_of(kernel: Kernel) -> dict[str, str]:
    """The text of the covered files, by name in the kernel's tree."""
    with zipfile.ZipFile(notes_of(kernel)) as archive:
        names = [name for name in archive.namelist() if not name.endswith(".gcno")]
        return {name: archive.read(name).decode("utf-8", "replace") for name in names}


def _check_version(compiler: str, name: str) -> None:
    """Refuse a gcov that is not of the compiler that made the notes: their formats differ."""
    try:
        said = subprocess.run(["gcov", "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as fault:
        raise LabError(
            f"gcov does not run: {fault}",
            hint=f"it comes with gcc: {packages.advice('gcc')}",
            machine=True,
        ) from fault
    mine, made = _version(said), _version(compiler)
    if mine != made:
        raise KernelError(
            f"it was compiled by gcc {made}, and gcov here is {mine}; it reads its own compiler's notes only",
            where=name,
            hint=f"build it again with the gcc of this machine: {_BUILD}",
        )


def _version(said: str) -> str:
    """12.2.0 in `gcc (Debian 12.2.0-14) 12.2.0`."""
    first = said.splitlines()[0].partition(", ")[0] if said else ""
    found = re.findall(r"\d+\.\d+\.\d+", first)
    return found[-1] if found else "unknown"

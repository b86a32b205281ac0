"""From records of a counting kernel to an index of what its cells execute."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from rushhour.coverage.gather import Gatherer
from rushhour.coverage.index import CellRef
from rushhour.errors import KernelError, RecordError, UsageError
from rushhour.lab import cpus
from rushhour.lab import kernel as kernels
from rushhour.lab.gcov import Gcov, notes_of, texts_of
from rushhour.lab.kernel.coverage import NOTES
from rushhour.record.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from rushhour.coverage.decoded import Decoded
    from rushhour.coverage.index import Index
    from rushhour.lab.kernel import Kernel
    from rushhour.record.result_set import ResultSet

BUILD = "rushhour kernel build debian:6.12 --with coverage"


def counting(name: str | None = None) -> Kernel:
    """The kernel of this name, or the newest that counts what it executes.

    Raises:
        KernelError: there is none, or it does not count.
    """
    if name is not None:
        found = kernels.find(name)
        notes_of(found)
        return found
    for one in kernels.installed():
        if (one.folder / NOTES).is_file():
            return one
    raise KernelError("there is no kernel that counts what it executes", hint=f"to build one: {BUILD}")


def counted(sets: Sequence[ResultSet], kernel: str | None = None) -> tuple[Kernel, list[Path]]:
    """The runs of these sets that counted, and their kernel.

    Args:
        sets: Where to look.
        kernel: Only the runs of this one.

    Raises:
        RecordError: none did, or those of several kernels did and none is named.
        KernelError: the kernel is gone, and its notes with it.
    """
    runs: dict[str, list[Path]] = {}
    for folder in (folder for one in sets for folder in one.folders()):
        record = Record.open(folder)
        if record.manifest.counts:
            runs.setdefault(record.manifest.kernel.image_sha256, []).append(folder)
    there = {str(one.identity["image_sha256"]): one for one in kernels.installed()}
    if kernel is not None:
        image = str(counting(kernel).identity["image_sha256"])
        runs = {image: runs[image]} if image in runs else {}
    if not runs:
        where = ", ".join(str(one.path) for one in sets[:3])
        hint = "run them with one that does: rushhour coverage SCENARIO…"
        raise RecordError("no run here is of a kernel that counts what it executes", where=where, hint=hint)
    if len(runs) > 1:
        names = ", ".join(sorted(there[image].name for image in runs if image in there))
        raise UsageError(
            f"these runs are of {len(runs)} kernels that count", hint=f"--kernel: one of {names}"
        )
    ((image, folders),) = runs.items()
    if image not in there:
        name = Record.open(folders[0]).manifest.kernel.name
        raise KernelError(
            f"{name}, whose runs these are, is gone, and what explains its counts with it",
            hint=f"build it again and run again: {BUILD}",
        )
    return there[image], folders


def gather(kernel: Kernel, folders: Iterable[Path], tell: Callable[[int], None] = lambda _: None) -> Index:
    """The index of these runs of one kernel, several decoded at once.

    Args:
        kernel: The kernel.
        folders: Its runs.
        tell: Is told after each how many are done.

    Raises:
        RecordError: a record is damaged.
        LabError: gcov failed.
    """
    gatherer = Gatherer(kernel.identity)

    def decoded(folder: Path) -> tuple[CellRef, list[Decoded]]:
        record = Record.open(folder)
        about = record.manifest
        cell = CellRef(about.scenario.name, about.cell.index, about.cell.factors, 0)
        return cell, gcov.decode(record.counts or {})

    with Gcov(kernel) as gcov, ThreadPoolExecutor(len(cpus.own())) as pool:
        for done, (cell, run) in enumerate(pool.map(decoded, folders), 1):
            gatherer.take(cell, run)
            tell(done)
    return gatherer.index(texts_of(kernel))

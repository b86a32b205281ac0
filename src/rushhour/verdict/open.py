"""Sides from words: a folder of results, a baseline, or the name of a kernel.

Takes what a person typed, gives a `Side` with its runs, or the kernel that is still to run.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import KernelError, RecordError, UsageError
from rushhour.lab import kernel as kernels
from rushhour.record import ResultSet
from rushhour.report.study import read_sets
from rushhour.spec.keys import nearest
from rushhour.verdict.side import Side, of_sets

if TYPE_CHECKING:
    from rushhour.lab.kernel import Kernel


def open_side(word: str | Path) -> Side | Kernel:
    """What a word means: a folder of results, else a baseline, else a kernel.

    Raises:
        UsageError: it is none of these.
        RecordError: it is a folder without results.
    """
    path = Path(word)
    if path.is_dir():
        return open_records(path)
    try:
        return kernels.find(str(word))
    except KernelError as error:
        names = [kernel.name for kernel in kernels.installed()]
        hint = nearest(str(word), names) or "build one: rushhour kernel build debian:6.12"
        raise UsageError(
            f'"{word}" is no folder of results, no baseline and no kernel that is built', hint=hint
        ) from error


def open_records(path: Path) -> Side:
    """The side that a folder makes: a result set, a study's folder, or one run.

    Raises:
        RecordError: there are no records in it.
    """
    sets = read_sets(path)
    if sets is None:
        sets = [_open_set(path)]
    side = of_sets(sets, str(path), "records")
    side.records = str(path)
    if not side.cells:
        raise RecordError(
            "there are no runs here", where=str(path), hint="give a folder `rushhour run` wrote"
        )
    return side


def _open_set(path: Path) -> ResultSet:
    # A set in which every run failed has no record, and is still something to be judged.
    if (path / "set.json").is_file():
        return ResultSet(path)
    return ResultSet.open(path)

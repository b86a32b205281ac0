"""Sides from words: a folder of results, a baseline, or the name of a kernel.

Takes what a person typed, gives a `Side` with its runs, or the kernel that is still to run.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rushhour import baseline
from rushhour.errors import KernelError, RecordError, UsageError
from rushhour.lab import kernel as kernels
from rushhour.record.folders import BASELINE, result_sets
from rushhour.record.result_set import ResultSet
from rushhour.spec.keys import nearest
from rushhour.verdict.side import Side, of_baseline, of_sets

if TYPE_CHECKING:
    from collections.abc import Callable

    from rushhour.lab.kernel import Kernel


def open_side(word: str | Path, tell: Callable[[str], None] = lambda _: None) -> Side | Kernel:
    """What a word means: a folder of results, else a baseline, else a kernel; `tell` hears what is read.

    Baselines come before kernels because a kernel's other names (its source, its ID) are many.

    Raises:
        UsageError: the word names none of these.
        RecordError: it is a folder without results.
    """
    path = Path(word)
    if path.is_dir():
        return of_baseline(baseline.find(path)) if (path / BASELINE).is_file() else open_records(path, tell)
    name = str(word).partition("@")[0]
    kept = [one.name for one in baseline.names()]
    if name in kept:
        return of_baseline(baseline.find(str(word)))
    try:
        return kernels.find(str(word))
    except KernelError as error:
        names = [*dict.fromkeys([*(kernel.name for kernel in kernels.installed()), *kept])]
        build = f"build one: {kernels.building('debian:6.12')}"
        hint = nearest(str(word), names, "there is") if names else build
        raise UsageError(
            f'"{word}" is neither a folder of results nor a baseline nor a built kernel', hint=hint
        ) from error


def open_records(path: Path, tell: Callable[[str], None] = lambda _: None) -> Side:
    """The side that a folder makes: a result set, a study's folder, a comparison's, or one run.

    Raises:
        RecordError: there are no records in it.
    """
    # A set in which every run failed has no record, and is still something to be judged.
    alone = (path / "set.json").is_file()
    sets = [ResultSet(path)] if alone else result_sets(path)
    side = of_sets([one.heard(tell, f"{path}, {one.name}: ") for one in sets], str(path), "records")
    side.records = str(path)
    if not side.cells:
        raise RecordError(
            "there are no runs here", where=str(path), hint="give a folder `rushhour run` wrote"
        )
    return side

"""A file that a scenario names and that is not there: where it was looked for, and what is there instead."""

from __future__ import annotations

import os
from difflib import get_close_matches
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from rushhour.spec.check.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rushhour.spec.check import Path as KeyPath

# A scenario may lie in a folder of anything.
_MOST = 2000
_SHOWN = 20
_SCENARIO = ".toml"


def missing(path: KeyPath, name: str, folder: Path, suits: Callable[[str], bool] = lambda _: True) -> Problem:
    """The fault of a file that is not beside the scenario; the hint names one that may be meant.

    Args:
        path: the key that names it.
        name: as it stands there: a path, or a pattern.
        folder: the scenario's.
        suits: whether a file of this name could be meant.
    """
    message = f'there is no file "{name}" beside the scenario, in {folder.absolute()}'
    if os.path.isdir(folder / name):  # noqa: PTH112 - without an error for names that no file can have
        return Problem(path, f"{message}: it is a folder", f'what is in it: "{name.rstrip("/")}/**"')
    # The scenario itself and its like are hardly ever what is meant.
    there = [
        one for one in _below(folder) if suits(one) and one.endswith(_SCENARIO) <= name.endswith(_SCENARIO)
    ]
    if not there:
        return Problem(path, message, "put it there")
    own = PurePosixPath(name).name
    near = [one for one in there if PurePosixPath(one).name == own]
    near = near or get_close_matches(name, there, n=1) or get_close_matches(own, there, n=1)
    guess = f'did you mean "{near[0]}"? ' if near else ""
    more = ", …" if len(there) > _SHOWN else ""
    return Problem(path, message, f"{guess}there is: {', '.join(there[:_SHOWN])}{more}")


def _below(folder: Path) -> list[str]:
    """Paths of files below the folder, those beside the scenario first; of very many the first."""
    found = sorted(islice(_walk(folder), _MOST))
    return sorted(found, key=lambda one: one.count("/"))


def _walk(folder: Path) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        for name in sorted(names):
            if not name.startswith(".") and name.isprintable():
                yield (Path(place) / name).relative_to(folder).as_posix()

"""The catalogue: scenarios that ship with the package, found by name.

A scenario is called by its path without the suffix (`tomasov/window-scaling`), by its last part where that is
unambiguous (`window-scaling`), or all of a study by its folder (`tomasov`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from rushhour.errors import UsageError
from rushhour.spec.keys import nearest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable

_SUFFIX = ".toml"


@dataclass(frozen=True, slots=True)
class ScenarioFile:
    """A scenario's file and the name under which its results are kept."""

    name: str
    file: Traversable

    @property
    def stem(self) -> str:
        """Last part of the name."""
        return self.name.rpartition("/")[2]


@cache
def catalogue() -> dict[str, ScenarioFile]:
    """Give every scenario that ships, by its full name, in order."""
    root = files("rushhour") / "catalog"
    found = (ScenarioFile(name, file) for name, file in _walk(root, "") if root.is_dir())
    return {item.name: item for item in sorted(found, key=lambda item: item.name)}


def find_in_catalogue(word: str) -> list[ScenarioFile]:
    """Give the scenarios that a word names: one by name, all of a study by its folder.

    Raises:
        UsageError: no scenario, or several of different studies, have this name.
    """
    name = word.removesuffix(_SUFFIX).strip("/")
    every = catalogue()
    if name in every:
        return [every[name]]
    study = [item for full, item in every.items() if full.startswith(f"{name}/")]
    if study:
        return study
    same = [item for item in every.values() if item.stem == name]
    if len(same) == 1:
        return same
    if same:
        hint = f"say which: {', '.join(item.name for item in same)}"
        raise UsageError(f'"{word}" names {len(same)} scenarios of the catalogue', hint=hint)
    words = dict.fromkeys(
        [*every, *(item.stem for item in every.values()), *(n.partition("/")[0] for n in every)]
    )
    raise UsageError(
        f'no file and no scenario of the catalogue is called "{word}"', hint=nearest(word, words)
    )


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    if not folder.is_dir():
        return
    for item in folder.iterdir():
        if item.is_dir():
            yield from _walk(item, f"{prefix}{item.name}/")
        elif item.name.endswith(_SUFFIX):
            yield f"{prefix}{item.name.removesuffix(_SUFFIX)}", item

"""The catalogue: scenarios that ship with the package, found by name.

A scenario is called by its path without the suffix (`tomasov/window-scaling`), by its last part where that is
unambiguous (`window-scaling`), or all of a study by its folder (`tomasov`). Beside a scenario `NAME.toml` may
lie what its document published, `NAME.published.toml`, and in the folder the study's text, `study.toml`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from rushhour.errors import ScenarioError, UsageError
from rushhour.spec.document import parse_toml, read_text
from rushhour.spec.keys import nearest
from rushhour.spec.study import STUDY, load_study

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from rushhour.spec.study import Study

_SUFFIX, _PUBLISHED = ".toml", ".published.toml"


@dataclass(frozen=True, slots=True)
class ScenarioFile:
    """A scenario's file, the name under which its results are kept, and the published data beside it."""

    name: str
    file: Traversable
    published: Traversable | None = None
    text: Traversable | None = None  # of the study it belongs to

    @property
    def stem(self) -> str:
        """Last part of the name."""
        return self.name.rpartition("/")[2]

    @property
    def study(self) -> str:
        """What stands before the last part of the name: the folder of the study; empty without one."""
        return self.name.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class StudyFile:
    """A study's folder: the text about it, if there is one, and its scenarios in the chapters' order."""

    name: str
    file: Traversable | None
    scenarios: tuple[ScenarioFile, ...]

    def load(self) -> Study | None:
        """The study; None where nothing is said of it.

        Raises:
            ScenarioError: the text is malformed, or a scenario is not in exactly one chapter.
        """
        return None if self.file is None else load_study(self.file, [item.stem for item in self.scenarios])


@cache
def catalogue() -> dict[str, ScenarioFile]:
    """Give every scenario that ships, by its full name, in order."""
    return {item.name: item for study in studies().values() for item in study.scenarios}


@cache
def shipped() -> dict[str, ScenarioFile]:
    """As `catalogue`, in no order: no text of a study is read for it."""
    root = files("rushhour") / "catalog"
    return {item.name: item for study in _walk(root, "", ordered=False) for item in study.scenarios}


@cache
def studies() -> dict[str, StudyFile]:
    """Give every study that ships, by its folder's name, in order."""
    root = files("rushhour") / "catalog"
    return {study.name: study for study in _walk(root, "") if study.scenarios}


def find_in_catalogue(word: str) -> list[ScenarioFile]:
    """Give the scenarios that a word names: one by name, all of a study by its folder.

    Raises:
        UsageError: no scenario, or several of different studies, have this name.
    """
    name = word.removesuffix(_SUFFIX).strip("/")
    every = shipped()
    if name in every:
        return [every[name]]
    if any(full.startswith(f"{name}/") for full in every):
        return [item for full, item in catalogue().items() if full.startswith(f"{name}/")]
    same = [item for item in every.values() if item.stem == name]
    if len(same) == 1:
        return same
    if same:
        hint = f"say which: {', '.join(item.name for item in same)}"
        raise UsageError(f'"{word}" names {len(same)} scenarios of the catalogue', hint=hint)
    every = catalogue()
    words = dict.fromkeys(
        [*every, *(item.stem for item in every.values()), *(n.partition("/")[0] for n in every)]
    )
    near = nearest(word, words).partition("allowed: ")[0]
    raise UsageError(
        f'no file and no scenario of the catalogue is called "{word}"',
        hint=f"{near}`rushhour list` shows all; studies: {', '.join(studies())}",
    )


def study_in(folder: Traversable, name: str, *, ordered: bool = True) -> StudyFile:
    """Give the study that the files of a folder make, its scenarios called `NAME/…`.

    A scenario that no chapter names comes last; that it is missing there is said when the study is loaded.
    Without `ordered` they come by their names, and the study's text is not read.
    """
    items = {item.name: item for item in folder.iterdir() if item.name.endswith(_SUFFIX)}
    prefix, text = f"{name}/" if name else "", items.get(STUDY)
    stems = [file.removesuffix(_SUFFIX) for file in sorted(items)]
    found = [
        ScenarioFile(prefix + stem, items[stem + _SUFFIX], items.get(stem + _PUBLISHED), text)
        for stem in stems
        if stem + _SUFFIX != STUDY and not (stem + _SUFFIX).endswith(_PUBLISHED)
    ]
    order = _order(text) if ordered else []
    found.sort(key=lambda item: order.index(item.stem) if item.stem in order else len(order))
    return StudyFile(name, text, tuple(found))


def published_beside(file: Path) -> Path:
    """Where published data of a scenario's file lie, if there are any."""
    return file.parent / (file.name.removesuffix(_SUFFIX) + _PUBLISHED)


def _order(text: Traversable | None) -> list[str]:
    """The scenarios of a study's chapters; its faults are reported when the study is asked for."""
    try:
        chapters = {} if text is None else parse_toml(read_text(text), str(text), "")
    except ScenarioError:
        return []
    named = [one.get("scenarios") for one in _list(chapters.get("chapter")) if isinstance(one, dict)]
    return [name for names in named for name in _list(names) if isinstance(name, str)]


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _walk(folder: Traversable, prefix: str, *, ordered: bool = True) -> Iterator[StudyFile]:
    if not folder.is_dir():
        return
    yield study_in(folder, prefix, ordered=ordered)
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir():
            yield from _walk(item, f"{prefix}/{item.name}" if prefix else item.name, ordered=ordered)

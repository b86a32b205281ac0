"""Any program of this machine for a guest: found, with everything it loads, identified by content.

A scenario names programs as people type them, and what these start or load themselves. Each name becomes a
`Tool`: its files by the path that they have here. What is on every system is the guest's own: users, groups,
names of the nodes.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import LabError
from rushhour.files.regular import checksum
from rushhour.lab import loading, root, tools
from rushhour.lab.base import sha256
from rushhour.lab.system import SYSTEM, in_guest
from rushhour.plan.programs import FOREIGN, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rushhour.lab.tools import Tool

_LARGEST = 2**30  # bytes of one program with all it loads
_MOST_FILES = 50_000


def find(name: str) -> Tool:
    """Find what a plan names, and all it loads: a tool of the lab's own, any program, or a root.

    Raises:
        LabError: it is not there, cannot be taken, or is too large.
    """
    if name.startswith(ROOT):
        return root.find(name, Path(name.removeprefix(ROOT)))
    if not name.startswith(FOREIGN):
        return tools.find(name)
    word = name.removeprefix(FOREIGN)
    path = loading.place(word)
    return tools.remembered(name, path, lambda: _identify(name, word, path))


def here(name: str) -> Tool:
    """What one of a plan's tools names, for a lab that is this machine: all it loads is there anyway.

    Raises:
        LabError: it is not there.
    """
    if not name.startswith(FOREIGN):
        return tools.find(name)
    path = loading.place(name.removeprefix(FOREIGN))
    digest = checksum(path) if path.is_file() else sha256(str(path))
    return tools.Tool(name, "", digest, {}, {}, ())


def _too_large(word: str, path: Path, files: Iterable[Path]) -> LabError:
    return LabError(
        f"{word} with all it loads is more than 1 GiB or {_MOST_FILES} files",
        where=str(path),
        hint=f"most of it is in {_fullest(files)}; name less of it, such as single files, or an interpreter "
        "with fewer packages",
    )


def _fullest(files: Iterable[Path]) -> Path:
    """The deepest folder with more than half of what these files take."""
    held: Counter[Path] = Counter()
    for file in files:
        held.update(dict.fromkeys(file.parents, file.stat().st_size))
    whole = max(held.values())
    return max((folder for folder in held if 2 * held[folder] > whole), key=lambda folder: len(folder.parts))


def _identify(name: str, word: str, path: Path) -> Tool:
    files: dict[str, Path] = {}
    try:
        room = _LARGEST
        for file in (*loading.closure(path), *loading.locale()):
            files.setdefault(in_guest(str(file).lstrip("/")), file)
            room -= file.stat().st_size
            if len(files) > _MOST_FILES or room < 0:
                raise _too_large(word, path, files.values())
    except OSError as error:
        raise tools.unreadable(word, error, path) from error
    links = _links(files)
    for place in links:
        del files[place]
    system = [f"{place}\n{text}" for place, text in sorted(SYSTEM.items())]
    # A guest's programs are looked for where systems have them, and last in `tools`.
    if not word.startswith("/"):
        links[f"tools/{word}"] = "/" + in_guest(str(path).lstrip("/"))
    return tools.identified(name, files, links=links, beside=system)


def _links(files: Mapping[str, Path]) -> dict[str, str]:
    """Names that lead to another of these files: a program finds what lies beside it by where it is."""
    real = {place: in_guest(str(file.resolve()).lstrip("/")) for place, file in files.items()}
    return {place: f"/{there}" for place, there in real.items() if there != place and there in files}

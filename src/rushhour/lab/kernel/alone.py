"""Objects of a kernel that was built to whose code nothing in it can come.

Code is come to by a name that another object has of it, or by a table that the linker makes of sections: of
what is called at the start, of parameters, of handlers. So an object that has no such section, and no name
that any other knows, lies there for nothing.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rushhour.lab.kernel import git, objects, process, sources, store

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

_SECTION = re.compile(r"^ *\[ *\d+\] (\S+) ", re.MULTILINE)
# Sections in which code and data lie for whoever has their names, and such as are about them.
_PLAIN = re.compile(
    r"""(\.rela?)?
        (?: \. (?: text | data | rodata | bss | comment | note | eh_frame | debug_\w+ | symtab | strtab
               | shstrtab | modinfo | export_symbol | (?:init|exit)\.(?:text|data|rodata)
               | discard ) (?:[._]\S*)?
          | ___(?:ksymtab|kcrctab)\S* | __ksymtab_strings | __bug_table | __ex_table | \.group
          | \.sframe | NULL )""",
    re.VERBOSE,
)
_DEFINES = "ABCDGRST"


def alone(repository: Path, commit: str, paths: Iterable[str]) -> frozenset[str]:
    """Those of C files to which nothing in the kernel of a commit comes, but for one another; each is in it.

    Args:
        repository: Has the commit, as a source of kernels.
        commit: Built last of all in its build directory; else of none it is known.
        paths: Of C files.
    """
    found = sources.resolve(f"{repository}@{commit}", lambda _: None)
    with store.lock(found.key, lambda: None):
        place = store.cache("build", found.key)
        if not (place / objects.BUILT).is_file() or git.differing(repository, commit, found.key):
            return frozenset()
        made = {path: str(PurePosixPath(path).with_suffix(".o")) for path in paths}
        made = {path: name for path, name in made.items() if _is_plain(place, name)}
        return _unnamed(place, made) if made else frozenset()


def _is_plain(place: Path, name: str) -> bool:
    """Whether an object is there and has sections of which no table is made."""
    if not (place / name).is_file():
        return False
    said = process.answer(["readelf", "--wide", "--section-headers", name], cwd=place)
    return all(_PLAIN.fullmatch(section) for section in _SECTION.findall(said))


def _unnamed(place: Path, made: dict[str, str]) -> frozenset[str]:
    """Of the objects of files those of which no other, but one of them, has a name."""
    others = (str(one.relative_to(place)) for _, one in objects.noted(place) if one.is_file())
    asked = [*made.values(), *(name for name in others if name not in made.values())]
    names = _names(place, asked)
    alone = dict(made)
    while True:  # what one that is not alone calls is not alone
        mine = {alone[path] for path in alone}
        foreign = {
            name for one, known in names.items() if one not in mine for name, kind in known if kind in "UwWvV"
        }
        kept = {
            path: one
            for path, one in alone.items()
            if foreign.isdisjoint(name for name, kind in names.get(one, ()) if kind in _DEFINES)
        }
        if len(kept) == len(alone):
            return frozenset(kept)
        alone = kept


def _names(place: Path, asked: Collection[str]) -> dict[str, list[tuple[str, str]]]:
    """By object the names that it has for others or of others, each with nm's letter for its kind."""
    said = process.answer(["nm", "--extern-only", "--print-file-name", "--format=posix", *asked], cwd=place)
    found: dict[str, list[tuple[str, str]]] = {}
    for line in said.splitlines():
        one, _, rest = line.partition(": ")
        name, kind, *_ = rest.split(" ")
        found.setdefault(one.partition("[")[0], []).append((name, kind))
    return found

"""What a machine lacks, by the names of its own packages, and the command that installs it.

The names stand in `packages.txt`, which `scripts/packages` reads, too. Nothing is installed here.
"""

from __future__ import annotations

import os
import platform
import shutil
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

TABLE = Path(__file__).with_name("packages.txt")
RELEASES = (Path("/etc/os-release"), Path("/usr/lib/os-release"))
_NOTHING, _NONE = "-", "!"


@dataclass(frozen=True)
class System:
    """A distribution: `name` for people, its package `manager`, the `keys` by which the table knows it."""

    name: str
    manager: str | None
    keys: tuple[str, ...]

    def names(self, *needs: str) -> list[str]:
        """The packages that bring these needs, each once, in order; those it has none for are left out.

        A need that is not in the table is taken for a package of that name.
        """
        found = (name for need in needs for name in self._cell(need) if name not in {_NOTHING, _NONE})
        return list(dict.fromkeys(found))

    def lacking(self, *needs: str) -> list[str]:
        """The needs that this system has no package for."""
        return [need for need in needs if _NONE in self._cell(need)]

    def command(self, *needs: str, unasked: bool = False) -> str | None:
        """The command that installs them, without `sudo`; None where there is none to give.

        Args:
            needs: names of the table.
            unasked: it is to ask nothing, and to install nothing besides.
        """
        names = self.names(*needs)
        if not names or self.manager is None:
            return None
        table = _table()
        options = table.options.get(self.manager) if unasked else None
        return " ".join(filter(None, [table.install[self.manager], options, *names]))

    def refresh(self) -> str | None:
        """The command that goes before it, without `sudo`; None where there is no need of one."""
        return _table().refresh.get(self.manager or "")

    def _cell(self, need: str) -> list[str]:
        if self.manager is None:
            return [need]
        table = _table()
        rows = (table.excepted[key].get(need) for key in self.keys)
        cell = next(filter(None, rows), None) or table.needs.get(need, {}).get(self.manager, need)
        return [name.format(release=platform.release()) for name in cell.split(",")]


@dataclass(frozen=True)
class _Table:
    managers: Mapping[str, tuple[str, tuple[str, ...]]]
    refresh: Mapping[str, str]
    install: Mapping[str, str]
    options: Mapping[str, str]
    needs: Mapping[str, Mapping[str, str]]
    excepted: Mapping[str, Mapping[str, str]]


def here() -> System:
    """The system that this machine runs."""
    for path in RELEASES:
        try:
            return _described(path.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            continue
    return _described("")


def described(release: str, which: Callable[[str], object] = shutil.which) -> System:
    """A system by the text of its os-release; `which` says which programs are there."""
    said = dict(_variables(release))
    names = [said.get("ID", "linux"), *said.get("ID_LIKE", "").split()]
    codes = [said[key] for key in ("VERSION_CODENAME", "UBUNTU_CODENAME", "DEBIAN_CODENAME") if key in said]
    codes += [said["VERSION_ID"].partition(".")[0]] if "VERSION_ID" in said else []
    keys = [f"{name}:{code}" for name in names for code in codes] + names
    managers = _table().managers
    known = (name for key in names for name, (_, systems) in managers.items() if key in systems)
    there = (name for name, (program, _) in managers.items() if which(program))
    manager = next(known, None) or next(there, None)
    return System(said.get("PRETTY_NAME") or said.get("NAME") or "this system", manager, tuple(keys))


def command(*needs: str) -> str | None:
    """What a user of this machine types to install these needs; None where there is no such command."""
    words = here().command(*needs)
    return words and f"{_privilege(words)}{words}"


def advice(*needs: str) -> str:
    """One line that says how to get these needs here: a command, or what to look for."""
    words = command(*needs)
    lacking = here().lacking(*needs)
    if words and not lacking:
        return words
    besides = f"{here().name} has no package of {', '.join(lacking)}" if lacking else ""
    return "; ".join(filter(None, [words, besides])) or f"install {', '.join(needs)}, as this system does it"


def needs() -> list[str]:
    """Every need of the table."""
    return [*_table().needs]


def _privilege(words: str) -> str:
    if os.geteuid() == 0 or words.startswith("nix"):
        return ""
    tools = (tool for tool in ("sudo", "doas") if shutil.which(tool))
    return f"{tool} " if (tool := next(tools, None)) else "as root: "


@cache
def _described(release: str) -> System:
    return described(release)


def _variables(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, equals, value = line.strip().partition("=")
        if equals and not name.startswith("#"):
            yield name, value.strip("\"'")


@cache
def _table() -> _Table:
    rows = list(_rows(TABLE.read_text(encoding="utf-8").splitlines()))
    order = next(words for kind, *words in rows if kind == "order")
    excepted: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for key, need, cell in _of("except", rows):
        excepted[key][need] = cell
    words = {kind: {name: " ".join(cells) for name, *cells in _of(kind, rows)} for kind in _COMMANDS}
    return _Table(
        {name: (program, tuple(systems)) for name, program, *systems in _of("manager", rows)},
        words["refresh"],
        words["install"],
        words["options"],
        {need: dict(zip(order, cells, strict=True)) for need, *cells in _of("need", rows)},
        excepted,
    )


_COMMANDS = ("refresh", "install", "options")


def _of(kind: str, rows: Iterable[list[str]]) -> Iterator[list[str]]:
    return (words for first, *words in rows if first == kind)


def _rows(lines: Iterable[str]) -> Iterator[list[str]]:
    return (line.split() for line in lines if line.strip() and not line.startswith("#"))

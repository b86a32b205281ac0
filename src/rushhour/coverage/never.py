"""The list of functions that no cell of the quick suite executes, each with its reason: `never.toml`.

Takes the list and an index, gives what is wrong with the list; `document` writes both as Markdown.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import TYPE_CHECKING, Any

from rushhour.coverage import totals
from rushhour.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.coverage.index import Index

NAME = "never.toml"
_SHAPE = 'FILE = [{ functions = ["…"], reason = "…" }, …]'


@dataclass(frozen=True)
class Group:
    """Functions of one file that no cell executes for one reason."""

    functions: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Never:
    """By kernel file the groups of functions that no cell executes; a file without any is executed wholly."""

    files: Mapping[str, tuple[Group, ...]]

    @cached_property
    def functions(self) -> dict[str, list[str]]:
        """Of each file all functions of the list."""
        return {
            file: [name for group in groups for name in group.functions]
            for file, groups in self.files.items()
        }


def shipped() -> Never:
    """The list of the quick suite on the kernel of the shipped index."""
    return parse(resources.files("rushhour.coverage").joinpath(NAME).read_text(encoding="utf-8"))


def parse(text: str) -> Never:
    """Read a list.

    Raises:
        UsageError: it is no TOML, an entry has another shape, or says nothing.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as fault:
        raise UsageError(f"{NAME} is no TOML: {fault}") from fault
    return Never({file: tuple(_groups(file, entries)) for file, entries in sorted(document.items())})


def _groups(file: str, entries: Any) -> list[Group]:
    if not isinstance(entries, list):
        raise UsageError(f"{NAME}: {file} has no list of entries", hint=_SHAPE)
    found = []
    for entry in entries:
        match entry:
            case {"functions": [_, *_] as functions, "reason": str(reason), **other} if (
                reason.strip() and not other
            ):
                found.append(Group(tuple(str(name) for name in functions), reason))
            case _:
                raise UsageError(f"{NAME}: an entry of {file} is not functions and a reason", hint=_SHAPE)
    return found


def faults(listed: Never, index: Index) -> list[str]:
    """What the list says otherwise than the index, a sentence each; none where they agree."""
    found = []
    for file, names in listed.functions.items():
        if file not in index.files:
            found.append(f"{file}: is in the list and not covered")
            continue
        one = index.files[file]
        never = {function.name for function in totals.never(index, one)}
        known = {function.name for function in one.functions}
        found += [
            f"{file}: {name} is never executed, and not in the list" for name in sorted(never - {*names})
        ]
        found += [
            f"{file}: {name} is {count} times in the list"
            for name, count in Counter(names).items()
            if count > 1
        ]
        found += [
            f"{file}: {name} is in the list and {'executed' if name in known else 'no function of the file'}"
            for name in dict.fromkeys(names)
            if name not in never
        ]
    return found

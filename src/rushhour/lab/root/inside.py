"""A program in a root that is laid out: found as a guest would, refused where it could not start."""

from __future__ import annotations

import difflib
import os
import struct
from typing import TYPE_CHECKING

from rushhour.errors import LabError
from rushhour.lab.root.tree import resolve
from rushhour.quantities.words import plural

if TYPE_CHECKING:
    from pathlib import Path

PATH = ("usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin")
"""Where the agent has programs looked for (`agent/src/program/running.rs`)."""
_ELF, _SCRIPT = b"\x7fELF", b"#!"
_BITS_64, _OURS, _INTERPRETER = 2, 62, 3
_MACHINES = {3: "x86 of 32 bits", 22: "s390x", 21: "POWER", 40: "ARM", 183: "aarch64", 243: "RISC-V"}
_LONGEST = 4096
_DEEPEST = 4


def require(root: Path, word: str, name: str) -> None:
    """Refuse what a guest with this root could not start.

    Args:
        root: where it is laid out.
        word: a program's name, or its whole path in the root.
        name: what the root is called, for errors.

    Raises:
        LabError: it is not there, for another processor, or lacks its dynamic loader or interpreter.
    """
    _require(root, word, name, 0)


def _require(root: Path, word: str, name: str, depth: int) -> None:
    found = _find(root, word)
    if found is None:
        raise LabError(f'there is no program "{word}" in the root {name}', hint=_near(root, word))
    place = root / found
    if not place.stat().st_mode & 0o111:
        raise LabError(f"/{found} in the root {name} may not be executed", hint="chmod +x, and pack it again")
    with place.open("rb") as file:
        begin = file.read(_LONGEST)
        if begin.startswith(_ELF):
            _require_machine(begin, found, name)
            loader = _loader(begin)
            if loader and _find(root, loader) is None:
                raise LabError(
                    f"/{found} needs {loader}, which is not in the root {name}",
                    hint="put the package of this loader into the root, or link the program statically",
                )
        elif begin.startswith(_SCRIPT) and depth < _DEEPEST:
            words = begin[2:].partition(b"\n")[0].decode("utf-8", "replace").split()
            for one in words[:1]:
                _require(root, one, name, depth + 1)
            rest = [one for one in words[1:] if not one.startswith("-") and "=" not in one]
            if words and words[0].endswith("/env") and rest:
                _require(root, rest[0], name, depth + 1)


def _find(root: Path, word: str) -> str | None:
    """The file that a word means there, by its path from the root; None where there is none."""

    def look(path: str) -> str | None:
        place = root / path
        if place.is_symlink():
            return str(place.readlink())
        return "" if os.path.lexists(place) else None

    for name in [word] if "/" in word else [f"{folder}/{word}" for folder in PATH]:
        found = resolve(name, look)
        if found and (root / found).is_file():
            return found
    return None


def _near(root: Path, word: str) -> str:
    names = sorted({one for folder in PATH for one in _names(root / folder)})
    if not names:
        folders = [one for one in _names(root) if any(_names(root / one / folder) for folder in PATH)]
        if folders:
            return f"it holds a whole root in its folder {folders[0]}: tar -C {folders[0]} -c . > root.tar"
        return "it has no programs where systems have them; give the program's whole path"
    near = difflib.get_close_matches(word.rpartition("/")[2], names, n=3)
    return (
        f"did you mean {', '.join(near)}?"
        if near
        else f"it has {plural(len(names), 'other')}; install its package there"
    )


def _names(folder: Path) -> list[str]:
    try:
        return sorted(one.name for one in folder.iterdir())
    except OSError:
        return []


def _require_machine(begin: bytes, found: str, name: str) -> None:
    bits, machine = begin[4], int.from_bytes(begin[18:20], "little" if begin[5] == 1 else "big")
    if (bits, machine) != (_BITS_64, _OURS):
        what = _MACHINES.get(machine, "x86 of 32 bits" if machine == _OURS else f"machine {machine}")
        raise LabError(
            f"/{found} in the root {name} is for another processor: {what}, and virtual kernels are x86-64",
            hint="take the root for amd64",
        )


def _loader(begin: bytes) -> str | None:
    """The dynamic loader that a program names; None where it is static, or names it far behind."""
    start, size, count = *struct.unpack_from("<Q", begin, 32), *struct.unpack_from("<HH", begin, 54)
    for number in range(count):
        header = start + number * size
        if header + 56 > len(begin) or struct.unpack_from("<I", begin, header)[0] != _INTERPRETER:
            continue
        offset, length = (
            *struct.unpack_from("<Q", begin, header + 8),
            *struct.unpack_from("<Q", begin, header + 32),
        )
        return begin[offset : offset + length].rstrip(b"\0").decode("utf-8", "replace") or None
    return None

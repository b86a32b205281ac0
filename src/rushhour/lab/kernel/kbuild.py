"""What kbuild leaves in a build directory, by the names that its releases give it.

Beside each file that it makes lies a note of the command (`.tcp.o.cmd`): `cmd_NAME := …`, since 6.3
`savedcmd_NAME := …`. What is linked is `vmlinux`; since 6.15 `vmlinux.unstripped`, of which other commands
make `vmlinux`.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from rushhour.errors import KernelError

if TYPE_CHECKING:
    from pathlib import Path

ALL = "vmlinux.a"
"""The archive with the objects of an image, since 6.1."""
_COMMAND = re.compile(r"^(?:saved)?cmd_\S+ := (.*)$", re.MULTILINE)
_QUOTED = re.compile(r'"([^"]*)"')
_LINKED = ("vmlinux.unstripped", "vmlinux")
# The object with the table of the kernel's own symbol names, that of the last pass first.
_NAMES = (
    ".tmp_vmlinux3.kallsyms.o", ".tmp_vmlinux2.kallsyms.o",
    ".tmp_vmlinux.kallsyms3.o", ".tmp_vmlinux.kallsyms2.o",
)  # fmt: skip
_BESIDE = (".vmlinux.export.o", "init/version-timestamp.o")


def note(path: Path) -> Path:
    """Kbuild's note of a file that it made."""
    return path.with_name(f".{path.name}.cmd")


def command(path: Path) -> str:
    """The command that made a file; empty where none is noted."""
    place = note(path)
    found = _COMMAND.search(place.read_text(errors="surrogateescape")) if place.is_file() else None
    return found[1] if found else ""


def flags(place: Path) -> list[str]:
    """The flags that the linker gets for every image of an architecture.

    Raises:
        KernelError: the directory does not tell.
    """
    for name in _LINKED:
        words = _QUOTED.findall(command(place / name))  # linker, flags, flags of the image, name of the image
        if words[1:]:
            return str(words[1]).split()
    raise _unknown(place, "how the image is linked")


def names(place: Path) -> str:
    """The object with the kernel's own symbol names.

    Raises:
        KernelError: there is none.
    """
    found = next((name for name in _NAMES if (place / name).is_file()), None)
    if found is None:
        raise _unknown(place, "the table of symbol names")
    return found


def beside(place: Path) -> list[str]:
    """The objects that are linked whole behind those of the archive."""
    return [name for name in _BESIDE if (place / name).is_file()]


def finishing(place: Path, linked: Path, made: Path) -> list[list[str]]:
    """Commands that make the image of what was linked; none where that is the image.

    Args:
        place: The build directory.
        linked: Stands for what the linker wrote there.
        made: Stands for the image.
    """
    if not note(place / _LINKED[0]).is_file():
        return []
    stands = {_LINKED[0]: str(linked), _LINKED[1]: str(made)}
    lines = command(place / _LINKED[1]).split(";")
    return [[stands.get(word, word) for word in shlex.split(line)] for line in lines]


def _unknown(place: Path, what: str) -> KernelError:
    return KernelError(f"this build directory does not tell {what}", where=str(place))

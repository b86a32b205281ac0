"""What an image is linked of: its objects in the linker's order, each with a hash, kept beside the image.

Two kernels with equal lists run the same instructions. One object is left out when they are compared: an
image of User-Mode Linux holds the text of its configuration (for `--showconfig`), also of options that are
off. It moves what lies behind it, and nothing reads it.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from rushhour.lab.kernel import host, kbuild, process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rushhour.lab.kernel.store import Kernel

OBJECTS = "objects"
"""The list's name in the store."""
_TEXT = "arch/um/kernel/config.o"
# How objects become an image: what these say, and the options that they name.
_LINKING = (
    "Makefile", "arch/um/Makefile*", "arch/um/scripts/*", "arch/x86/Makefile.um", "scripts/link-*",
    "scripts/Makefile*", "scripts/Kbuild*", "scripts/kallsyms.c", "scripts/sorttable.*", "scripts/*.txt",
)  # fmt: skip
_OPTION = re.compile(r"CONFIG_\w+")
_HOW = "how it is linked"


def kept(tree: Path, place: Path) -> dict[str, Path]:
    """The list of a build directory in which make came to its end; empty where it is not known."""
    names = [*_members(place)] if (place / kbuild.ALL).is_file() else []
    lines = [f"{_how(tree, place)} {_HOW}"] if names else []
    lines += [f"{hashlib.sha256((place / name).read_bytes()).hexdigest()} {name}" for name in names]
    (place / "lab.objects").write_text("".join(f"{line}\n" for line in lines))
    return {OBJECTS: place / "lab.objects"}


def has_list(kernel: Kernel) -> bool:
    """Whether a kernel was built since there are such lists."""
    return (kernel.folder / OBJECTS).is_file()


def differing(one: Kernel, other: Kernel) -> tuple[str, ...] | None:
    """The objects in which two kernels differ; None if that is not known, or they are linked otherwise."""
    lists = [_read(kernel) for kernel in (one, other)]
    if not all(lists) or lists[0].get(_HOW) != lists[1].get(_HOW):
        return None
    before, after = lists
    if [name for name in before if name in after] != [name for name in after if name in before]:
        return None  # what is called at the start is called in this order
    names = dict.fromkeys((*before, *after))
    return tuple(name for name in names if name != _TEXT and before.get(name) != after.get(name))


def _read(kernel: Kernel) -> dict[str, str]:
    place = kernel.folder / OBJECTS
    lines = place.read_text().splitlines() if place.is_file() else []
    return {name: digest for digest, _, name in (line.partition(" ") for line in lines)}


def _members(place: Path) -> Iterator[str]:
    """The objects of the image, in order, then those of libraries, of which it takes what it needs."""
    libraries = sorted(str(one.relative_to(place)) for one in place.rglob("lib.a"))
    for archive in (kbuild.ALL, *libraries):
        yield from process.answer(["ar", "t", archive], cwd=place).splitlines()
    if (place / "init/version-timestamp.o").is_file():
        yield "init/version-timestamp.o"


def _how(tree: Path, place: Path) -> str:
    files = sorted(path for pattern in _LINKING for path in tree.glob(pattern) if path.is_file())
    texts = [path.read_text(errors="surrogateescape") for path in files]
    named = {option for text in texts for option in _OPTION.findall(text)}
    settings = (place / ".config").read_text().splitlines()
    texts += [line for line in settings if line.partition("=")[0] in named]
    texts += [path.read_text(errors="surrogateescape") for path in sorted(place.glob("arch/um/kernel/*.lds"))]
    whole = "\0".join([*texts, host.sha256()])
    return hashlib.sha256(whole.encode(errors="surrogateescape")).hexdigest()

"""What stands between a laboratory kernel and its host: a few functions, linked into every image.

User-Mode Linux's own makefile links with `--wrap` (for `malloc`), and what it wraps can be given on make's
command line. So the calls in which a kernel meets its host go through the functions of this folder, and the
kernel's source stays as it is. Each file says what it holds back and why.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from rushhour.errors import BuildError
from rushhour.files.regular import checksum
from rushhour.lab.kernel import process

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FILES = ("calls.c", "clock.c", "mappings.c", "memory.c", "randomness.c", "registers.c", "tracing.c")
_OBJECT = "host.o"
# What is made of the link, each of the one before it; kernels from 6.15 on link the first.
IMAGES = ("vmlinux.unstripped", "vmlinux", "linux")
# As the kernel compiles its own; and nothing of the vector registers, which are the guest's.
FLAGS = ("-O2", "-fno-pie", "-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-mno-red-zone")
STRICT = ("-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-mgeneral-regs-only")
_WRAPPED = re.compile(r"^[\w ]+\W__wrap_(\w+)\(", re.MULTILINE)
_OWN = re.compile(r"^LINK_WRAPS *:?= *(.*)$", re.MULTILINE)


@cache
def source(name: str) -> str:
    """The text of one of `FILES`."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def sha256() -> str:
    """Hash of all that is linked into an image beside the kernel."""
    text = "".join(f"{name}\n{source(name)}" for name in FILES)
    return hashlib.sha256(f"{text}{FLAGS}".encode()).hexdigest()


def wrapped() -> list[str]:
    """The functions of the kernel and of the C library that go through ours."""
    return sorted({name for file in FILES for name in _WRAPPED.findall(source(file))})


def build(tree: Path, place: Path, log: Path, beside: Sequence[str] = ()) -> str:
    """Compile ours in the build directory; gives what make has to be told as `LINK_WRAPS`.

    An image that was linked with others is removed, so that make links again. `beside` are further objects,
    by their names in the build directory.

    Raises:
        BuildError: the compiler refuses, or the tree's makefile is not User-Mode Linux's.
    """
    own = _OWN.search((tree / "arch/um/Makefile").read_text(errors="replace"))
    if own is None:
        raise BuildError(
            "this kernel's arch/um/Makefile has no LINK_WRAPS",
            where=str(tree),
            hint="kernels from 5.10 on work",
        )
    folder, stamp = place / "host", place / "host.sha256"
    folder.mkdir(exist_ok=True)
    linked = " ".join([sha256(), *(checksum(place / name) for name in beside)])
    if not stamp.exists() or stamp.read_text() != linked or not (place / _OBJECT).exists():
        for name in FILES:
            (folder / name).write_text(source(name), encoding="utf-8")
            _compile(name, folder, log)
        parts = [f"host/{name.removesuffix('.c')}.o" for name in FILES]
        process.run(["ld", "-r", "-o", _OBJECT, *parts], what="link", cwd=place, log=log)
        for image in IMAGES:
            (place / image).unlink(missing_ok=True)
        stamp.write_text(linked)
    return " ".join([own[1].strip(), *(f"-Wl,--wrap,{name}" for name in wrapped()), _OBJECT, *beside])


def _compile(name: str, folder: Path, log: Path) -> None:
    process.run(["gcc", *FLAGS, *STRICT, "-c", name], what="compile", cwd=folder, log=log)

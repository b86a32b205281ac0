"""From what make linked to what is kept: the image without its symbols, and the symbols by themselves."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from rushhour.lab.kernel import process

if TYPE_CHECKING:
    from pathlib import Path

IMAGE, SYMBOLS = "linux", "linux.debug"
_ELF = b"\x7fELF"
# A note with the linker's number of what it linked (NT_GNU_BUILD_ID, SHA-1): one of the image, one
# of the vDSO in it. It counts symbols, too, so that with them it would be another one.
_NUMBER = struct.Struct("<III4s")
_NUMBERED = _NUMBER.pack(4, 20, 3, b"GNU\0")

HOW = "stripped/2"
"""Counts up with every change of what is done to an image after it was linked."""


def unnumbered(image: bytes) -> bytes:
    """An image with zeros for the linker's numbers: with symbols and without it is the same."""
    head, *rest = image.split(_NUMBERED)
    return head + b"".join(_NUMBERED + bytes(20) + part[20:] for part in rest)


def stripped(place: Path, log: Path, *, symbols: bool = True) -> dict[str, Path]:
    """The image as it is kept, and symbols for a debugger where wanted, made of `linux` in a build directory.

    What make linked stays as it is, for its next run.

    Returns:
        Files by the name that they have in the store.

    Raises:
        KernelError: binutils failed, with their words.
    """
    whole, image, debug = place / "linux", place / "lab.linux", place / "lab.debug"
    with whole.open("rb") as file:
        if file.read(len(_ELF)) != _ELF:
            return {IMAGE: whole}
    apart = ["objcopy", "--only-keep-debug", "--compress-debug-sections", str(whole), str(debug)]
    for command in ([apart] if symbols else []) + [["strip", "--strip-all", "-o", str(image), str(whole)]]:
        process.run(command, what="strip", log=log)
    image.write_bytes(unnumbered(image.read_bytes()))
    return {IMAGE: image, **({SYMBOLS: debug} if symbols else {})}

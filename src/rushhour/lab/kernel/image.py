"""From what make linked to what is kept: the image without its symbols, and the symbols by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.lab.kernel import process

if TYPE_CHECKING:
    from pathlib import Path

IMAGE, SYMBOLS = "linux", "linux.debug"
_ELF = b"\x7fELF"

HOW = "stripped/1"
"""Counts up with every change of what is done to an image after it was linked."""


def stripped(place: Path, log: Path) -> dict[str, Path]:
    """The image as it is kept, and its symbols for a debugger, made of `linux` in a build directory.

    What make linked stays as it is, for its next run.

    Returns:
        Files by the name that they have in the store.

    Raises:
        KernelError: binutils failed, with their words.
    """
    whole, image, symbols = place / "linux", place / "lab.linux", place / "lab.debug"
    with whole.open("rb") as file:
        if file.read(len(_ELF)) != _ELF:
            return {IMAGE: whole}
    for command in (
        ["objcopy", "--only-keep-debug", str(whole), str(symbols)],
        ["strip", "--strip-all", "-o", str(image), str(whole)],
    ):
        process.run(command, what="strip", log=log)
    return {IMAGE: image, SYMBOLS: symbols}

"""Kernels that differ in a few bytes: a built image is edited, so that a fault costs no build."""

from __future__ import annotations

import hashlib
import struct
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.lab import kernel as kernels

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.lab.kernel import Kernel


def edited(name: str, folder: Path, edits: dict[int, tuple[bytes, bytes]]) -> Kernel:
    """The default kernel with other bytes at places of its image; what was there is checked."""
    base = kernels.find("debian-6.12")
    image = bytearray(base.image.read_bytes())
    for place, (before, after) in edits.items():
        assert image[place : place + len(before)] == before, "the image has something else there"
        image[place : place + len(after)] = after
    folder.mkdir()
    path = folder / "linux"
    path.write_bytes(image)
    path.chmod(0o755)
    digest = hashlib.sha256(image).hexdigest()
    return replace(
        base, name=name, image=path, identity={**base.identity, "name": name, "image_sha256": digest}
    )


def symbols(*names: str) -> dict[str, list[int]]:
    """Where in the file of the default kernel's image these symbols stand, which are kept beside it."""
    image = kernels.find("debian-6.12").image
    beside = str(image.with_name("linux.debug"))
    listed = subprocess.run(["nm", beside], capture_output=True, text=True, check=True).stdout.split("\n")
    found: dict[str, list[int]] = {name: [] for name in names}
    for line in listed:
        address, _, name = line.rpartition(" ")
        if name in found and address[:1].isalnum():
            found[name].append(_offset(image.read_bytes(), int(address.split()[0], 16)))
    return found


def _offset(image: bytes, address: int) -> int:
    """From an address to a place in the file, by the segments of the ELF header."""
    start, size, count = (
        struct.unpack_from("<Q", image, 32)[0],
        *struct.unpack_from("<HH", image, 54),
    )
    for number in range(count):
        kind, _, offset, begin, _, length = struct.unpack_from("<IIQQQQ", image, start + number * size)
        if kind == 1 and begin <= address < begin + length:
            return int(offset + address - begin)
    raise AssertionError(f"no segment holds {address:x}")

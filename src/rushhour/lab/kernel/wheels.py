"""Kernels that came as Python packages: found by the entry points that these declare, read where they lie.

A package declares `rushhour.kernels` with the name of a module whose folder holds one folder for each kernel,
laid out as in the store. Nothing of it is run or written to.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

GROUP = "rushhour.kernels"


@dataclass(frozen=True)
class Package:
    """An installed package, as pip knows it."""

    name: str
    version: str

    def __str__(self) -> str:
        """Name and version."""
        return f"{self.name} {self.version}"


def folders() -> Iterator[tuple[Package, Path]]:
    """The folders of kernels in installed packages, in no order."""
    for entry in entry_points(group=GROUP):
        module = find_spec(entry.value)  # of a top module it finds the place and runs nothing
        if module is None or not module.submodule_search_locations or entry.dist is None:
            continue
        package = Package(entry.dist.name, entry.dist.version)
        for place in module.submodule_search_locations:
            yield from ((package, path.parent) for path in Path(place).glob("[!.]*/identity.json"))

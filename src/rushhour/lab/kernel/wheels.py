"""Kernels that came as Python packages: found by the entry points that these declare, read where they lie.

A package declares `rushhour.kernels` with the name of a module whose folder holds one folder for each kernel,
laid out as in the store. Nothing of it is run or written to.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import entry_points
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
        if entry.dist is not None:
            package = Package(entry.dist.name, entry.dist.version)
            # Where its files lie, not where an import would look: nothing is imported.
            module = Path(str(entry.dist.locate_file(entry.value)))
            yield from ((package, path.parent) for path in module.glob("[!.]*/identity.json"))

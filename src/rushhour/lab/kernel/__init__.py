"""Kernels under test: built once from any source tree, kept by content, found by name.

kernel = build("debian:6.12")
kernel = find("debian-6.12")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from rushhour.lab.kernel.step import Step
from rushhour.lab.kernel.store import (
    Kernel,
    building,
    clear,
    default,
    elsewhere,
    find,
    installed,
    remove,
    taken_apart,
    trees,
)

if TYPE_CHECKING:
    from rushhour.lab.kernel.as_repository import repository
    from rushhour.lab.kernel.builder import build

__all__ = [
    "Kernel",
    "Step",
    "build",
    "building",
    "clear",
    "default",
    "elsewhere",
    "find",
    "installed",
    "remove",
    "repository",
    "taken_apart",
    "trees",
]

# Imported when first asked for: to run a kernel takes no archives, no git and no TLS.
_BUILDERS = {"build": "builder", "repository": "as_repository"}


def __getattr__(name: str) -> object:
    if name not in _BUILDERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_BUILDERS[name]}"), name)

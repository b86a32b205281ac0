"""Kernels under test: built once from any source tree, kept by content, found by name.

kernel = build("debian:6.12")
kernel = find("debian-6.12")
"""

from rushhour.lab.kernel.build import build
from rushhour.lab.kernel.repository import repository
from rushhour.lab.kernel.step import Step
from rushhour.lab.kernel.store import Kernel, clear, default, find, installed, remove, trees

__all__ = [
    "Kernel",
    "Step",
    "build",
    "clear",
    "default",
    "find",
    "installed",
    "remove",
    "repository",
    "trees",
]

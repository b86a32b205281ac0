"""How the workers of pytest-xdist share the tests: by file, slow files first.

A worker that has all tests of a file makes once what they share. Tests that see what others do on this
machine (the ring `host`) are all of one worker, but for files that bear what others do. Files that start
kernels, browsers, servers or programs come before those that only compute: so at the end no worker has a long
file left when the others are done. Among equals folders are mixed: the files of one all wait, or all work.

The marker `xdist_group` does not do it: pytest-xdist 3.8 writes it into the names of tests, which pytest 9.2
does not let it, and then each test goes to any worker without a word.
"""

from __future__ import annotations

import ast
from functools import cache
from typing import TYPE_CHECKING
from zlib import crc32

import pytest
from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    from pathlib import Path

    from xdist.remote import Producer

HOST = "host"
ALONE = "mark.alone"
BEARS_OTHERS = "mark.alone(beside=True)"
_SLOW = ("mark.virtual", "mark.browser", "mark.database", "mark.index")
_PROGRAMS = ("import subprocess", "from commandline", "from core", "from shells", "from made_up")


@cache
def of_host(file: Path) -> frozenset[str] | None:
    """The tests of a file that are of the ring `host`; None: all of them."""
    marked = set()
    for node in ast.parse(file.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            if f"mark.{HOST}" in ast.unparse(node.value):
                return None
        elif isinstance(node, ast.FunctionDef) and any(
            ast.unparse(one) == f"pytest.mark.{HOST}" for one in node.decorator_list
        ):
            marked.add(node.name)
    return frozenset(marked)


@cache
def bears_others(file: Path) -> bool:
    """Whether others that run alone may run beside the tests of a file."""
    return BEARS_OTHERS in file.read_text("utf-8")


def unit(nodeid: str, root: Path) -> str:
    """What a worker takes as a whole: the tests of a file, or those of the ring `host`."""
    file, _, test = nodeid.partition("::")
    if bears_others(root / file):
        return file
    names = of_host(root / file)
    return HOST if names is None or test.partition("[")[0] in names else file


@cache
def rank(unit: str, root: Path) -> int:
    """Which units come first: the lowest."""
    if unit == HOST:
        return 0
    text = (root / unit).read_text("utf-8")
    return next((at for at, words in ((1, _SLOW), (2, _PROGRAMS)) if any(word in text for word in words)), 3)


def order(unit: str, root: Path) -> tuple[int, int]:
    """Where a unit stands: by its rank, then as chance would have it, but always there."""
    return rank(unit, root), crc32(unit.encode())


class ByFile(LoadScopeScheduling):  # type: ignore[misc]  # pytest-xdist has no types
    """A worker gets one unit after the other; they are in the order of the tests."""

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid, self.config.rootpath)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByFile:
    config.option.loadscopereorder = False
    return ByFile(config, log)


@cache
def names_alone(file: Path) -> bool:
    """Whether a file has tests that run alone."""
    return ALONE in file.read_text("utf-8")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`-m alone` imports only the files that have such tests: the others take most of its time."""
    other = collection_path.suffix == ".py" and not names_alone(collection_path)
    return True if config.option.markexpr == "alone" and other else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a worker, so in the same way in all of them: the order of the units."""
    for item in items:
        # Else no run would have it: neither the one with `-m alone` nor the one without.
        if item.get_closest_marker("alone") and not names_alone(item.path):
            raise pytest.UsageError(f"{item.nodeid} is marked alone, which its file does not name: {ALONE}")
    if hasattr(config, "workerinput"):
        root = config.rootpath
        items.sort(key=lambda item: order(unit(item.nodeid, root), root))

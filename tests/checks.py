"""Checks of a little tree, in a laboratory that measures what the kernel was built with."""

from pathlib import Path
from typing import Any

import pytest
from fakes import SCENARIO, FakeLab
from little_tree import commit, git, make_tree

from rushhour.check import Options, check
from rushhour.lab import kernel as kernels

BODY = "static int speed(void)\n{{\n\treturn {};\n}}\n"


def linux(folder: Path) -> Path:
    """A repository of one commit."""
    made = make_tree(folder / "linux")
    (made / "net/ipv4").mkdir(parents=True)
    (made / "net/ipv4/tcp.c").write_text("int tcp;\n")
    git(made, "init", "-q", "-b", "main")
    commit(made, "first", one__c=BODY.format(90))
    return made


def elsewhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository, checked from another folder with the scenario in it, with a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    (folder / "work").mkdir()
    monkeypatch.chdir(folder / "work")
    Path("fake.toml").write_text(SCENARIO)
    return linux(folder)


def speed_of(kernel: str) -> int:
    """The value that a kernel was built with."""
    image = next(one for one in kernels.installed() if one.name == kernel)
    return int(image.image.read_text().split("return ")[1].split(";")[0])


def measured(slow: set[str]) -> FakeLab:
    """Goodput by the value that the kernel was built with."""

    def behaviour(kernel: str, cc: str, _seed: int) -> float:
        return float(speed_of(kernel) if cc in slow else 90)

    return FakeLab(behaviour)


def judged(
    tree: Path, base: str | None = None, lab: FakeLab | None = None, **options: object
) -> dict[str, Any]:
    given = Options(**{"scenarios": ("fake.toml",), "whole": True, "jobs": 1, **options})  # type: ignore[arg-type]
    return check(tree, base, options=given, lab=lab or measured({"bbr", "cubic"}))

"""What a Python function needs to be called elsewhere: asked of the Python that is to call it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import LabError
from rushhour.plain import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

_INSTALLED = ("site-packages", "dist-packages")
_PATIENCE_S = 120
# Files of a package that is not installed which are no modules: of more, those that are named come along.
_MOST_DATA = 500


@dataclass(frozen=True)
class Module:
    """A module that is not installed: its file, whether it is a package, its source."""

    file: str
    package: bool
    source: str


@dataclass(frozen=True)
class Needed:
    """What a call needs: modules by name, others of their packages, whole paths of files and folders."""

    own: Mapping[str, Module]
    beside: Mapping[str, Module]
    paths: tuple[str, ...]


def interpreter() -> str:
    """This Python itself, not that of a virtual environment, whose modules would all come along."""
    return str(Path(getattr(sys, "_base_executable", None) or sys.executable).resolve())


def needed(script: Path, bundle: str, mark: str) -> Needed:
    """What the call in a bundle needs, found by this Python in a process of its own.

    Args:
        script: Is given the word `look` and the bundle, and says which modules are loaded.
        bundle: The call, as the script reads it.
        mark: Begins the line with the answer; modules may print, too.

    Raises:
        LabError: a module cannot be imported in a new process.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-B", script, "look"], input=bundle, capture_output=True, text=True,
            timeout=_PATIENCE_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise LabError(f"this Python does not say which modules a call needs: {error}") from error
    line = next((line for line in done.stdout.splitlines() if line.startswith(mark)), None)
    if done.returncode or line is None:
        said = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()
        raise LabError(
            f"in a new process of this Python the call's modules cannot be imported: {one_line(said[-1])}",
            hint="\n".join(said[-12:]),
        )
    told = json.loads(line.removeprefix(mark))
    return _sorted_out(told["modules"], told["about"])


def _sorted_out(modules: Mapping[str, tuple[str, bool]], about: list[str]) -> Needed:
    own: dict[str, Module] = {}
    installed = dict.fromkeys(about)
    for name, (file, package) in sorted(modules.items()):
        place = Path(file)
        top = _top_installed(place)
        if top is not None:
            installed[str(top)] = None
        elif _standard(place):
            continue
        elif place.suffix != ".py":
            installed[file] = None
        elif name not in own:
            own[name] = Module(file, package, _source(place))
    beside, data = _beside(own)
    return Needed(own, beside, tuple(sorted([*installed, *data])))


def _beside(own: Mapping[str, Module]) -> tuple[dict[str, Module], list[str]]:
    """The other modules of own packages, which a function may import when it is called, and their data."""
    found: dict[str, Module] = {}
    data: list[str] = []
    for name, package in own.items():
        outer = name.rpartition(".")[0]
        if not package.package or outer in own:
            continue
        folder = Path(package.file).parent
        files = [
            file
            for file in sorted(folder.rglob("*"))
            if _visible(file.relative_to(folder)) and file.is_file()
        ]
        others = [str(file) for file in files if file.suffix != ".py"]
        data += others if len(others) <= _MOST_DATA else []
        for file in files:
            place = file.relative_to(folder).with_suffix("")
            if file.suffix != ".py" or not all(part.isidentifier() for part in place.parts):
                continue
            is_package = place.name == "__init__"
            full = ".".join((name, *(place.parts[:-1] if is_package else place.parts)))
            if full not in own:
                found[full] = Module(str(file), is_package, _source(file))
    return found, data


def _visible(place: Path) -> bool:
    return not any(part.startswith(".") or part == "__pycache__" for part in place.parts)


def _source(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(f"a module cannot be read: {error}", where=str(file)) from error


def _top_installed(file: Path) -> Path | None:
    """What of an installed package lies directly in the folder of packages."""
    for place in _INSTALLED:
        if place in file.parts:
            return Path(*file.parts[: file.parts.index(place) + 2])
    return None


def _standard(file: Path) -> bool:
    folders = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    real = os.path.realpath(file)
    return any(real.startswith(os.path.realpath(folder) + os.sep) for folder in folders)

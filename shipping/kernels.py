"""A built kernel as a Python package: a wheel with the image and all that says what it is.

The bytes of the wheel follow from the kernel: dates, owners, modes and order are fixed, and the log of the
build names no place and is sorted, for parallel jobs end in any order.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from rushhour.errors import KernelError
from rushhour.lab.kernel.training import profile
from rushhour.lab.kernel.wheels import GROUP
from shipping.build import build
from shipping.texts import source_text

if TYPE_CHECKING:
    from rushhour.lab.kernel import Kernel

REVISION = 0
"""Counts up where packages change and the kernel's release does not; 0 again with the next release."""

# What a source tree says of its licences, and of that of the C library that is linked in.
LICENCES = (
    "COPYING",
    "LICENSES/preferred/GPL-2.0",
    "LICENSES/preferred/LGPL-2.1",
    "LICENSES/exceptions/Linux-syscall-note",
)
_PROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "rushhour-kernel-{series}"
version = "{version}"
description = "Linux {release} as a laboratory kernel for Rush Hour"
readme = "README.md"
license = "GPL-2.0-only AND LGPL-2.1-or-later"
license-files = [{licences}]
requires-python = ">=3.11"
{authors}
[project.entry-points."{group}"]
"{series}" = "{module}"

[tool.hatch.build.targets.wheel]
packages = ["{module}"]

[tool.hatch.build.targets.wheel.hooks.custom]
path = "hatch_build.py"
"""
_HOOK = """\
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class TagHook(BuildHookInterface):
    def initialize(self, version, build_data):
        # The image is static: it asks nothing of the C library.
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64"
"""
# What is kept of a build's facts: not when it was, nor how long it took.
_ORIGIN = ("source", "inputs", "objects", "from_nothing", "aside")
_PLACES = re.compile(r"/[^\s'\":]*?/(sources|build)/[\w.+-]+")
_MOVED = re.compile(r"make(\[\d+\])?: (Entering|Leaving) directory ")
_OWN = (".config", ".Kconfig", ".c", ".h", ".S")


def series(kernel: Kernel) -> str:
    """The series that a kernel's package is called after: `6.12`."""
    return ".".join(kernel.release.split(".")[:2])


def version(release: str) -> str:
    """The version of the package of a kernel's release.

    Raises:
        KernelError: the release is none that a package can have.
    """
    try:
        found = Version(release).public
    except InvalidVersion as fault:
        raise KernelError(f"{release} cannot be the version of a package") from fault
    return f"{found}.post{REVISION}" if REVISION else found


def pack(kernel: Kernel, tree: Path, out: Path, contact: str = "") -> Path:
    """Make the wheel of a kernel.

    Args:
        kernel: The kernel.
        tree: Its source, for the licences.
        out: Folder of the wheel.
        contact: Who gives out the source: `NAME <ADDRESS>`.

    Raises:
        KernelError: its release cannot be a version.
        RushHourError: the wheel could not be built.
    """
    with tempfile.TemporaryDirectory(prefix="rushhour-wheel-") as room:
        project, module = Path(room), f"rushhour_kernel_{series(kernel).replace('.', '_')}"
        (project / "pyproject.toml").write_text(_project(kernel, module, contact), encoding="utf-8")
        (project / "hatch_build.py").write_text(_HOOK, encoding="utf-8")
        (project / "README.md").write_text(source_text(kernel, contact), encoding="utf-8")
        for name in LICENCES:
            shutil.copyfile(tree / name, project / Path(name).name)
        _contents(project / module, kernel, source_text(kernel, contact))
        return build(project, out)


def _project(kernel: Kernel, module: str, contact: str) -> str:
    name, _, address = contact.rstrip("> ").partition("<")
    author = f"name = {json.dumps(name.strip() or address)}" + f", email = {json.dumps(address)}" * bool(
        address
    )
    return _PROJECT.format(
        series=series(kernel),
        version=version(kernel.release),
        release=kernel.release,
        module=module,
        group=GROUP,
        licences=", ".join(json.dumps(Path(name).name) for name in LICENCES),
        authors=f"authors = [{{ {author} }}]\n" if contact else "",
    )


def _contents(folder: Path, kernel: Kernel, text: str) -> None:
    inner = folder / kernel.folder.name
    inner.mkdir(parents=True)
    (folder / "__init__.py").write_text(f'"""Linux {kernel.release} for Rush Hour: data only."""\n')
    (folder / "SOURCE.md").write_text(text, encoding="utf-8")
    kept = (profile.FILE,) if (kernel.folder / profile.FILE).is_file() else ()
    for name in ("linux", "config", "identity.json", *kept):
        shutil.copyfile(kernel.folder / name, inner / name)
    (inner / "linux").chmod(0o755)
    origin = kernel.origin()
    facts = {key: origin[key] for key in _ORIGIN if key in origin}
    (inner / "origin.json").write_text(json.dumps(facts, indent=1) + "\n")
    (inner / "build.log").write_text(_told((kernel.folder / "build.log").read_text(errors="replace")))
    (folder / "source").mkdir()
    for entry in resources.files("rushhour.lab.kernel").iterdir():
        if entry.name.endswith(_OWN):
            (folder / "source" / entry.name).write_bytes(entry.read_bytes())


def _told(log: str) -> str:
    lines = [_PLACES.sub(lambda found: found[1].upper(), line) for line in log.splitlines()]
    return "\n".join(sorted(line for line in lines if not _MOVED.match(line))) + "\n"

"""From a source to a kernel in the store.

The kernel is compiled out of tree, in a build directory that is kept for each tree, so that the next build
of a changed tree compiles only what changed. The image is a pure function of source, configuration and
compiler: stamps are fixed and no path enters it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rushhour.errors import KernelError
from rushhour.lab.kernel import config, process, sources, store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Progress = Callable[["Step"], None]

# Objects of a whole build of 6.12; the denominator of a first build's progress.
OBJECTS = 1450
# What would differ from build to build. LOCALVERSION, empty but set, keeps a "+" out of a git tree's release.
_STAMPS = {
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 2026",
    "KBUILD_BUILD_USER": "rushhour",
    "KBUILD_BUILD_HOST": "lab",
    "KBUILD_BUILD_VERSION": "1",
    "LOCALVERSION": "",
    "SOURCE_DATE_EPOCH": "1767225600",
}
# A person's own settings that would leak into a build.
_UNWANTED = ("KCFLAGS", "KCPPFLAGS", "CFLAGS", "LDFLAGS", "MAKEFLAGS", "CROSS_COMPILE", "V", "KBUILD_OUTPUT")
_OBJECT = re.compile(r"^  (?:CC|AS|LD|AR|HOSTCC|GEN|UPD)\b")


@dataclass(frozen=True)
class Step:
    """A message of a build: what is being done, objects made, about how many there will be."""

    text: str
    done: int = 0
    total: int | None = None


def build(source: str, name: str | None = None, progress: Progress | None = None) -> store.Kernel:
    """Build a kernel and put it into the store; nothing is done if the same is there already.

    Args:
        source: what `sources.resolve` understands.
        name: how to call it; default: after the source.
        progress: told every step.

    Raises:
        KernelError: a tool is missing, the source is not there or does not compile, with what to do.
    """
    tell = progress or (lambda _: None)
    if name and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", name):
        raise KernelError(f"{name!r} cannot name a kernel", hint="letters, digits and . _ + - only")
    _require_tools()
    tell(Step(f"looking at {source}"))
    found = sources.resolve(source, lambda text: tell(Step(text)))
    name = name or found.name
    inputs = _inputs(found)
    with store.lock(found.key, lambda: tell(Step("waiting: another process builds this tree"))) as held:
        same = next((kernel for kernel in store.installed() if kernel.origin().get("inputs") == inputs), None)
        if same:
            tell(Step(f"unchanged: {same.release} is built already"))
            return _again(same, name, found)
        return _make(found, name, inputs, held, tell)


def _require_tools() -> None:
    packages = process.missing_tools()
    if packages:
        raise KernelError(
            "tools to build a kernel are missing", hint=f"try: sudo apt-get install {' '.join(packages)}"
        )


def _inputs(found: sources.Source) -> str:
    """Hash of all that decides the image, known before anything is built."""
    return hashlib.sha256(
        f"{found.sha256} {config.fragment_sha256()} {compiler()} {_STAMPS}".encode()
    ).hexdigest()


def compiler() -> str:
    """The compiler, the linker and the C library that go into an image."""
    versions = [process.answer([tool, "--version"]).splitlines()[0] for tool in ("gcc", "ld")]
    return ", ".join([*versions, os.confstr("CS_GNU_LIBC_VERSION") or "unknown C library"])


def _again(same: store.Kernel, name: str, found: sources.Source) -> store.Kernel:
    """The same kernel, under a name that may be another."""
    identity = {**same.identity, "name": name}
    origin = {**same.origin(), "source": found.spec}
    files = {path.name: path for path in same.folder.iterdir() if path.suffix != ".json"}
    return store.save(name, identity, _key(identity), origin, files)


def _make(found: sources.Source, name: str, inputs: str, held: int, tell: Progress) -> store.Kernel:
    started = time.monotonic()
    if found.archive and not store.cache("sources", found.key).is_dir():
        tell(Step(f"unpacking {found.archive.name}"))
    tree = found.directory()
    place = store.cache("build", found.key, ".config").parent
    log = place / "build.log"
    log.write_text(f"{found.spec}\n")
    tell(Step("configuring"))
    make = _Make(tree, place, log, held)
    settings = make.configure()
    lacking = config.check(settings, found.spec)
    made = make.compile(tell)
    release = (place / "include/config/kernel.release").read_text().strip()
    identity: dict[str, Any] = {
        "name": name,
        "release": release,
        "source": found.facts,
        "source_sha256": found.sha256,
        "config_sha256": hashlib.sha256(settings.encode()).hexdigest(),
        "compiler": compiler(),
        "image_sha256": sources.hash_file(place / "linux"),
        "hz": config.HZ,
        "missing": lacking,
    }
    seconds = round(time.monotonic() - started, 1)
    origin = {"source": found.spec, "inputs": inputs, "key": found.key, "seconds": seconds, "objects": made}
    files = {"linux": place / "linux", "config": place / ".config", "build.log": log}
    return store.save(name, identity, _key(identity), origin, files)


def _key(identity: dict[str, Any]) -> str:
    """Hash of what makes a kernel this kernel; its name and its origin do not."""
    parts = {
        key: identity[key]
        for key in ("release", "source_sha256", "config_sha256", "compiler", "image_sha256")
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class _Make:
    """The kernel's make, out of tree, in one build directory."""

    def __init__(self, tree: Path, place: Path, log: Path, held: int) -> None:
        self.tree, self.place, self.log, self.held = tree, place, log, held
        (place / "lab.Kconfig").write_text(config.overlay(tree))
        (place / "lab.config").write_text(config.fragment())

    def _run(self, target: str, what: str, on_line: Callable[[str], None] | None = None) -> None:
        command = ["make", "-C", str(self.tree), f"O={self.place}", "ARCH=um", f"-j{os.cpu_count()}", target]
        variables = {
            "KBUILD_KCONFIG": str(self.place / "lab.Kconfig"),
            "KCONFIG_ALLCONFIG": str(self.place / "lab.config"),
            **_STAMPS,
            **dict.fromkeys(_UNWANTED, ""),
        }
        process.run(
            command,
            what=what,
            cwd=self.place,
            extra=variables,
            log=self.log,
            on_line=on_line,
            keep_open=[self.held],
        )

    def configure(self) -> str:
        """Write `.config` and return its text."""
        self._run("allnoconfig", "configure")
        return (self.place / ".config").read_text()

    def compile(self, tell: Progress) -> int:
        """Compile and link; returns how many objects had to be made."""
        total = None if (self.place / "linux").exists() else OBJECTS
        made = 0

        def count(line: str) -> None:
            nonlocal made
            if _OBJECT.match(line):
                made += 1
                tell(Step("compiling", made, max(total, made) if total else None))

        self._run("linux", "build", count)
        return made

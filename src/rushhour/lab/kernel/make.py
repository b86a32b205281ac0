"""The kernel's make, out of tree, in a build directory that is kept."""

from __future__ import annotations

import hashlib
import os
import re
from typing import TYPE_CHECKING

from rushhour.errors import BuildError, KernelError
from rushhour.lab import cpus
from rushhour.lab.kernel import config, coverage, host, process
from rushhour.lab.kernel.coverage import COVERAGE
from rushhour.lab.kernel.sanitizers import SYMBOLS, options_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

# What would differ from build to build. LOCALVERSION, empty but set, keeps a "+" out of a git tree's release.
STAMPS = {
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 2026",
    "KBUILD_BUILD_USER": "rushhour",
    "KBUILD_BUILD_HOST": "lab",
    "KBUILD_BUILD_VERSION": "1",
    "LOCALVERSION": "",
    "SOURCE_DATE_EPOCH": "1767225600",
}
# Tools whose versions Kconfig would write into a configuration that does not use them.
ABSENT = ("RUSTC=none", "RUSTFMT=none", "BINDGEN=none", "PAHOLE=none")
# How the kernel's own C is compiled beside what its makefiles say. They ask for a code model in which every
# call goes through a register, for modules far away in memory, and for no inlined memcpy; here are no
# modules, and the image lies below 2 GB.
FLAGS = ("KCFLAGS=-mcmodel=small -fbuiltin",)
# A person's own settings that would leak into a build.
_UNWANTED = ("KCFLAGS", "KCPPFLAGS", "CFLAGS", "LDFLAGS", "MAKEFLAGS", "CROSS_COMPILE", "V", "KBUILD_OUTPUT")
FRAGMENT = "lab.config"
"""What was asked of Kconfig, in the build directory."""
_FULL = "No space left"
_OBJECT = re.compile(r"^  (?:CC|AS|LD|AR|HOSTCC|GEN|UPD)\b")


def compiler() -> str:
    """The compiler, the linker and the C library that go into an image."""
    versions = [process.answer([tool, "--version"]).splitlines()[0] for tool in ("gcc", "ld")]
    return ", ".join([*versions, os.confstr("CS_GNU_LIBC_VERSION") or "unknown C library"])


class Make:
    """One tree and its build directory.

    Args:
        tree: the source, never written to.
        place: the build directory.
        log: file that gets all output.
        held: descriptor of the tree's lock, kept open by every process of a build.
        sanitizers: what is switched on besides.
    """

    def __init__(self, tree: Path, place: Path, log: Path, held: int, sanitizers: Sequence[str] = ()) -> None:
        self.tree, self.place, self.log, self.held = tree, place, log, held
        self._watching = options_of(sanitizers)
        self._counts = COVERAGE in sanitizers
        self._flags = [f"{FLAGS[0]} -g", *FLAGS[1:]] if SYMBOLS in sanitizers else [*FLAGS]
        self._kconfig, self._fragment = place / "lab.Kconfig", place / FRAGMENT
        self._stamp = place / "configured"
        _write(self._kconfig, config.overlay(tree))
        _write(self._fragment, config.fragment(tree, sanitizers))

    def configure(self) -> str:
        """Write `.config`, unless all that it depends on is as it was, and return its text."""
        settings = self.place / ".config"
        if not settings.exists() or not self._stamp.exists() or self._stamp.read_text() != self._state():
            self._run("allnoconfig", "configure")
        return settings.read_text()

    def compile(
        self, on_object: Callable[[int], None], how: str | None = None, *, counts: bool | None = None
    ) -> int:
        """Compile and link `linux`, and return how many objects were compiled.

        Args:
            on_object: told how many, with each.
            how: `CFLAGS_KERNEL=…` for what is compiled otherwise than always.
            counts: link what writes counters; default: as for coverage.
        """
        made = 0

        def count(line: str) -> None:
            nonlocal made
            if _OBJECT.match(line):
                made += 1
                on_object(made)

        counts = self._counts if counts is None else counts
        beside = [coverage.build(self.place, self.log, host.FLAGS)] if counts else []
        words = [coverage.flags(self.tree, self.place)] if self._counts else [how] if how else []
        wraps = host.build(self.tree, self.place, self.log, beside)
        self._run("linux", "build", count, [f"LINK_WRAPS={wraps}", *words])
        self._stamp.write_text(self._state())
        return made

    def _run(
        self,
        target: str,
        what: str,
        on_line: Callable[[str], None] | None = None,
        words: Sequence[str] = (),
    ) -> None:
        jobs = f"-j{len(cpus.own())}"
        command = ["make", "-C", str(self.tree), f"O={self.place}", "ARCH=um", jobs]
        command += [*ABSENT, *self._flags, *words, target]
        variables = {"KBUILD_KCONFIG": str(self._kconfig), "KCONFIG_ALLCONFIG": str(self._fragment)}
        try:
            process.run(
                command,
                what=what,
                cwd=self.place,
                extra={**variables, **STAMPS, **dict.fromkeys(_UNWANTED, "")},
                log=self.log,
                on_line=on_line,
                keep_open=[self.held],
            )
        except KernelError as fault:
            if _FULL in fault.message:  # the machine's fault, not the source's
                raise
            raise BuildError(fault.message, where=fault.where, hint=fault.hint) from fault

    def _state(self) -> str:
        """Hash of what decides a configuration: `.config`, the compiler, every Kconfig file that was read."""
        listed = self.place / "include/config/auto.conf.cmd"
        names = re.findall(r"^\t(\S*Kconfig\S*)", listed.read_text(), re.MULTILINE) if listed.exists() else []
        own = " ".join(config.own(self.tree))
        total = hashlib.sha256(
            f"{compiler()} {ABSENT} {config.fragment_sha256()}{own}{self._watching}\n".encode()
        )
        for path in (self.place / ".config", *(self.tree / name for name in names)):
            state = path.stat() if path.exists() else None
            total.update(f"{path} {(state.st_mtime_ns, state.st_size) if state else 'gone'}\n".encode())
        return total.hexdigest()


def _write(path: Path, text: str) -> None:
    """Write a file unless it says the same already: make goes by dates."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)

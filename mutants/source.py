"""The base's source: a file's text before and after a mutant, what differs, a kernel with the change."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.check.change import Change, FileChange, functions_of, lines_of, touched
from rushhour.errors import KernelError

from .relink import Relinker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.lab.kernel import Kernel

    from .patches import Mutant


def name_of(mutants: Sequence[Mutant]) -> str:
    """What a kernel with these changes is called."""
    return mutants[0].name if len(mutants) == 1 else f"{len(mutants)}-together"


class Source:
    """The source of a base, and kernels of it with changes.

    Args:
        base: the kernel; it was built here.

    Raises:
        KernelError: what it was built of is not there any more, or gives another image.
    """

    def __init__(self, base: Kernel) -> None:
        self.base = base
        self._relinker = Relinker(base)
        self._relinker.check()

    def text(self, name: str) -> str:
        """A file of the base."""
        return self._relinker.text(name)

    def texts(self, mutants: Sequence[Mutant]) -> dict[str, str]:
        """The changed files with all these changes.

        Raises:
            KernelError: a patch does not apply, in git's words.
        """
        names = sorted({name for mutant in mutants for name in mutant.files})
        with tempfile.TemporaryDirectory(prefix="mutant-") as room:
            for name in names:
                path = Path(room, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(self.text(name), errors="surrogateescape")
            for mutant in mutants:
                _git(room, mutant.text, "apply", "--whitespace=nowarn")
            return {name: Path(room, name).read_text(errors="surrogateescape") for name in names}

    def change(self, mutant: Mutant) -> Change:
        """How the source differs, as `rushhour check` says it of two commits."""
        return Change("", mutant.name, tuple(self._file(*one) for one in self.texts([mutant]).items()))

    def build(self, mutants: Sequence[Mutant], called: str = "") -> Kernel | None:
        """The kernel with these changes; None if its image would be the base's.

        Args:
            mutants: which.
            called: the kernel's name, if not after them.

        Raises:
            KernelError: a patch does not apply, or the compiler refuses.
        """
        name = name_of(mutants)
        return self._relinker.build(self.texts(mutants), called or f"mutant-{name}", {"mutant": name})

    def _file(self, name: str, after: str) -> FileChange:
        before = self.text(name)
        with tempfile.TemporaryDirectory(prefix="mutant-") as room:
            for side, text in (("a", before), ("b", after)):
                Path(room, side).write_text(text, errors="surrogateescape")
            old, new = lines_of(
                _git(room, "", "diff", "--no-index", "--no-color", "--unified=0", "a", "b", fine=1)
            )
        functions, outside = touched((functions_of(before), old, set()), (functions_of(after), new, set()))
        return FileChange(name, "changed", old, new, functions, outside)


def _git(room: str, text: str, *words: str, fine: int = 0) -> str:
    """Git in a folder that is no repository, and of which none around it is to know."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", *words], cwd=room, input=text, capture_output=True, text=True, errors="surrogateescape",
        check=False, env={**inherited, "GIT_CEILING_DIRECTORIES": str(Path(room).parent), "LC_ALL": "C"},
    )  # fmt: skip
    if done.returncode not in (0, fine):
        raise KernelError(f"git {words[0]} failed: {done.stderr.strip()}")
    return done.stdout

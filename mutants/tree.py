"""The kernel's source as a git repository in the cache, with a commit for each mutant.

Commits of one repository share an exported tree and a build directory, so that a mutant costs the compilation
of what it changes, and the link.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import KernelError
from rushhour.lab import kernel as kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .patches import Mutant

SOURCE = "debian:6.12"
BASE = "main"
# Commits are a function of their content: no person, no date.
_PERSON = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "rushhour"), ("EMAIL", "rushhour@localhost"), ("DATE", "@1767225600 +0000"))
}


def name_of(mutants: Sequence[Mutant]) -> str:
    """What a kernel with these changes is called."""
    return mutants[0].name if len(mutants) == 1 else f"{len(mutants)}-together"


class Tree:
    """The repository; made at first use.

    Args:
        tell: told what takes long.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.folder = kernels.repository(SOURCE, lambda step: tell(step.text))

    def revision(self, mutants: Sequence[Mutant]) -> str:
        """The source of a kernel with these changes, as `rushhour kernel build` takes it.

        Raises:
            KernelError: the patch does not apply.
        """
        with tempfile.TemporaryDirectory(prefix="mutant-") as room:
            extra = {"GIT_DIR": str(self.folder), "GIT_INDEX_FILE": str(Path(room, "index")), **_PERSON}
            _git("read-tree", BASE, extra=extra)
            for mutant in mutants:
                _git("apply", "--cached", "--whitespace=nowarn", str(mutant.patch.resolve()), extra=extra)
            tree = _git("write-tree", extra=extra)
            commit = _git("commit-tree", "-p", BASE, "-m", name_of(mutants), tree, extra=extra)
        return f"{self.folder}@{commit}"


def _git(*words: str, extra: dict[str, str]) -> str:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", *words], env={**inherited, **extra}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise KernelError(f"git {words[0]} failed: {done.stderr.strip()}", where=words[-1])
    return done.stdout.strip()

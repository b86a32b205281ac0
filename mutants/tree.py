"""The kernel's source as a git repository in the cache: a commit with the source, and one for each mutant.

Commits of one repository share an exported tree and a build directory, so that a mutant costs the compilation
of what it changes, and the link.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from typing import TYPE_CHECKING

from rushhour.errors import KernelError
from rushhour.lab.kernel import sources, store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from .patches import Mutant

SOURCE = "debian:6.12"
BASE = "base"
# Commits are a function of their content: no person, no date.
_PERSON = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "rushhour"), ("EMAIL", "rushhour@localhost"), ("DATE", "@1767225600 +0000"))
}
# One pack instead of 90 000 files, hardly compressed: half a minute instead of several.
_PACKED = ("-c", "core.bigFileThreshold=1", "-c", "core.compression=1", "-c", "core.autocrlf=false")


class Tree:
    """The repository; made at first use.

    Args:
        tell: told what takes long.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        found = sources.resolve(SOURCE, tell)
        self.folder = store.cache("mutants", f"{found.key}.git")
        if not self.folder.is_dir():
            with store.lock(found.key, lambda: tell("waiting: another process uses this tree")):
                if not self.folder.is_dir():
                    tell("making a repository of the kernel's source, once")
                    self._make(found.directory())

    def _make(self, source: Path) -> None:
        with store.scratch(self.folder) as room:
            new = room / "git"
            _git("init", "--quiet", "--bare", "--initial-branch", BASE, str(new))
            place = {"GIT_DIR": str(new), "GIT_WORK_TREE": str(source)}
            _git(*_PACKED, "add", "--all", "--force", ".", cwd=source, extra=place)
            _git("commit", "--quiet", "--message", SOURCE, cwd=source, extra={**place, **_PERSON})
            shutil.copyfile(new / "index", new / "base.index")
            new.rename(self.folder)

    def revision(self, mutant: Mutant) -> str:
        """The source of a kernel with this change, as `rushhour kernel build` takes it.

        Raises:
            KernelError: the patch does not apply.
        """
        with tempfile.NamedTemporaryFile(dir=self.folder, prefix="index-") as index:
            shutil.copyfile(self.folder / "base.index", index.name)
            extra = {"GIT_DIR": str(self.folder), "GIT_INDEX_FILE": index.name, **_PERSON}
            _git("apply", "--cached", "--whitespace=nowarn", str(mutant.patch.resolve()), extra=extra)
            tree = _git("write-tree", extra=extra)
            commit = _git("commit-tree", "-p", BASE, "-m", mutant.name, tree, extra=extra)
        return f"{self.folder}@{commit}"


def _git(*words: str, cwd: Path | None = None, extra: dict[str, str] | None = None) -> str:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", *words],
        cwd=cwd,
        env={**inherited, **(extra or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise KernelError(f"git {words[0]} failed: {done.stderr.strip()}", where=words[-1])
    return done.stdout.strip()

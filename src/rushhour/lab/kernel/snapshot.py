"""A clone as it lies there, as a commit: what is not committed yet, too.

The commit is made in a repository of ours in the cache, which sees the clone's objects and has an index of
its own. The clone is only read: neither its index nor its objects nor its branches change.
"""

from __future__ import annotations

import hashlib
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rushhour.errors import KernelError
from rushhour.lab.kernel import git, process, store

SUBJECT = "what is not committed yet"
"""Subject of the commit of a working copy."""
# The same files upon the same commit are the same commit, whoever asks and when.
_WHO = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Rush Hour"), ("EMAIL", "rushhour@localhost"), ("DATE", "@0 +0000"))
}
_PLAIN = ("-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false", "-c", "core.splitIndex=false")


@dataclass(frozen=True)
class Beside:
    """A clone, and the repository in the cache that has all its commits and takes what is not committed yet.

    Attributes:
        top: The work tree; None of a bare repository.
        directory: The clone's own repository.
        place: The repository in the cache: build `PLACE@COMMIT`.
    """

    top: Path | None
    directory: Path
    place: Path

    def head(self) -> str:
        """The commit that is checked out.

        Raises:
            KernelError: there is none yet.
        """
        found = git.commit(self.directory, "HEAD")
        if found is None:
            raise KernelError("this repository has no commit yet", where=str(self.top or self.directory))
        return found

    def working(self) -> str | None:
        """A commit of the work tree upon HEAD, new files included; None if nothing differs from HEAD.

        What git ignores is left out, as are products of a build.

        Raises:
            KernelError: git cannot read the work tree, or a merge is not finished in it.
        """
        if self.top is None:
            return None
        head = self.head()
        if torn := git.ask(self.top, "ls-files", "--unmerged", "-z"):
            raise KernelError(
                f"a merge is not finished: {torn.partition(chr(9))[2].partition(chr(0))[0]} is in conflict",
                where=str(self.top),
                hint="resolve it (git add), or judge what is committed: --committed",
            )
        with store.lock(self.place.stem, lambda: None):
            self._begin_index(head)
            self._git("add", "--all", "--", ".")
            tree = self._git("write-tree").strip()
            if tree == git.ask(self.directory, "rev-parse", f"{head}^{{tree}}").strip():
                return None
            return self._git("commit-tree", tree, "-p", head, "-m", SUBJECT).strip()

    def _begin_index(self, head: str) -> None:
        """The clone's index knows which files are as they were: only the others are read again."""
        own, mine = self.directory / "index", self.place / "index"
        mine.with_name("index.lock").unlink(missing_ok=True)
        with suppress(OSError, KernelError):
            shutil.copy2(own, mine)  # with its date: a file as young as the index is read again
            self._git("ls-files", "--error-unmatch", "--", "Makefile")
            return
        mine.unlink(missing_ok=True)
        self._git("read-tree", head)

    def _git(self, *words: str) -> str:
        assert self.top is not None
        where = {
            "GIT_DIR": str(self.place), "GIT_WORK_TREE": str(self.top),
            "GIT_INDEX_FILE": str(self.place / "index"),
        }  # fmt: skip
        return process.answer(["git", "-C", str(self.top), *_PLAIN, *words], extra=where | _WHO)


def beside(tree: Path) -> Beside:
    """The repository in the cache that goes with a clone; made when it is not there.

    Args:
        tree: A work tree, a folder in it, or a bare repository; also one of several work trees.

    Raises:
        KernelError: there is no repository.
    """
    directory = git.directory(tree)
    bare = git.ask(tree, "rev-parse", "--is-bare-repository").strip() == "true"
    top = None if bare else Path(git.ask(tree, "rev-parse", "--show-toplevel").strip())
    place = store.cache("sources", f"check-{hashlib.sha256(str(directory).encode()).hexdigest()[:12]}.git")
    with store.lock(place.stem, lambda: None):
        if not (place / "HEAD").is_file():
            shutil.rmtree(place, ignore_errors=True)
            with store.scratch(place) as room:
                process.answer(["git", "init", "--quiet", "--bare", str(room / "git")])
                (room / "git").rename(place)
        _see(tree, place)
    return Beside(top, directory, place)


def source_of(commit: str) -> str | None:
    """What to build a commit from that some clone had, also if nobody ever committed it; None if none has it.

    Args:
        commit: its name, or the beginning of it.
    """
    for place in sorted(store.cache("sources", "any").parent.glob("check-*.git")):
        whole = git.commit(place, commit)
        if whole is not None:
            return f"{place}@{whole}"
    return None


def _see(tree: Path, place: Path) -> None:
    """Let our repository have what the clone has: its objects, where its history is cut, what it ignores."""

    def path(name: str) -> Path:
        return (tree / git.ask(tree, "rev-parse", "--git-path", name).rstrip("\n")).resolve()

    (place / "objects/info").mkdir(parents=True, exist_ok=True)
    (place / "objects/info/alternates").write_text(f"{path('objects')}\n")
    (place / "info").mkdir(exist_ok=True)
    for name in ("shallow", "info/exclude"):
        (place / name).unlink(missing_ok=True)
        with suppress(OSError):
            shutil.copyfile(path(name), place / name)

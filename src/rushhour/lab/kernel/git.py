"""Git repositories as sources: read by their objects; their index, branches and files are left alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import KernelError
from rushhour.lab.kernel import process, store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Hard links change the time of change and the device's numbers are nobody's content: date and size decide.
_DATES = ("-c", "core.trustctime=false", "-c", "core.checkStat=minimal")
_WHOLE = ("-c", "core.sparseCheckout=false", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false")


def directory(path: Path) -> Path:
    """Where the repository at `path` keeps its objects.

    Raises:
        KernelError: there is no repository, or it is not for this user, in git's words.
    """
    try:
        return Path(ask(path, "rev-parse", "--absolute-git-dir").strip())
    except KernelError as fault:
        raise KernelError(
            fault.message, where=str(path), hint="DIRECTORY@REVISION is for a clone of a git repository"
        ) from fault


def commit(path: Path, revision: str) -> str | None:
    """The full name of the commit that `revision` means, if it means one."""
    words = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
    return ask(path, *words, default="").strip() or None


def ask(path: Path, *words: str, default: str | None = None, text: str | None = None) -> str:
    """What git answers in the repository at `path`."""
    return process.answer(["git", "-C", str(path), *words], default=default, text=text)


def export(repository: Path, revision: str, key: str) -> Path:
    """Bring a private copy in the cache to a commit; only the files that differ are rewritten."""
    target = store.cache("sources", key)
    target.mkdir(exist_ok=True)
    _work(repository, key, "read-tree", "--reset", "-u", revision)
    return target


def differing(repository: Path, revision: str, key: str) -> list[str]:
    """The files in which the private copy, as it was last brought to a commit, differs from another."""
    words = ("diff-index", "--cached", "--no-renames", "--name-only", "-z", revision)
    return [name for name in _work(repository, key, *words).split("\0") if name]


def adopt(repository: Path, revision: str, key: str) -> None:
    """Take files that lie in the private copy already for the commit's, where they are the same.

    Files that are not the commit's are removed; those that differ stay, for `export` to rewrite.
    """
    _work(repository, key, "read-tree", revision)
    # Says which files differ, and that is no fault.
    _work(repository, key, "update-index", "-q", "--refresh", "--really-refresh", may_fail=True)
    others = _work(repository, key, "ls-files", "--others", "-z").split("\0")
    for name in filter(None, others):
        store.cache("sources", key).joinpath(name).unlink()


def make(tree: Path, names: Iterator[str], target: Path, subject: str) -> None:
    """Make a repository of one commit, on the branch main, of files below a directory.

    Args:
        tree: the directory.
        names: the files, relative to it.
        target: the new bare repository.
        subject: the commit's message.
    """
    process.answer(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(target)])
    words = ["-c", "core.compression=1", "fast-import", "--quiet", "--depth=0"]
    with process.feed(["git", "-C", str(target), *words], what="import") as write:
        _stream(write, tree, names, subject)


def _stream(write: Callable[[bytes], object], tree: Path, names: Iterator[str], subject: str) -> None:
    head = f"commit refs/heads/main\ncommitter Rush Hour <rushhour@localhost> 0 +0000\ndata {len(subject)}\n"
    write(f"{head}{subject}\n".encode())
    for name in names:
        path = tree / name
        if path.is_symlink():
            mode, data = "120000", os.fsencode(path.readlink())
        else:
            mode, data = "100755" if path.stat().st_mode & 0o100 else "100644", path.read_bytes()
        write(f"M {mode} inline {name}\ndata {len(data)}\n".encode() + data + b"\n")


def _work(repository: Path, key: str, *words: str, may_fail: bool = False) -> str:
    """Git upon the private copy, with an index of its own beside it. Hold the lock of `key`."""
    target = store.cache("sources", key)
    index = target.with_name(f"{key}.index")
    # Left by a killed git.
    index.with_name(f"{index.name}.lock").unlink(missing_ok=True)
    places = {"GIT_INDEX_FILE": str(index), "GIT_DIR": str(repository), "GIT_WORK_TREE": str(target)}
    command = ["git", "-C", str(target), *_DATES, *_WHOLE, *words]
    return process.answer(command, extra=places, default="" if may_fail else None)

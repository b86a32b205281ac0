"""A source that has no history as a git repository of one commit, for trees that are made from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.lab.kernel import git, sources, store
from rushhour.lab.kernel.step import Step

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def repository(source: str, progress: Callable[[Step], None] | None = None) -> Path:
    """A bare repository in the cache whose branch `main` is the source; made once, in about 20 s, and kept.

    Only what can reach an image is in it: no documentation, no other architectures. Commits that are added
    to it are built in seconds with `build("REPOSITORY@COMMIT")`.

    Args:
        source: what `sources.resolve` understands, an archive or a Debian package.
        progress: told every step.

    Raises:
        KernelError: as `build`.
    """
    tell = progress or (lambda _: None)
    found = sources.resolve(source, lambda text: tell(Step(text)))
    target = store.cache("sources", f"{found.key}.git")
    with store.lock(found.key, lambda: tell(Step("waiting: another process builds this tree"))):
        if not target.is_dir():
            tell(Step(f"making a repository of {source}"))
            tree = found.directory()
            with store.scratch(target) as room:
                git.make(tree, sources.built_from(tree), room / "git", f"{found.name}\n")
                (room / "git").rename(target)
    return target

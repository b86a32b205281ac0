"""The commits of a kernel tree that are to be judged, each with the one before it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.check.change import series
from rushhour.errors import KernelError, UsageError
from rushhour.lab import clock
from rushhour.lab.kernel import git
from rushhour.lab.kernel.snapshot import SUBJECT, Beside, beside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from rushhour.check.change import Change

_LACKING = re.compile(r"No rule to make target '([^']+)\.o'")


def of(tree: str | Path) -> Beside:
    """The repository in the cache that goes with a tree.

    Raises:
        UsageError: it is no git repository.
    """
    try:
        return beside(Path(tree).expanduser())
    except KernelError as error:
        raise UsageError(
            f"this is no git repository: {error.message}",
            where=str(tree),
            hint="go into a clone of the kernel, or name it: rushhour check ~/linux",
        ) from error


def between(
    where: Beside, base: str | None, *, committed: bool = False, at_once: bool = False
) -> list[tuple[str, str]]:
    """Pairs of commits to be judged: each with the one before it.

    Args:
        where: The tree.
        base: The revision before them; None for what is not committed, or else the last commit.
        committed: Leave out what is not committed yet.
        at_once: As one change.

    Raises:
        UsageError: there is nothing to be judged, or nothing like a kernel.
    """
    head, working = where.head(), None if committed else where.working()
    if git.ask(where.place, "cat-file", "-t", f"{head}:net/ipv4", default="").strip() != "tree":
        raise UsageError(
            "this is no kernel tree: it has no net/ipv4", where=str(where.top or where.directory),
            hint="go into a clone of the kernel, or name it: rushhour check ~/linux",
        )  # fmt: skip
    if base is None:
        if working:
            return [(head, working)]
        before = git.commit(where.place, f"{head}^")
        if before is None:
            raise UsageError(
                f"nothing differs from {head[:12]}, which has no parent here",
                hint="change something (what git ignores does not count), or name the revision before your "
                "commits: --base REVISION",
            )
        return [(before, head)]
    first = git.commit(where.directory, base)
    if first is None:
        raise UsageError(f'there is no revision "{base}"', where=str(where.top or where.directory))
    now = working or head
    if at_once and now != first:  # the base may be in no history, if a branch was rebased
        return [(first, now)]
    if git.ask(where.place, "merge-base", first, head, default="").strip() != first:
        raise UsageError(
            f"{base} is not in the history of HEAD ({head[:12]})",
            hint=f"where both come from: git merge-base {base} HEAD",
        )
    steps = series(where.place, first, head)
    steps += [(head, working)] if working else []
    if not steps:
        raise UsageError(f"nothing differs between {base} and the tree", hint="name an earlier --base")
    return steps


def states(
    tree: str | Path, every_s: float = 1.0, refused: Callable[[KernelError], None] = lambda _: None
) -> Iterator[str]:
    """The commit of the work tree now, and again whenever it has become another, for ever.

    A tree that cannot be read for a while, as during a merge, is told of once and looked at again.
    """
    where, last, told = of(tree), "", ""
    while True:
        now, why = last, ""
        try:
            now = where.working() or where.head()
        except KernelError as error:
            why = str(error)
            if why != told:
                refused(error)
        told = why
        if now != last:
            last = now
            yield now
        clock.sleep(every_s)


def may_bisect(repository: Path, before: str, after: str) -> bool:
    """Whether a bisection in the tree can find a commit between these: both are there, others between.

    What is not committed yet is in no tree, and a base may be in no history, if a branch was rebased.
    """
    if subject(repository, after) == SUBJECT:
        return False
    parents = git.ask(repository, "rev-list", "--parents", "--max-count=1", after).split()[1:]
    begin = git.ask(repository, "merge-base", before, after, default="").strip()
    return before not in parents and begin == before


def subject(repository: Path, commit: str) -> str:
    """The first line of a commit's message."""
    return git.ask(repository, "show", "--no-patch", "--format=%s", commit).strip()


def overlooked(where: Beside, commit: str, reason: str) -> str | None:
    """The file that a build lacks, if it lies in the work tree: git ignores it, or it is not committed."""
    lacking = _LACKING.search(reason)
    if lacking is None or where.top is None:
        return None
    path = f"{lacking[1]}.c"
    there = git.ask(where.place, "ls-tree", "--name-only", commit, "--", f":(literal){path}").strip()
    return path if not there and (where.top / path).is_file() else None


def restored(
    repository: Path, change: Change, judged: Sequence[str], images: Mapping[str, str]
) -> dict[str, Any] | None:
    """The commit of a series at which the kernel, or else all that a change changes, was as it is again.

    Of several the first.

    Args:
        repository: Has them.
        change: The last commit, against the one before.
        judged: The base of the series, and its commits up to the one before.
        images: By commit the image of its kernel, where there is one.
    """
    paths = [f":(literal){one.path}" for one in change.files]
    parts: list[dict[str, Any]] = []
    for earlier in judged if change.files else ():  # what changes nothing goes nowhere
        if earlier == change.base or _is_one(images, earlier, change.base):
            continue
        rest = git.ask(repository, "diff", "--name-only", "--no-ext-diff", earlier, change.candidate).strip()
        whole = not rest or _is_one(images, earlier, change.candidate)
        mine = ("diff", "--name-only", "--no-ext-diff", earlier, change.candidate, "--", *paths)
        if whole or not git.ask(repository, *mine).strip():
            named = {"commit": earlier, "subject": subject(repository, earlier)}
            found = {**named, "base": earlier == judged[0], "whole": whole}
            if whole:
                return found
            parts.append(found)
    return parts[0] if parts else None


def _is_one(images: Mapping[str, str], *commits: str) -> bool:
    """Whether commits are known to be one kernel."""
    return len({images.get(commit, commit) for commit in commits}) == 1

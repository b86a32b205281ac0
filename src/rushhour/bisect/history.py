"""A history in git, as bisecting sees it: what lies between two commits, and which of it halves the rest.

Only objects are read: no work tree, no index, no reference is touched.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import KernelError, UsageError
from rushhour.lab.kernel import git

if TYPE_CHECKING:
    from collections.abc import Iterable

_DISTANCE = re.compile(r"^([0-9a-f]{40,64}).*\bdist=(\d+)")
# Between the fields of a commit, where no name or subject has it.
_FIELD = "\x1f"


@dataclass(frozen=True)
class Commit:
    """A commit: hash, author, date, subject; `files` are those it changes against its first parent."""

    hash: str
    parents: tuple[str, ...]
    author: str
    date: str
    subject: str
    files: tuple[str, ...]

    def document(self) -> dict[str, object]:
        """As JSON values."""
        return {**asdict(self), "parents": list(self.parents), "files": list(self.files)}

    def __str__(self) -> str:
        """As git shows it in a line."""
        return f"{self.hash[:12]} {self.subject}"


class History:
    """The commits of a repository.

    Raises:
        UsageError: there is no repository at `tree`.
    """

    def __init__(self, tree: str | Path) -> None:
        self.tree = Path(tree).expanduser()
        try:
            git.directory(self.tree)
        except KernelError as error:
            raise UsageError(
                f"this is not a git repository: {error.message}",
                where=str(tree),
                hint="--tree is a clone of the kernel's repository; a bare one will do",
            ) from error

    def commit(self, revision: str) -> str:
        """The full name of a revision.

        Raises:
            UsageError: the revision does not exist.
        """
        found = git.commit(self.tree, revision)
        if found is None:
            hint = self._near(revision) or f"try: git -C {self.tree} log --oneline"
            if self._shallow():
                hint = f"this clone is shallow; fetch the rest: git -C {self.tree} fetch --unshallow"
            raise UsageError(f'there is no revision "{revision}"', where=str(self.tree), hint=hint)
        return found

    def check(self, good: str, bad: str) -> None:
        """Refuse good and bad commits between which nothing can be bisected.

        Raises:
            UsageError: they are the same, swapped, on two branches, or the history between them is cut.
        """
        if good == bad:
            raise UsageError(f"--good and --bad are the same commit, {good[:12]}")
        if not self._is_ancestor(good, bad):
            raise UsageError(self._apart(good, bad), where=str(self.tree), hint=self._cure(good, bad))
        cut = self._cut() & set(self._list(bad, "--not", good))
        if cut:
            raise UsageError(
                f"the history between {good[:12]} and {bad[:12]} is cut at {min(cut)[:12]}",
                where=str(self.tree),
                hint=f"fetch the rest: git -C {self.tree} fetch --unshallow",
            )

    def between(self, bad: str, goods: Iterable[str]) -> list[str]:
        """The commits of which one is the first bad one, those first that leave least to do.

        `bad` itself is among them, and last. Sorted by how many commits an answer rules out at least; git
        counts that.
        """
        rows = self._list("--bisect-all", bad, "--not", *goods)
        found = [match for match in map(_DISTANCE.match, rows) if match]
        return [*(match[1] for match in found if match[1] != bad), bad]

    def about(self, commit: str) -> Commit:
        """What a commit is."""
        fields = _FIELD.join(("%H", "%P", "%an <%ae>", "%aI", "%s"))
        text = git.ask(self.tree, "show", "--no-patch", "--no-show-signature", f"--format={fields}", commit)
        name, parents, author, date, subject = text.rstrip("\n").split(_FIELD)
        words = ["diff-tree", "-r", "--root", "--no-commit-id", "--name-only", "-z"]
        files = git.ask(self.tree, *words, *parents.split()[:1], commit).split("\0")
        return Commit(name, tuple(parents.split()), author, date, subject, tuple(filter(None, files)))

    def _list(self, *words: str) -> list[str]:
        return git.ask(self.tree, "rev-list", *words).splitlines()

    def _is_ancestor(self, one: str, other: str) -> bool:
        return not self._list("--max-count=1", one, "--not", other)

    def _apart(self, good: str, bad: str) -> str:
        if self._is_ancestor(bad, good):
            return f"--good {good[:12]} comes after --bad {bad[:12]}"
        return f"--good {good[:12]} is not in the history of --bad {bad[:12]}"

    def _cure(self, good: str, bad: str) -> str:
        if self._shallow():
            return f"this clone is shallow; fetch the rest: git -C {self.tree} fetch --unshallow"
        if self._is_ancestor(bad, good):
            return (
                "exchange them; to find what made it better again: --improved, with the older one as --good"
            )
        base = git.ask(self.tree, "merge-base", good, bad, default="").strip()
        return f"where both come from: --good {base[:12]}" if base else "they have no history in common"

    def _shallow(self) -> bool:
        return git.ask(self.tree, "rev-parse", "--is-shallow-repository").strip() == "true"

    def _cut(self) -> set[str]:
        """The commits whose parents a shallow clone does not have."""
        place = self.tree / git.ask(self.tree, "rev-parse", "--git-path", "shallow").strip()
        return set(place.read_text().split()) if place.is_file() else set()

    def _near(self, revision: str) -> str:
        words = ["for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags"]
        near = get_close_matches(revision, git.ask(self.tree, *words).split(), 1)
        return f'did you mean "{near[0]}"?' if near else ""

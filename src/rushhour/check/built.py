"""The kernels of a check: built when they are asked for, and what is known of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rushhour.lab import kernel as kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from rushhour.lab.kernel import Kernel

PREFIX = "check-"
"""Of the names of kernels that are built for a check."""
MOST_EARLIER = 8
"""States of a tree from earlier checks whose kernels stay, for the commands that were printed then."""


@dataclass
class Built:
    """The kernels of the commits of one tree.

    Attributes:
        place: The repository in the cache that has the commits.
        tell: Told what goes on at the moment.
        dead: Folders of kernels that do not start.
        images: By commit the hash of its image.
        code_of: By commit an earlier one of the series whose code it has.
    """

    place: Path
    tell: Callable[[str], None]
    dead: set[str] = field(default_factory=set)
    images: dict[str, str] = field(default_factory=dict)
    code_of: dict[str, str] = field(default_factory=dict)
    _first: dict[str, Kernel] = field(default_factory=dict)

    def build(self, commit: str, sanitizers: tuple[str, ...] = ()) -> Kernel:
        """The kernel of a commit.

        Raises:
            BuildError: it does not compile.
            KernelError: nothing can be built here.
        """
        name = f"{PREFIX}{'-'.join([commit[:12], *sanitizers])}"
        source = f"{self.place}@{commit}"

        def told(step: kernels.Step) -> None:  # the place is ours, and longer than a terminal is wide
            self.tell(f"{commit[:12]}: {str(step).replace(source, 'its source')}")

        made = kernels.build(source, name, told, aside=True, files=sanitizers)
        if not sanitizers:
            self.images[commit] = str(made.identity["image_sha256"])
            self._first.setdefault(self.origin(commit), made)
        return made

    def origin(self, commit: str) -> str:
        """The first commit of the series with the code of a commit."""
        return self.code_of.get(commit, commit)

    def same(self, before: str, after: str) -> None:
        """Note that a commit has the code of the one before."""
        self.code_of[after] = self.origin(before)

    def identity(self, commit: str) -> Mapping[str, object]:
        """That of the first kernel that was built with the code of a commit.

        What came since may have options that are off: another configuration as a text, and no other code.
        """
        return self._first[self.origin(commit)].identity

    def clear(self, keep: set[str]) -> None:
        """Remove the kernels of earlier checks of this tree, but for those of these commits and the last few.

        One that does not start is of none, and `doctor` would warn of it ever after.
        """
        earlier: list[str] = []
        for kernel in kernels.installed():  # the newest first
            commit = self._commit(kernel)
            if commit is None:
                continue
            if commit not in keep and commit not in earlier:
                earlier.append(commit)
            if kernel.folder.name in self.dead or commit in earlier[MOST_EARLIER:]:
                kernels.remove(kernel.folder.name)

    def _commit(self, kernel: Kernel) -> str | None:
        """The commit of this tree that a kernel was built from, with whatever else: sanitizers, symbols."""
        source, mine = str(kernel.origin().get("source", "")), f"{self.place}@"
        return source.removeprefix(mine).split(" ")[0] if source.startswith(mine) else None

"""Whether a change compiles to the same code: what differs in the kernel then is numbers of lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.check.reach import is_no_part
from rushhour.check.tokens import renumbered
from rushhour.lab.kernel import git
from rushhour.lab.kernel.objects import Told, same_code

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.check.change import Change


def compiles_to_the_same(repository: Path, change: Change) -> Told | None:
    """Whether all C files that differ compile to the same code but for numbers of lines; None if unknown.

    The kernel says such numbers in warnings. In what is compared here, lines that stay have the base's.
    """
    differing = [one for one in change.files if one.code and not is_no_part(one.path)]
    if not all(one.kind == "changed" and one.path.endswith(".c") for one in differing):
        return None
    texts = {}
    for one in differing:
        before, after = (
            git.ask(repository, "cat-file", "blob", f"{commit}:{one.path}")
            for commit in (change.base, change.candidate)
        )
        texts[one.path] = (before, renumbered(after, one.old, one.new))
    return same_code(repository, change.base, texts)

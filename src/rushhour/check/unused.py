"""What a change brings that nothing calls: new C files, and the lines that build and declare them.

That nothing comes to them is told by the objects that were built (`lab.kernel.alone`). What is told here, by
their text, is which other files differ in nothing else.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rushhour.check import tokens
from rushhour.lab.kernel import git
from rushhour.lab.kernel.alone import alone

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from rushhour.check.change import Change, FileChange

_CONTINUED = re.compile(r"\\\n")
_NOTHING = re.compile(r"[\w$().-]+ *[:+]?=")
# Up to its end, what declares one function: no brace, no value, no attribute that says more of it.
_DECLARES = re.compile(r"(?:extern )?[\w *]+?\b(\w+) ?\([^(){}=;]*\)")


def unused(repository: Path, change: Change) -> frozenset[str]:
    """The files of a change to which nothing in the kernel of its candidate, which was just built, comes.

    These are new C files, makefiles that differ only by their objects, and headers only by declarations of
    their functions.
    """
    new = [one for one in change.files if one.kind == "added" and one.path.endswith(".c")]
    lonely = alone(repository, change.candidate, [one.path for one in new]) if new else frozenset()
    if not lonely:
        return frozenset()
    names = {name for one in new if one.path in lonely for name in one.functions}
    rest = [one for one in change.files if one.path not in lonely]
    return lonely | {one.path for one in rest if _only_brings(repository, change, one, lonely, names)}


def _only_brings(
    repository: Path, change: Change, one: FileChange, new: Collection[str], functions: Collection[str]
) -> bool:
    """Whether a file differs in nothing but what builds these files, or declares these functions."""
    if one.kind != "changed":
        return False
    before, after = (
        git.ask(repository, "cat-file", "blob", f"{commit}:{one.path}")
        for commit in (change.base, change.candidate)
    )
    name = PurePosixPath(one.path)
    if name.name in ("Makefile", "Kbuild"):
        inside = [PurePosixPath(path) for path in new if PurePosixPath(path).is_relative_to(name.parent)]
        brought = {str(path.relative_to(name.parent).with_suffix(".o")) for path in inside}
        return builds(before, set()) == builds(after, brought)
    lines = after.split("\n")
    return name.suffix == ".h" and not one.old and declares([lines[at - 1] for at in one.new], functions)


def builds(makefile: str, without: Collection[str]) -> list[list[str]]:
    """The words of each line of a makefile, without comments, these objects, and lines that add nothing."""
    lines = (line.partition("#")[0] for line in _CONTINUED.sub(" ", makefile).split("\n"))
    words = ([word for word in line.split() if word not in without] for line in lines)
    return [line for line in words if line and not (without and _NOTHING.fullmatch(" ".join(line)))]


def declares(lines: Sequence[str], functions: Collection[str]) -> bool:
    """Whether lines of a header declare these functions, each as a whole, and nothing else."""
    text = "".join(tokens.tokens("\n".join(lines))).strip()
    *said, rest = (" ".join(one.split()) for one in text.split(";"))
    found = [_DECLARES.fullmatch(one) for one in said]
    return not rest and all(one and one[1] in functions for one in found)

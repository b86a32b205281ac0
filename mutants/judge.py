"""A mutant judged: its kernel built, compared with the kernel it comes from, and removed.

What is likeliest to notice comes first: the scenario that noticed last time, those that speak of what the
patch touches, the quick suite, then all of it.
"""

from __future__ import annotations

import re
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rushhour
from rushhour.errors import KernelError
from rushhour.lab import kernel as kernels

from . import results
from .results import SUITE, Judgement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rushhour.lab.kernel import Kernel

    from .patches import Mutant
    from .tree import Tree

BASE = "debian-6.12"
_IDENTIFIER = re.compile(r"\b[a-z]\w*_\w+")


@dataclass(frozen=True)
class Scope:
    """What judges: named scenarios, the quick suite, or the suite; `stop` at the first cell that is worse."""

    stop: bool = True
    quick: bool = False
    scenarios: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether nothing noticed means that the suite does not notice."""
        return not self.quick and not self.scenarios


def judge(
    mutant: Mutant, tree: Tree, base: Kernel, tell: Callable[[str], None], scope: Scope | None = None
) -> Judgement:
    """Build the mutant and let the suite judge it.

    Args:
        mutant: which.
        tree: where its source is made.
        base: the kernel without the change.
        tell: told what is done.
        scope: by what; default: the whole suite, up to the first cell that is worse.
    """
    begun = time.monotonic()
    try:
        tell("builds")
        revision = tree.revision(mutant)
        kernel = kernels.build(revision, f"mutant-{mutant.name}", aside=True)
    except KernelError as fault:
        return Judgement(mutant.name, "failed", reason=str(fault), known=results.basis(mutant, base, ""))
    built = time.monotonic()
    try:
        if kernel.identity["image_sha256"] == base.identity["image_sha256"]:
            found = Judgement(mutant.name, "identical", reason="the image is that of the base, to the byte")
        else:
            found = _compare(mutant, base, kernel, tell, scope or Scope())
    finally:
        kernels.remove(kernel.folder.name)
    return replace(
        found,
        build_s=round(built - begun, 1),
        judge_s=round(time.monotonic() - built, 1),
        whole=found.verdict == "identical" or bool(scope is None or scope.whole),
        known=results.basis(mutant, base, found.scenario if found.caught else ""),
    )


def _compare(
    mutant: Mutant, base: Kernel, kernel: Kernel, tell: Callable[[str], None], scope: Scope
) -> Judgement:
    found = Judgement(mutant.name, "same")
    for words, quick in _stages(mutant, scope):
        tell(f"is judged by {', '.join(words)}{' (quick)' if quick else ''}")
        with tempfile.TemporaryDirectory(prefix="mutant-") as room:
            verdict = rushhour.compare(
                base.folder.name, kernel.folder.name, scenarios=words, quick=quick, stop=scope.stop, out=room
            )
        found = _read(mutant, verdict.document())
        if found.caught:
            break
    return found


def _stages(mutant: Mutant, scope: Scope) -> Iterator[tuple[list[str], bool]]:
    """What to compare by, one after the other, until something is worse."""
    if scope.scenarios:
        yield list(scope.scenarios), scope.quick
        return
    if scope.stop:
        before = results.recall(mutant)
        last = [name for name in results.scenarios() if before and before.caught and before.scenario == name]
        near = [name for name in likely(mutant) if name not in last]
        for names in (last, near):
            if names:
                yield [f"{SUITE}/{name}" for name in names], False
    if scope.stop or scope.quick:
        yield [SUITE], True
    if not scope.quick:
        yield [SUITE], False


def likely(mutant: Mutant, most: int = 5) -> list[str]:
    """The scenarios that speak of what a patch touches, the nearest first.

    A scenario says which functions it watches; a patch shows the code around its change.
    """
    touched = set(_IDENTIFIER.findall(mutant.patch.read_text())) | {Path(name).stem for name in mutant.files}
    area = mutant.area
    shares = {
        name: len(touched & set(_IDENTIFIER.findall(text))) + 2 * (area in name) + (area in text)
        for name, text in results.texts().items()
    }
    return [name for name in sorted(shares, key=lambda name: (-shares[name], name)) if shares[name]][:most]


def _read(mutant: Mutant, document: dict[str, Any]) -> Judgement:
    """The worst cell of a verdict, and in it what decided."""
    cells = document["cells"]
    made = Judgement(mutant.name, document["verdict"], cells=len(cells))
    worst = next((cell for cell in cells if cell["verdict"] == document["verdict"] != "same"), None)
    if worst is None:
        return made
    told = next((entry for entry in worst["metrics"] if entry["verdict"] == worst["verdict"]), None)
    return replace(
        made,
        scenario=worst["scenario"].partition("/")[2] or worst["scenario"],
        cell=worst["label"],
        metric=told["metric"] if told else "",
        change=told["change"] if told else None,
        reason=worst["reason"],
    )

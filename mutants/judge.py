"""A mutant judged: its kernel built, compared with the kernel it comes from, and removed.

What is likeliest to notice comes first: the scenario that noticed last time, those that are named after the
area, the quick suite, then all of it.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
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


def judge(mutant: Mutant, tree: Tree, base: Kernel, tell: Callable[[str], None], *, stop: bool) -> Judgement:
    """Build the mutant and let the suite judge it.

    Args:
        mutant: which.
        tree: where its source is made.
        base: the kernel without the change.
        tell: told what is done.
        stop: end at the first cell that is worse.
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
            found = _compare(mutant, base, kernel, tell, stop=stop)
    finally:
        kernels.remove(kernel.folder.name)
    return replace(
        found,
        build_s=round(built - begun, 1),
        judge_s=round(time.monotonic() - built, 1),
        known=results.basis(mutant, base, found.scenario if found.caught else ""),
    )


def _compare(
    mutant: Mutant, base: Kernel, kernel: Kernel, tell: Callable[[str], None], *, stop: bool
) -> Judgement:
    found = Judgement(mutant.name, "same")
    for words, quick in _stages(mutant, stop=stop):
        tell(f"is judged by {', '.join(words)}{' (quick)' if quick else ''}")
        with tempfile.TemporaryDirectory(prefix="mutant-") as room:
            verdict = rushhour.compare(
                base.folder.name, kernel.folder.name, scenarios=words, quick=quick, stop=stop, out=room
            )
        found = _read(mutant, verdict.document())
        if found.caught:
            break
    return found


def _stages(mutant: Mutant, *, stop: bool) -> Iterator[tuple[list[str], bool]]:
    """What to compare by, one after the other, until something is worse."""
    if stop:
        before = results.recall(mutant)
        last = before.scenario if before and before.caught else ""
        near = [name for name in results.scenarios() if mutant.area in name and name != last]
        for names in ([last] if last in results.scenarios() else [], near):
            if names:
                yield [f"{SUITE}/{name}" for name in names], False
        yield [SUITE], True
    yield [SUITE], False


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

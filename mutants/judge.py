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
from rushhour.record.slim import WHOLE, Wanted

from . import results
from .results import SUITE, Judgement
from .tree import name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rushhour.lab.base import Lab
    from rushhour.lab.kernel import Kernel
    from rushhour.running.executor import Executor

    from .patches import Mutant
    from .tree import Tree

BASE = "debian-6.12"
_IDENTIFIER = re.compile(r"\b[a-z]\w*_\w+")


@dataclass(frozen=True)
class Scope:
    """What judges: named scenarios, the quick suite, or the suite; `stop` at the first cell that is worse.

    `lab` and `executor` say where, if not on this machine, `wanted` what is kept meanwhile.
    """

    stop: bool = True
    quick: bool = False
    scenarios: tuple[str, ...] = ()
    lab: Lab | None = None
    executor: Executor | None = None
    wanted: Wanted = WHOLE

    @property
    def suite(self) -> bool:
        """Whether it is the suite that judges, and no chosen part of it."""
        return not self.scenarios

    @property
    def whole(self) -> bool:
        """Whether nothing noticed means that the suite does not notice."""
        return not self.quick and not self.scenarios


def judge(
    mutants: Sequence[Mutant],
    tree: Tree,
    base: Kernel,
    tell: Callable[[str], None],
    scope: Scope | None = None,
) -> list[Judgement]:
    """Build a kernel with these changes, let the suite judge it, and say so of each.

    Harmless changes can be judged together: if nothing is noticed of all, nothing is noticed of one.

    Args:
        mutants: which.
        tree: where their source is made.
        base: the kernel without them.
        tell: told what is done.
        scope: by what; default: the whole suite, up to the first cell that is worse.
    """
    scope, begun = scope or Scope(), time.monotonic()
    try:
        tell("builds")
        kernel = kernels.build(tree.revision(mutants), f"mutant-{name_of(mutants)}", aside=True)
    except KernelError as fault:
        return _share(Judgement("", "failed", reason=str(fault)), mutants, base)
    built = time.monotonic()
    try:
        if kernel.identity["image_sha256"] == base.identity["image_sha256"]:
            found = Judgement("", "identical", reason="the image is that of the base, to the byte")
        else:
            found = _compare(mutants, base, kernel, tell, scope)
    finally:
        kernels.remove(kernel.folder.name)
    build_s, judge_s = built - begun, time.monotonic() - built
    whole = scope.whole or found.verdict == "identical"
    return _share(replace(found, build_s=build_s, judge_s=judge_s, whole=whole), mutants, base)


def _share(found: Judgement, mutants: Sequence[Mutant], base: Kernel) -> list[Judgement]:
    """A judgement as that of each mutant, which took its share of the time."""
    many = len(mutants)
    return [
        replace(
            found,
            mutant=mutant.name,
            build_s=round(found.build_s / many, 1),
            judge_s=round(found.judge_s / many, 1),
            known=results.basis(mutant, base, found.scenario if found.caught else ""),
        )
        for mutant in mutants
    ]


def _compare(
    mutants: Sequence[Mutant], base: Kernel, kernel: Kernel, tell: Callable[[str], None], scope: Scope
) -> Judgement:
    found = Judgement("", "same")
    for words, quick in _stages(mutants, scope):
        tell(f"is judged by {', '.join(words)}{' (quick)' if quick else ''}")
        with tempfile.TemporaryDirectory(prefix="mutant-") as room:
            verdict = rushhour.compare(
                base.folder.name, kernel.folder.name, scenarios=words, quick=quick, stop=scope.stop, out=room,
                lab=scope.lab, executor=scope.executor, wanted=scope.wanted,
            )  # fmt: skip
        found = _read(verdict.document())
        if found.caught:
            break
    return found


def _stages(mutants: Sequence[Mutant], scope: Scope) -> Iterator[tuple[list[str], bool]]:
    """What to compare by, one after the other, until something is worse."""
    if scope.scenarios:
        yield list(scope.scenarios), scope.quick
        return
    if scope.stop and len(mutants) == 1:
        before = results.recall(mutants[0])
        last = [name for name in results.scenarios() if before and before.caught and before.scenario == name]
        near = [name for name in likely(mutants[0]) if name not in last]
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


def _read(document: dict[str, Any]) -> Judgement:
    """The worst cell of a verdict, and in it what decided."""
    cells = document["cells"]
    made = Judgement("", document["verdict"], cells=len(cells))
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

"""What to do next after a verdict: commands, each with what it is for."""

from __future__ import annotations

import math
import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.record.asked import command
from rushhour.record.manifest import REAL_TIME
from rushhour.report.verdict.order import ordered
from rushhour.spec.sweep import set_words
from rushhour.verdict.rule import MAX_SEEDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.record.manifest import Kernel
    from rushhour.record.verdict_file import ComparedCell, ComparedSide, VerdictFile

# Of `6.12.0-rc1-amd64` and `6.12.0` the tags have no `.0`.
_RELEASE = re.compile(r"(\d+\.\d+(?:\.[1-9]\d*)?)(?:\.0)?(-rc\d+)?")


@dataclass(frozen=True)
class Step:
    """A command and what it is for.

    Attributes:
        what: What it is for.
        command: To be given in the report's folder, if it has `places`.
        places: Words of the command that are paths from the report's folder.
    """

    what: str
    command: str
    places: frozenset[str] = frozenset()

    def outside(self, folder: Path) -> str:
        """The command where the report's folder has this path."""
        words = shlex.split(self.command)
        return shlex.join([_below(folder, word) if word in self.places else word for word in words])


def _below(folder: Path, word: str) -> str:
    """A path from the folder; a whole one where it leads far away from it, as to a baseline."""
    short = os.path.normpath(folder / word)
    return os.path.normpath(Path(short).absolute()) if short.startswith("..") else short


def advice(document: VerdictFile) -> list[Step]:
    """What to do with the whole."""
    return list(_suggested(document))


def commands(document: VerdictFile) -> list[str]:
    """The commands of the whole and of its worst cell: what stands under `next` of the document."""
    steps = [
        *(step for cell in ordered(document.cells)[:1] for step in of_cell(cell, document)),
        *advice(document),
    ]
    return list(dict.fromkeys(step.command for step in steps))


def _suggested(document: VerdictFile) -> Iterator[Step]:
    names = [str(side.name) for side in document.sides]
    if document.verdict == "inconclusive" and all(map(_is_kernel, document.sides)):
        more = 2 * (document.rule.max_seeds or MAX_SEEDS)
        yield Step(
            "Decide what is open with more seeds", command(["compare", *names, "--max-seeds", str(more)])
        )
    if document.verdict in ("same", "better"):
        candidate = document.candidate
        records = names[1] if not _is_kernel(candidate) else candidate.records or "candidate"
        what = "Judge later kernels by this candidate: keep its runs as a baseline"
        beside = " (run it in the folder of this report)" if _is_kernel(candidate) else ""
        places = frozenset({records} if _is_kernel(candidate) else ())
        yield Step(what + beside, command(["baseline", "save", "NAME", records]), places)


def of_cell(cell: ComparedCell, document: VerdictFile) -> list[Step]:
    """What to do with one cell that is not the same: see it, stop in it, find the commit, more seeds."""
    if cell.verdict == "same":
        return []
    stop = stopping(cell, document)
    steps = (_again(cell, document), [stop] if stop else [], _blame(cell, document), _more(cell, document))
    return [step for some in steps for step in some]


def _again(cell: ComparedCell, document: VerdictFile) -> Iterator[Step]:
    kernels = [side.kernel.name for side in document.sides]
    seeds = cell.seeds
    if not all(kernels):
        return
    words = ["run", *_what(cell)]
    labs = {side.lab or "uml" for side in document.sides}
    if labs & {*REAL_TIME}:
        # What runs there is the kernel under test; on two machines it takes two commands.
        words += ["--lab", min(labs & {*REAL_TIME})]
    else:
        words += [word for kernel in dict.fromkeys(kernels) for word in ("--kernel", kernel)]
    words += ["--seed", str(seeds[0])] if seeds else []
    yield Step(
        "See this cell alone" if kernels[0] == kernels[1] else "See this cell alone, on both kernels",
        command([*words, "--repeat", "1"]),
    )


def stopping(cell: ComparedCell, document: VerdictFile) -> Step | None:
    """Where both sides are virtual kernels and an event differs: stop just before it.

    If functions are known of which one is called before, stop at the last call of them.
    """
    if cell.divergence is None or any((side.lab or "uml") in REAL_TIME for side in document.sides):
        return None
    seed = cell.divergence.seed
    folders = [
        next((run.folder for run in runs if run.seed == seed and run.folder), None)
        for runs in (cell.runs.candidate, cell.runs.base)
    ]
    if not all(folders):
        return None
    candidate, base = (str(folder) for folder in folders)
    where = f"at the last call of {' or '.join(cell.calls)} before both part" if cell.calls else ""
    last = [word for name in cell.calls for word in ("--last", name)]
    return Step(
        f"Stop in gdb {where or 'just before both part'} (run it in the folder of this report)",
        command(["debug", candidate, "--divergence", base, *last]),
        frozenset({candidate, base}),
    )


def _blame(cell: ComparedCell, document: VerdictFile) -> Iterator[Step]:
    ends = _ends(document)
    worse = [metric for metric in cell.metrics if metric.verdict == "worse"]
    if cell.verdict != "worse" or not ends:
        return
    name, *which = _what(cell)
    words = ["bisect", "--tree", "LINUX", *ends, name]
    words.append(worse[0].metric if worse else "-")
    scope = worse[0].scope if worse else ""
    words += ["--flow", scope.partition(":")[2]] if scope.startswith("flow:") else []
    yield Step("Find the commit in a git tree LINUX of the kernel", command([*words, *which]))


def _more(cell: ComparedCell, document: VerdictFile) -> Iterator[Step]:
    if cell.verdict == "inconclusive" and all(map(_is_kernel, document.sides)):
        more = 2 * max(len(cell.seeds), (document.rule.max_seeds or MAX_SEEDS))
        names = [str(side.name) for side in document.sides]
        words = ["compare", *names, "--scenario", _scenario(cell), *_quick(cell), "--max-seeds", str(more)]
        yield Step("Decide it with more seeds", command(words))


def _ends(document: VerdictFile) -> list[str]:
    """Between which revisions a bisection would look; nothing where none has anything to find."""
    base, candidate = (_revision(side.kernel) for side in document.sides)
    if document.commit or not (base and candidate) or base == candidate:
        return []
    if any(side.kernel.source.commit for side in document.sides):
        return ["--good", base, "--bad", candidate]
    older, newer = sorted((base, candidate), key=_numbers)
    # Releases of two series have the beginning of the older one in common.
    if _numbers(older)[:2] != _numbers(newer)[:2]:
        older = ".".join(older.split(".")[:2])
    return ["--good", older, "--bad", newer, *(["--improved"] if newer == base else [])]


def _revision(kernel: Kernel) -> str:
    """The commit a kernel was built from, or the tag that its release has upstream."""
    release = _RELEASE.match(kernel.release)
    return kernel.source.commit or (f"v{release[1]}{release[2] or ''}" if release else "")


def _numbers(tag: str) -> list[float]:
    """A tag's numbers, in the order in which releases come: `-rc2`, none, `.3`."""
    release, _, candidate = tag.removeprefix("v").partition("-rc")
    numbers = [*map(int, release.split(".")), 0][:3]
    return [*numbers, int(candidate) if candidate else math.inf]


def _is_kernel(side: ComparedSide) -> bool:
    return side.kind == "kernel"


def _what(cell: ComparedCell) -> list[str]:
    """Words that name the cell alone: its scenario, whether of a quick look, its factors."""
    sets = [word for one in cell.sets for word in ("--set", one)]
    return [_scenario(cell), *_quick(cell), *sets, *set_words(cell.factors)]


def _quick(cell: ComparedCell) -> list[str]:
    return ["--quick"] if cell.quick else []


def _scenario(cell: ComparedCell) -> str:
    """As a command names it: of the catalogue by name, else the file beside which it was run."""
    name = cell.scenario
    return name if "/" in name else f"{name}.toml"

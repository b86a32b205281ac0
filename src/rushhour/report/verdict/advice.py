"""What to do next after a verdict: commands, each with what it is for."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rushhour.record.manifest import REAL_TIME
from rushhour.report.verdict.order import ordered
from rushhour.spec.sweep import LABEL
from rushhour.spec.toml import value_word

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Document = Mapping[str, Any]

_SIDES = ("base", "candidate")


@dataclass(frozen=True)
class Step:
    """A command and what it is for."""

    what: str
    command: str


def advice(document: Document) -> list[Step]:
    """What to do with the whole."""
    return list(_suggested(document))


def commands(document: Document) -> list[str]:
    """The commands of the whole and of its worst cell: what stands under `next` of the document."""
    steps = [
        *(step for cell in ordered(document["cells"])[:1] for step in of_cell(cell, document)),
        *advice(document),
    ]
    return list(dict.fromkeys(step.command for step in steps))


def _suggested(document: Document) -> Iterator[Step]:
    names = [str(document[side].get("name")) for side in _SIDES]
    if document["verdict"] == "inconclusive" and all(map(_is_kernel, (document[side] for side in _SIDES))):
        more = 2 * int((document.get("rule") or {}).get("max_seeds") or 20)
        yield Step(
            "Decide what is open with more seeds", _command(["compare", *names, "--max-seeds", str(more)])
        )
    if document["verdict"] in ("same", "better"):
        candidate = document["candidate"]
        records = names[1] if not _is_kernel(candidate) else str(candidate.get("records") or "candidate")
        what = "Judge later kernels by this candidate: keep its runs as a baseline"
        beside = " (run it in the folder of this report)" if _is_kernel(candidate) else ""
        yield Step(what + beside, _command(["baseline", "save", "NAME", records]))


def of_cell(cell: Document, document: Document) -> list[Step]:
    """What to do with one cell that is not the same: see it, find the commit, more seeds."""
    if cell["verdict"] == "same":
        return []
    return [*_again(cell, document), *_blame(cell, document), *_more(cell, document)]


def _again(cell: Document, document: Document) -> Iterator[Step]:
    sides = [document[side] for side in _SIDES]
    kernels = [str((side.get("kernel") or {}).get("name") or "") for side in sides]
    seeds = cell.get("seeds") or []
    if not all(kernels):
        return
    words = ["run", _scenario(cell), *_sets(cell)]
    labs = {str(side.get("lab") or "uml") for side in sides}
    if labs & {*REAL_TIME}:
        # What runs there is the kernel under test; on two machines it takes two commands.
        words += ["--lab", min(labs & {*REAL_TIME})]
    else:
        words += [word for kernel in dict.fromkeys(kernels) for word in ("--kernel", kernel)]
    words += ["--seed", str(seeds[0])] if seeds else []
    yield Step(
        "See this cell alone" if kernels[0] == kernels[1] else "See this cell alone, on both kernels",
        _command([*words, "--repeat", "1"]),
    )


def _blame(cell: Document, document: Document) -> Iterator[Step]:
    revisions = [_revision(document[side].get("kernel") or {}) for side in _SIDES]
    worse = [metric for metric in cell.get("metrics") or [] if metric["verdict"] == "worse"]
    if cell["verdict"] != "worse" or not all(revisions) or revisions[0] == revisions[1]:
        return
    words = ["bisect", "--tree", "LINUX", "--good", revisions[0], "--bad", revisions[1], _scenario(cell)]
    words.append(str(worse[0]["metric"]) if worse else "-")
    scope = str(worse[0].get("scope") or "") if worse else ""
    words += ["--flow", scope.partition(":")[2]] if scope.startswith("flow:") else []
    yield Step("Find the commit in a git tree LINUX of the kernel", _command([*words, *_sets(cell)]))


def _more(cell: Document, document: Document) -> Iterator[Step]:
    if cell["verdict"] == "inconclusive" and all(map(_is_kernel, (document[side] for side in _SIDES))):
        more = 2 * max(len(cell.get("seeds") or []), int((document.get("rule") or {}).get("max_seeds") or 20))
        names = [str(document[side].get("name")) for side in _SIDES]
        words = ["compare", *names, "--scenario", _scenario(cell), "--max-seeds", str(more)]
        yield Step("Decide it with more seeds", _command(words))


def _revision(kernel: Document) -> str:
    """The commit a kernel was built from, or the tag that its release has upstream."""
    source = kernel.get("source") or {}
    release = str(kernel.get("release") or "").partition("-")[0]
    return str(source.get("commit") or (f"v{release}" if release else ""))


def _is_kernel(side: Document) -> bool:
    return side.get("kind") == "kernel"


def _scenario(cell: Document) -> str:
    """As a command names it: of the catalogue by name, else the file beside which it was run."""
    name = str(cell["scenario"])
    return name if "/" in name else f"{name}.toml"


def _sets(cell: Document) -> list[str]:
    factors = cell.get("factors") or {}
    pairs = [(key, value_word(value)) for key, value in factors.items() if not key.startswith(LABEL)]
    return [word for key, value in pairs for word in ("--set", f"{key}={value}")]


def _command(words: list[str]) -> str:
    return shlex.join(["rushhour", *words])

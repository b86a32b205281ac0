"""Judging commits of a kernel tree: each is built and compared with the one before it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushhour import plain
from rushhour.check import complaints, steps, telling, whole
from rushhour.check.built import PREFIX, Built
from rushhour.check.calls import calls, debugging
from rushhour.check.change import Change, between
from rushhour.check.reach import Reach, coming, holds, is_indirect, is_silent, reach
from rushhour.check.same import compiles_to_the_same
from rushhour.check.unused import unused
from rushhour.coverage import index_file
from rushhour.errors import BuildError, UsageError
from rushhour.files import rooms
from rushhour.lab import clock
from rushhour.lab.kernel import git, linked, names
from rushhour.packetdrill import pairs as drilled
from rushhour.packetdrill.telling import keep
from rushhour.record.seal import write_json
from rushhour.report.verdict import output
from rushhour.running.prepare import RESULTS
from rushhour.verdict.comparing import SUITE, compare
from rushhour.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rushhour.coverage.index import Index
    from rushhour.lab.base import Lab
    from rushhour.lab.kernel import Kernel
    from rushhour.lab.kernel.objects import Told
    from rushhour.lab.kernel.snapshot import Beside
    from rushhour.running.conductor import Watch
    from rushhour.running.executor import Executor
    from rushhour.verdict.side import Key

    Tell = Callable[[str], None]

FORMAT = "rushhour-check/1"
BROKEN = 1
"""Exit code of a change that does not build, or start."""
UNTOLD = 3
"""Exit code where nothing executes the change: the runs cannot tell."""
_MOST_KEPT = 24  # kernels of 13 MB each
_MOST_OF_SUBJECT = 40  # of the letters in a folder's name


@dataclass(frozen=True)
class Options:
    """How to check, beside what.

    Attributes:
        scenarios: What both kernels run; the standard suite by default.
        whole: All cells, not a quick look.
        committed: Leave out what is not committed yet.
        all: Judge every cell, also after one that is worse.
        coverage: What cells execute (`rushhour coverage`), instead of what is known of the standard suite.
        sanitizers: Also run the cells on the candidate with these sanitizers.
        at_once: Judge a series as one change: the tree as it is now against the base.
        scripts: packetdrill's, run on both kernels after the cells.
        binary: packetdrill's program, as `rushhour packetdrill --binary`.
        source: packetdrill's source, as `rushhour packetdrill --source`.
        jobs: Runs at once; None for one per CPU.
        out: Folder of the results; by default `results/check/DATE-TIME`.
    """

    scenarios: Sequence[str] = ()
    whole: bool = False
    committed: bool = False
    all: bool = False
    coverage: Path | None = None
    sanitizers: Sequence[str] = ()
    at_once: bool = False
    scripts: Sequence[Path] = ()
    binary: Path | None = None
    source: str | None = None
    jobs: int | None = None
    out: Path | None = None


def check(
    tree: str | Path = ".",
    base: str | None = None,
    *,
    options: Options | None = None,
    lab: Lab | None = None,
    executor: Executor | None = None,
    watch: Watch | None = None,
    tell: Tell = lambda _: None,
    note: Tell = lambda _: None,
) -> dict[str, Any]:
    """Judge what a kernel tree changes, commit by commit.

    Args:
        tree: A clone of the kernel, or a bare repository.
        base: The revision before the series: each commit after it is judged against the one before, and what
            is not committed yet as the last. By default what is not committed against HEAD, or else HEAD
            against its parent.
        options: How.
        lab: Where to run; by default the `uml` lab.
        executor: Carries the runs out, instead of threads on this machine.
        watch: Is told how runs go on.
        tell: Told what goes on at the moment.
        note: Told what is worth keeping.

    Returns:
        The document that is also `check.json` in its folder (docs/check.md).

    Raises:
        RushHourError: bad words, or nothing can be built or run here.
    """
    begin = clock.monotonic()
    options = options or Options()
    where = steps.of(tree)
    pairs = steps.between(where, base, committed=options.committed, at_once=options.at_once)
    folder = options.out or rooms.unused(RESULTS / "check" / clock.folder_stamp(clock.now()))
    going = _Going(where, _index(options), len(pairs) > 1, folder, options, lab, executor, watch, tell, note)
    going.find_scripts()
    _begin(folder)
    commits: list[dict[str, Any]] = []
    before = pairs[0][0]
    for parent, after in pairs:
        commits.append(going.judge(before, after, parent))
        if (
            commits[-1]["verdict"] != "broken"
        ):  # what follows a commit that does not build, or start, is judged without it
            before = after
    # The next check is most likely of the same series, with another end.
    going.built.clear({pairs[0][0], *(after for _, after in pairs[-_MOST_KEPT:])})
    worst = whole.deciding(commits)
    document: dict[str, Any] = {
        "format": FORMAT, "rushhour": __version__, "made": clock.stamped(), "tree": Path(tree).resolve().name,
        "base": pairs[0][0], "verdict": worst["verdict"], "exit": worst["exit"],
        "elapsed_s": round(clock.monotonic() - begin, 1), "commits": commits,
    }  # fmt: skip
    document["sentence"] = whole.sentence(commits)
    write_json(folder / "check.json", document)
    return {"folder": str(folder), **document}


def _begin(folder: Path) -> None:
    """Make the folder of the results, unseen by git: it may lie in the very tree that is checked."""
    try:
        rooms.open_results(folder, unseen=True)
    except OSError as error:
        raise UsageError(f"the results cannot be written: {error.strerror}", where=str(folder)) from error


def _index(options: Options) -> Index | None:
    """What cells are known to execute: by the file that was named, else by the program's own."""
    if options.coverage is not None:
        return index_file.read(options.coverage)
    with resources.as_file(resources.files("rushhour.coverage").joinpath("suite.json.xz")) as place:
        return index_file.read(place) if place.is_file() else None


@dataclass
class _Going:
    """A check that goes on."""

    where: Beside
    index: Index | None
    several: bool
    folder: Path
    options: Options
    lab: Lab | None
    executor: Executor | None
    watch: Watch | None
    tell: Tell
    note: Tell
    scripts: drilled.Scripts | None = None
    told: dict[Change, Told] = field(default_factory=dict)
    judged: list[str] = field(default_factory=list)
    # Cells in which the last kernel with sanitizers complained.
    failing: frozenset[Key] = frozenset()
    subject: str = ""
    # The one that is judged, where no bisection in the tree finds another before it.
    commit: str = ""

    def __post_init__(self) -> None:
        self.built = Built(self.where.place, self.tell)

    def find_scripts(self) -> None:
        """Look for packetdrill's scripts and its program, if scripts were named: before anything is built."""
        asked = self.options
        if asked.scripts:
            self.scripts = drilled.find(
                asked.scripts, asked.binary, asked.source, jobs=asked.jobs, tell=self.tell
            )

    def judge(self, before: str, after: str, parent: str) -> dict[str, Any]:
        """Build, choose, compare: what is said of a commit, against one that may not be its parent."""
        begin = clock.monotonic()
        self.judged += [before] if not self.judged else []
        self.tell("")
        change = between(self.where.place, before, after)
        reached = self._reach(change)
        self.subject = steps.subject(self.where.place, after)
        self.commit = "" if steps.may_bisect(self.where.place, before, after) else after
        found: dict[str, Any] = {
            "commit": after, "subject": self.subject,
            "change": telling.differing(change, reached),
        }  # fmt: skip
        if before != parent:
            found["against"] = before
        self.note(f"{after[:12]} {found['subject']}")
        for line in telling.files(found["change"]):
            self.note(f"  {line}")
        found |= self._found(change, reached)
        if found.get("image") == "same":
            self.built.same(before, after)
        if change in self.told and self.told[change].warnings:
            found["warnings"] = [*self.told[change].warnings]
        if earlier := steps.restored(self.where.place, change, self.judged, self.built.images):
            found["restores"] = earlier
        self.judged.append(after)
        found["elapsed_s"] = round(clock.monotonic() - begin, 1)
        found["sentence"] = telling.commit(found)
        if self.several:
            self.note(f"  {found['sentence']}")
        return found

    def _reach(self, change: Change, without: frozenset[str] = frozenset()) -> Reach:
        """What the index says of a change, where these files are known to be of no use."""

        def text(path: str) -> str:
            return git.ask(self.where.place, "cat-file", "blob", f"{change.base}:{path}")

        return reach(change, self.index, text, without)

    def _found(self, change: Change, reached: Reach) -> dict[str, Any]:
        same = {"verdict": "same", "exit": 0, "image": "same", "cells": 0}
        if is_silent(change):
            return {**same, "silent": True}
        if self._is_same_code(change):
            return {**same, "numbers": True}
        base = self.built.build(change.base)
        try:
            candidate = self.built.build(change.candidate)
        except BuildError as error:
            broken = {"verdict": "broken", "exit": BROKEN, "reason": error.message}
            path = steps.overlooked(self.where, change.candidate, error.message)
            return {**broken, "overlooked": path} if path else broken
        apart = linked.differing(base, candidate)
        if (alike := self._alike(change, base, candidate, apart)) is not None:
            return {**same, **alike}
        if new := unused(self.where.place, change):
            reached = self._reach(change, new)
        objects = apart if apart and is_indirect(change) else ()
        found = self._ran(change, base, candidate, coming(reached, self.index, objects))
        found |= {"objects": [*objects]} if objects else {}
        return {**found, "change": telling.differing(change, reached)}

    def _alike(
        self, change: Change, base: Kernel, candidate: Kernel, apart: tuple[str, ...] | None
    ) -> dict[str, Any] | None:
        """In what two kernels differ that run the same code; None where they do not."""
        if base.identity["image_sha256"] == candidate.identity["image_sha256"]:
            return {}
        if apart == ():
            return {"configuration": True}
        # Where objects could not be compared before, they can be now that its kernel is built.
        return {"numbers": True} if self._is_same_code(change) else None

    def _is_same_code(self, change: Change) -> bool:
        """Whether it compiles to the same code, as far as is known now; asked twice, compiled once."""
        if change not in self.told:
            self.tell(f"{change.candidate[:12]}: compiling what differs")
            told = compiles_to_the_same(self.where.place, change)
            if told is None:
                return False
            self.told[change] = told
        return self.told[change].same

    def _ran(self, change: Change, base: Kernel, candidate: Kernel, reached: Reach) -> dict[str, Any]:
        """What came of the cells, of packetdrill's scripts, of sanitizers."""
        if reached.idle and not self._may_leave_out(change.base):
            reached = replace(reached, idle=frozenset())
        own = cache(lambda: names.functions(candidate))
        found = self._compared(
            base, candidate, reached, calls=calls(change, reached, own), commit=self.commit
        )
        if found["verdict"] == "broken":
            return found
        if self.scripts and (found["exit"] != 1 or self.options.all):
            found |= telling.with_scripts(found, self._drilled(self.scripts, base, candidate))
        if self.options.sanitizers and (found["exit"] in (0, UNTOLD) or self.options.all):
            found |= telling.with_sanitizers(found, self._watched(change, candidate, reached))
        return found

    def _may_leave_out(self, commit: str) -> bool:
        """Whether the index is of this base, and of the cells that run: quick looks at the suite."""
        asked = self.options
        if self.index is None or asked.all or asked.whole or (asked.scenarios and asked.coverage is None):
            return False
        return holds(self.index, self.built.identity(commit), self.where.place, self.built.origin(commit))

    def _watched(self, change: Change, candidate: Kernel, reached: Reach) -> dict[str, Any]:
        """What all sanitizers together find in the candidate; of what they find in the base it is not guilty.

        Only complaints count: kernels with sanitizers may differ in more from those without. Verdicts of
        both: `worse` where only the candidate complains, `common` where the base does as well, `invalid`
        where neither can be judged.
        """
        names = tuple(sorted(set(self.options.sanitizers)))
        watched = self.built.build(change.candidate, names)
        found = self._compared(candidate, watched, reached, watched=True)
        verdict, heard = found["verdict"], found["complaints"]
        if heard:
            both = self.built.build(change.base, names)
            here = replace(reached, first=self.failing)  # where the answer most likely is
            again = self._compared(both, watched, here, watched=True, into=f"{watched.name}-both")
            if again["complaints"]:
                verdict, heard = "worse", again["complaints"]
            elif verdict != "invalid":
                verdict = "common"
        elif verdict != "invalid":
            verdict = "same"
        codes = {"worse": BROKEN, "invalid": found["exit"]}
        worst = heard[0] if heard else found["worst"]
        found["complaints"] = heard
        return {"names": [*names], **found, "verdict": verdict, "exit": codes.get(verdict, 0), "worst": worst}

    def _compared(
        self,
        base: Kernel,
        candidate: Kernel,
        reached: Reach,
        *,
        watched: bool = False,
        into: str = "",
        calls: output.Calls | None = None,
        commit: str = "",
    ) -> dict[str, Any]:
        self.tell("")
        folder = self._into(into or candidate.name)
        made = compare(
            base.name, candidate.name, scenarios=self.options.scenarios or [SUITE],
            quick=not self.options.whole, stop=not (self.options.all or watched),
            failures=watched and not self.options.all, asked_alike=not watched,
            first=reached.first, without=reached.idle, out=folder, jobs=self.options.jobs,
            watch=self.watch, lab=self.lab, executor=self.executor,
        )  # fmt: skip
        document = output.write(replace(made, commit=commit), folder, calls)
        worst = telling.worst(document)
        if why := telling.start(made):
            self.built.dead.add(candidate.folder.name)
        if watched:  # without sanitizers both are known to run
            sides = ((base, made.base), (candidate, made.candidate))
            dead = {kernel.folder.name for kernel, side in sides if telling.is_dead(side)}
            self.built.dead |= dead if made.verdict == "invalid" else set()  # else it was not tried on
        differ = sum(not cell.identical for cell in made.cells)
        found: dict[str, Any] = {
            "verdict": made.verdict, "exit": made.exit, "report": str(folder / "report.html"),
            "cells": len(made.cells), "differ": differ, "planned": made.planned, "counts": made.counts,
            "idle": len(reached.idle & made.base.cells.keys()),
            "worst": worst and worst | debugging(document, worst, folder),
        }  # fmt: skip
        if watched:
            asked = self.options
            self.failing = frozenset(one.cell.key for one in made.cells if one.failed)
            found["complaints"] = complaints.complaining(
                made, candidate.name, asked.scenarios, whole=asked.whole
            )
        elif why:
            found |= {"verdict": "broken", "exit": BROKEN, "starts": False, "reason": why}
        elif not differ and made.verdict == "same" and reached.known and not reached.first:
            found |= {"verdict": "unexercised", "exit": UNTOLD}
        return found

    def _drilled(self, scripts: drilled.Scripts, base: Kernel, candidate: Kernel) -> dict[str, Any]:
        """What came of packetdrill's scripts; all of it is in the folder of the commit's comparison."""
        done = itertools.count(1)
        self.tell("packetdrill")
        made = scripts.compare(
            base, candidate, lambda one: self.tell(f"packetdrill: script {next(done)}, {one.name}")
        )
        self.tell("")
        folder = self._into(candidate.name)
        keep(folder, made.document, made.report, made.changes, ())
        return telling.scripts(made)

    def _into(self, name: str) -> Path:
        """Where a comparison goes; of a series people look for a number and a subject, not for a hash."""
        parts = [name.removeprefix(PREFIX)]
        if self.several:
            parts = [f"{len(self.judged):02d}", plain.slug(self.subject, _MOST_OF_SUBJECT), *parts]
        return self.folder / "-".join(filter(None, parts))

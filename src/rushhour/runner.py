"""Running many cells: scenarios become runs, runs become result sets.

    prepare    words on a command line → `Study`s; nothing has run, nothing is written
    carry_out  studies → one `Outcome` after the other, as runs finish
    run      both, for the Python API

A run that is known (by the hash of all that determines it) is taken from the cache, so a sweep that was
interrupted goes on where it stopped when the same command is given again.
"""

from __future__ import annotations

import errno
import hashlib
import os
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from rushhour import spec
from rushhour.errors import LabError, RecordError, RushHourError, UsageError
from rushhour.lab import cache, kernel
from rushhour.lab.base import CancelledError, Job, Lab
from rushhour.lab.manifest import relabel
from rushhour.lab.uml import UmlLab
from rushhour.plan import Cell, derive_seed, expand, lower
from rushhour.record import ResultSet
from rushhour.seal import write_json

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

    from rushhour.lab.kernel import Kernel
    from rushhour.spec import Scenario, ScenarioFile

FORMAT = "rushhour-set/1"
RESULTS = Path("results")
LABS = ("uml",)
# Values of a factor that a quick look takes: the first, the middle, the last.
QUICK = 3
_FULL = (errno.ENOSPC, errno.EDQUOT)


@dataclass(frozen=True)
class Run:
    """One execution of a cell, by its place in the study."""

    number: int
    cell: Cell
    kernel: Kernel
    repetition: int
    seed: int

    def __str__(self) -> str:
        """Cell, kernel and repetition in a line."""
        return f"{self.cell.label or 'run'} · {self.kernel.name} · #{self.repetition + 1}"


@dataclass(frozen=True)
class Outcome:
    """What became of a run: the folder of its record, or the error."""

    study: Study
    run: Run
    folder: Path | None
    error: RushHourError | None
    cached: bool


@dataclass(frozen=True)
class Study:
    """One scenario to be run, and where its result set goes."""

    name: str
    scenario: Scenario
    cells: Sequence[Cell] = field(repr=False)
    kernels: Sequence[Kernel]
    repeat: int
    seed: int
    quick: bool
    folder: Path
    asked: Mapping[str, Any] = field(default_factory=dict, compare=False)
    failures: list[dict[str, Any]] = field(default_factory=list, compare=False)

    def __len__(self) -> int:
        """The number of runs."""
        return len(self.cells) * len(self.kernels) * self.repeat

    def runs(self) -> Iterator[Run]:
        """Every run: by cell, then kernel, then repetition."""
        number = 0
        for cell in self.cells:
            for one in self.kernels:
                for repetition in range(self.repeat):
                    yield Run(number, cell, one, repetition, derive_seed(self.seed, repetition))
                    number += 1

    def job(self, run: Run) -> Job:
        """What the lab is told to do."""
        lowered = lower(run.cell.scenario, run.seed)
        labels = {
            "scenario": {
                "name": self.name,
                "title": self.scenario.title,
                "sha256": self.scenario.sha256(),
                "resolved": run.cell.scenario.canonical(),
            },
            "cell": {"index": run.cell.index, "factors": run.cell.factors},
            "repetition": run.repetition,
        }
        return Job(lowered.plan, lowered.context, run.kernel, labels)

    def place(self, run: Run, key: str) -> Path:
        """The folder of a run's record: sorted by number, told apart by key."""
        return self.folder / "runs" / f"{run.number:05d}-{key[:12]}"

    def results(self) -> ResultSet:
        """The result set, once there are runs in it."""
        return ResultSet.open(self.folder)

    def write_about(self, *, complete: bool) -> None:
        """Write `set.json`: what the set is, and what failed."""
        about = {
            "format": FORMAT,
            "scenario": {
                "name": self.name,
                "title": self.scenario.title,
                "sha256": self.scenario.sha256(),
                "resolved": self.scenario.canonical(),
            },
            "kernels": [one.identity for one in self.kernels],
            "cells": [{"index": cell.index, "factors": cell.factors} for cell in self.cells],
            "repeat": self.repeat,
            "seed": self.seed,
            "quick": self.quick,
            "asked": self.asked,
            "runs": len(self),
            "failures": self.failures,
            "complete": complete,
        }
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_json(self.folder / "set.json", about)
        except OSError as error:
            raise RecordError(
                f"the result set cannot be written: {error.strerror}",
                where=str(self.folder),
                hint="choose another place with --out, or make room",
            ) from error


def prepare(
    scenarios: Iterable[str | Path],
    *,
    kernels: Sequence[str] = (),
    sets: Sequence[str] = (),
    repeat: int | None = None,
    seed: int | None = None,
    out: Path | None = None,
    quick: bool = False,
) -> list[Study]:
    """Load, expand and check everything before anything runs; a word may name several scenarios.

    Raises:
        ScenarioError, UsageError, KernelError: nothing has been written then.
    """
    files = [file for word in scenarios for file in spec.find_scenarios(word)]
    if not files:
        raise UsageError("no scenario was named", hint="`rushhour list` names those of the catalogue")
    chosen = [kernel.find(name) for name in kernels] or [kernel.default()]
    words = list(sets)
    words += [f"repeat={repeat}"] if repeat is not None else []
    words += [f"seed={seed}"] if seed is not None else []
    asked = {"kernels": [*kernels], "sets": [*sets], "repeat": repeat, "seed": seed, "quick": quick}
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    studies = []
    for file in files:
        folder = _folder(file, out, stamp, alone=len(files) == 1)
        study = _study(file, spec.load_scenario(file, words), chosen, folder, quick=quick)
        studies.append(replace(study, asked=_named(file) | asked))
    return studies


def carry_out(
    studies: Sequence[Study], lab: Lab, *, jobs: int | None = None, fresh: bool = False
) -> Generator[Outcome]:
    """Run studies on all CPUs, yielding each run as it finishes; a failed run does not stop the others.

    Closing the generator (or an interrupt) stops what runs; what finished stays, indexed.

    Args:
        studies: What to run.
        lab: Where.
        jobs: Runs at once; by default one per CPU.
        fresh: Run also what is known.

    Raises:
        LabError: the disk is full, or the whole sweep cannot go on for another reason.
    """
    cpus = sorted(os.sched_getaffinity(0))
    workers = jobs or len(cpus)
    free: SimpleQueue[int] = SimpleQueue()
    for number in range(workers):
        free.put(cpus[number % len(cpus)])
    pool = ThreadPoolExecutor(workers, thread_name_prefix="lab")
    finished = False
    try:
        for study in studies:
            study.write_about(complete=False)
            _point_latest(study.folder)
            done = 0
            try:
                for outcome in _finished(pool, workers, study, lab, free, fresh=fresh):
                    done += 1
                    yield outcome
            finally:
                _close(study, complete=done == len(study))
        finished = True
    finally:
        if not finished:
            lab.cancel()
        pool.shutdown(cancel_futures=True)


def run(
    scenario: str | Path,
    *,
    kernels: Sequence[str] = (),
    sets: Sequence[str] = (),
    repeat: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    out: Path | str | None = None,
    fresh: bool = False,
    quick: bool = False,
) -> ResultSet:
    """Run a scenario and give its result set; iterate it for the records.

    Raises:
        RushHourError: of the first run that failed, after all others have been carried out.
    """
    place = None if out is None else Path(out)
    studies = prepare(
        [scenario], kernels=kernels, sets=sets, repeat=repeat, seed=seed, out=place, quick=quick
    )
    if len(studies) > 1:
        names = ", ".join(study.name for study in studies)
        raise UsageError(f"{str(scenario)!r} names {len(studies)} scenarios", hint=f"name one: {names}")
    with closing(carry_out(studies, make_lab("uml"), jobs=jobs, fresh=fresh)) as outcomes:
        errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    if errors:
        raise errors[0]
    return studies[0].results()


def make_lab(name: str) -> Lab:
    """The lab of this name.

    Raises:
        UsageError: there is none.
    """
    if name not in LABS:
        raise UsageError(f"there is no lab {name!r}", hint=f"there is: {', '.join(LABS)}")
    return UmlLab()


def _study(
    file: ScenarioFile, scenario: Scenario, kernels: Sequence[Kernel], folder: Path, *, quick: bool
) -> Study:
    if quick:
        scenario = scenario.model_copy(update={"sweep": _thinned(scenario)})
    repeat = 1 if quick else scenario.repeat
    return Study(file.name, scenario, expand(scenario), kernels, repeat, scenario.seed, quick, folder)


def _named(file: ScenarioFile) -> dict[str, Any]:
    """What was asked for: a name of the catalogue, or a file; and which contents it had."""
    known = file in spec.catalogue().values()
    word = file.name if known else file.file.name
    return {"scenario": word, "file_sha256": hashlib.sha256(file.file.read_bytes()).hexdigest()}


def _thinned(scenario: Scenario) -> spec.Sweep:
    def few(values: list[Any]) -> list[Any]:
        picked = {0, len(values) // 2, len(values) - 1} if len(values) > QUICK else range(len(values))
        return [values[place] for place in sorted(picked)]

    def thin(table: dict[str, Any]) -> dict[str, Any]:
        return {
            key: [thin(row) for row in value] if key == "together" else few(value)
            for key, value in table.items()
        }

    return spec.Sweep(thin(scenario.sweep.root))


def _folder(file: ScenarioFile, out: Path | None, stamp: str, *, alone: bool) -> Path:
    if out is not None:
        return out if alone else out / file.name
    folder = RESULTS / file.stem / stamp
    tries = 1
    while folder.exists():
        tries += 1
        folder = RESULTS / file.stem / f"{stamp}-{tries}"
    return folder


def _point_latest(folder: Path) -> None:
    # A convenience: `results/NAME/latest`; where links cannot be made there is none.
    if folder.parent.parent != RESULTS:
        return
    with suppress(OSError):
        new = folder.parent / f".latest-{os.getpid()}"
        new.symlink_to(folder.name)
        new.replace(folder.parent / "latest")


def _finished(
    pool: ThreadPoolExecutor, workers: int, study: Study, lab: Lab, free: SimpleQueue[int], *, fresh: bool
) -> Iterator[Outcome]:
    def work(one: Run) -> Outcome:
        cpu = free.get()
        try:
            return _one(study, one, lab, cpu, fresh=fresh)
        finally:
            free.put(cpu)

    runs = study.runs()
    # A short queue: memory stays flat however many runs there are.
    waiting: set[Future[Outcome]] = {pool.submit(work, one) for one in islice(runs, 2 * workers)}
    while waiting:
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        waiting |= {pool.submit(work, one) for one in islice(runs, len(done))}
        for future in done:
            outcome = future.result()
            if outcome.error is not None:
                _raise_if_fatal(outcome.error)
                study.failures.append(_failure(outcome))
            yield outcome


def _one(study: Study, one: Run, lab: Lab, cpu: int, *, fresh: bool) -> Outcome:
    try:
        job = study.job(one)
        key = lab.key(job)
        place = study.place(one, key)
        if place.exists() and not fresh:
            return Outcome(study, one, place, None, cached=True)
        known = None if fresh else cache.find(key)
        if known is not None:
            return Outcome(study, one, relabel(known, place, job), None, cached=True)
        folder = lab.run(job, place, cpu)
        cache.keep(key, folder)
        return Outcome(study, one, folder, None, cached=False)
    except RushHourError as error:
        return Outcome(study, one, None, error, cached=False)


def _close(study: Study, *, complete: bool) -> None:
    study.write_about(complete=complete and not study.failures)
    if any((study.folder / "runs").glob("[!.]*")):
        study.results().write_index()


def _raise_if_fatal(error: RushHourError) -> None:
    """Stop the sweep where every other run would fail alike."""
    if isinstance(error, CancelledError):
        raise error
    cause = error.__cause__
    if isinstance(cause, OSError) and cause.errno in _FULL:
        raise LabError(
            "the disk is full; what has finished is kept",
            where=error.where,
            hint="make room and give the same command again: it goes on where it stopped",
        ) from error


def _failure(outcome: Outcome) -> dict[str, Any]:
    one, error = outcome.run, outcome.error
    assert error is not None
    return {
        "cell": {"index": one.cell.index, "factors": one.cell.factors},
        "kernel": one.kernel.name,
        "repetition": one.repetition,
        "seed": one.seed,
        "kind": type(error).__name__,
        "message": error.message,
        "where": error.where,
        "hint": error.hint,
    }

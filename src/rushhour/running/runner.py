"""Running many cells: scenarios become runs, runs become result sets.

    prepare    words on a command line → `Batch`es; nothing has run, nothing is written
    carry_out  batches → one `Outcome` after the other, as runs finish
    run        both, for the Python API

A run that is known (by the hash of all that determines it) is taken from the cache, so a sweep that was
interrupted goes on where it stopped when the same command is given again. In real time nothing is known:
runs are made one at a time, in shuffled blocks, and an interrupted sweep goes on in the folder that it has.
"""

from __future__ import annotations

import errno
import os
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Self, cast

from rushhour.errors import LabError, RecordError, RushHourError, UnsupportedError, UsageError
from rushhour.files import rooms
from rushhour.lab.base import LABS, REAL_TIME, CancelledError, Lab
from rushhour.lab.manifest import relabel
from rushhour.lab.uml import UmlLab
from rushhour.record import kept
from rushhour.running import turns
from rushhour.running.batch import Batch, Outcome, Run
from rushhour.running.prepare import RESULTS, prepare, same_results

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence
    from types import TracebackType

    from rushhour.lab.base import RealTimeLab, Tested
    from rushhour.record.record import ResultSet

__all__ = ["LABS", "Batch", "Outcome", "Run", "carry_out", "make_lab", "prepare", "run"]

_FULL = (errno.ENOSPC, errno.EDQUOT)


def carry_out(
    batches: Sequence[Batch], lab: Lab, *, jobs: int | None = None, fresh: bool = False
) -> Generator[Outcome]:
    """Run batches on all CPUs, yielding each run as it finishes; a failed run does not stop the others.

    Closing the generator (or an interrupt) stops what runs; what finished stays, indexed.

    Args:
        batches: What to run.
        lab: Where.
        jobs: Runs at once; by default one per CPU, and one in real time.
        fresh: Run also what is known.

    Raises:
        UsageError: several runs at once in real time.
        LabError: the disk is full, or the whole sweep cannot go on for another reason.
    """
    real_time = any(batch.real_time for batch in batches)
    if real_time and jobs not in (None, 1):
        raise UsageError(
            f"--jobs {jobs}: a lab in real time makes one run at a time, for runs would disturb each other",
            hint="leave --jobs out",
        )
    # Of all batches before the first run: a long sweep must not end with what could have been known.
    refused = [turns.refused(batch, cast("RealTimeLab", lab)) if real_time else [] for batch in batches]
    with ExitStack() as held, Workers(lab, 1 if real_time else jobs, fresh=fresh) as workers:
        _hold(batches, held)
        for batch, told in zip(batches, refused, strict=True):
            batch.write_about(complete=False)
            point_latest(batch.folder)
            done = 0
            try:
                without = {outcome.run.number for outcome in told}
                runs = ((batch, run) for run in batch.runs() if run.number not in without)
                for outcome in told:
                    _keep(outcome)
                for outcome in chain(told, workers.outcomes(runs)):
                    done += 1
                    yield outcome
            finally:
                _close(batch, complete=done == len(batch))


def _hold(batches: Sequence[Batch], held: ExitStack) -> None:
    """Keep other runs out of the folders, and see that nobody has put another experiment there meanwhile."""
    for batch in batches:
        try:
            held.enter_context(rooms.alone(batch.folder, "run"))
        except OSError as error:
            raise RecordError(
                f"the result set cannot be written: {error.strerror}",
                where=str(batch.folder),
                hint="choose another place with --out, or make room",
            ) from error
        same_results(batch)


class Workers:
    """Threads that carry out runs, as many at once as there are CPUs, each on one of its own.

    A context manager: leaving it by an error (or an interrupt) stops what runs.
    """

    def __init__(self, lab: Lab, jobs: int | None = None, *, fresh: bool = False) -> None:
        cpus = sorted(os.sched_getaffinity(0))
        self.count = jobs or len(cpus)
        self._lab, self._fresh = lab, fresh
        self._turns = turns.Turns(cast("RealTimeLab", lab), fresh=fresh) if lab.name in REAL_TIME else None
        self._free: SimpleQueue[int] = SimpleQueue()
        for number in range(self.count):
            self._free.put(cpus[number % len(cpus)])
        self._pool = ThreadPoolExecutor(self.count, thread_name_prefix="lab")

    def __enter__(self) -> Self:
        """Enter the block in which runs are carried out."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop what runs, if the block did not come to its end, and wait for it."""
        if kind is not None:
            self._lab.cancel()
        self._pool.shutdown(cancel_futures=True)

    def outcomes(self, runs: Iterable[tuple[Batch, Run]]) -> Iterator[Outcome]:
        """Carry out runs in about this order; failures are kept in their batch.

        Raises:
            LabError: the disk is full, or nothing can go on for another reason.
        """
        going = iter(runs)
        # A short queue: memory stays flat however many runs there are.
        waiting = {self._submit(*one) for one in islice(going, 2 * self.count)}
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            waiting |= {self._submit(*one) for one in islice(going, len(done))}
            for future in done:
                outcome = future.result()
                if outcome.error is not None:
                    _raise_if_fatal(outcome.error)
                    _keep(outcome)
                yield outcome

    def _submit(self, batch: Batch, run: Run) -> Future[Outcome]:
        return self._pool.submit(self._work, batch, run)

    def _work(self, batch: Batch, run: Run) -> Outcome:
        if self._turns is not None:
            return self._turns.take(batch, run)
        cpu = self._free.get()
        try:
            return _one(batch, run, self._lab, cpu, fresh=self._fresh)
        finally:
            self._free.put(cpu)


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
    lab: str = "uml",
    hosts: Path | str | None = None,
) -> ResultSet:
    """Run a scenario and give its result set; iterate it for the records.

    Raises:
        RushHourError: of the first run that failed, after all others have been carried out; of a skipped one
            only if all were.
    """
    place = None if out is None else Path(out)
    with using(make_lab(lab, hosts=hosts) if lab in REAL_TIME or hosts else None) as where:
        batches = prepare(
            [scenario], kernels=kernels, sets=sets, repeat=repeat, seed=seed, out=place, quick=quick,
            lab=lab, tested=tested(where),
        )  # fmt: skip
        if len(batches) > 1:
            names = ", ".join(batch.name for batch in batches)
            raise UsageError(f"{str(scenario)!r} names {len(batches)} scenarios", hint=f"name one: {names}")
        with closing(carry_out(batches, where or make_lab(lab), jobs=jobs, fresh=fresh)) as outcomes:
            found = [outcome for outcome in outcomes if outcome.error is not None]
    errors = [outcome.error for outcome in found if not outcome.skipped or len(found) == len(batches[0])]
    if errors and errors[0] is not None:
        raise errors[0]
    return batches[0].results()


def make_lab(
    name: str,
    *,
    pins: Sequence[str] = (),
    hosts: Path | str | None = None,
    places: Sequence[str] = (),
    ssh_config: Path | str | None = None,
) -> Lab:
    """The lab of this name.

    Args:
        name: One of `LABS`.
        pins: `NODE=CPU` words, for `netns`: where that node's work is done.
        hosts: For `hosts`: the file that says which machine takes which node's part.
        places: For `hosts`: `NODE=PLACE` words that say so, or go before the file.
        ssh_config: For `hosts`: a configuration of the client instead of the user's.

    Raises:
        UsageError: there is none, or an option is not for it.
        ScenarioError: the file of machines is wrong.
        LabError: it cannot work here: a privilege or a program is missing.
    """
    if name not in LABS:
        raise UsageError(f"there is no lab {name!r}", hint=f"there is: {', '.join(LABS)}")
    if pins and name != "netns":
        raise UsageError(f"--pin is for the lab netns, not for {name}")
    if (hosts or places or ssh_config) and name != "hosts":
        raise UsageError(f"machines were named, and the lab is {name}", hint="add --lab hosts")
    if name == "netns":
        from rushhour.lab.netns import NetnsLab  # noqa: PLC0415 - where it is asked for

        return NetnsLab(pins)
    if name == "hosts":
        from rushhour.lab.host.inventory import make_inventory  # noqa: PLC0415 - where it is asked for
        from rushhour.lab.hosts import HostsLab  # noqa: PLC0415 - where it is asked for

        file = None if hosts is None else Path(hosts)
        return HostsLab(make_inventory(file, places), ssh_config=ssh_config)
    return UmlLab()


@contextmanager
def using(lab: Lab | None) -> Iterator[Lab | None]:
    """A lab for a while; then what it keeps open is ended."""
    try:
        yield lab
    finally:
        end = getattr(lab, "close", None)
        if end is not None:
            end()


def tested(lab: Lab | None) -> Tested | None:
    """What a lab in real time runs on; None of a virtual one, where the kernel is chosen."""
    return cast("RealTimeLab", lab).tested() if lab is not None and lab.name in REAL_TIME else None


def study_folder(batches: Sequence[Batch], out: Path | None) -> Path:
    """Where the report of several batches goes: `out`, or `results/STUDY/…` beside the sets."""
    if out is not None:
        return out
    names = {batch.name.rpartition("/")[0] for batch in batches}
    name = next(iter(names)) if len(names) == 1 else ""
    return RESULTS / (name or "several") / batches[0].folder.name


def point_latest(folder: Path) -> None:
    """Let `latest` beside a folder of `results/` be this one; where links cannot be made there is none."""
    if folder.parent.parent not in (RESULTS, RESULTS / "compare"):
        return
    with suppress(OSError):
        rooms.point(folder.parent / "latest", folder.name)


def _one(batch: Batch, one: Run, lab: Lab, cpu: int, *, fresh: bool) -> Outcome:
    try:
        _meant_for(one, lab)
        job = batch.job(one)
        key = lab.key(job)
        place = batch.place(one, key)
        _same_program(batch, one, place)
        if not fresh and kept.is_whole(place, key):
            return Outcome(batch, one, place, None, cached=True)
        known = None if fresh else kept.find(key)
        if known is not None:
            return Outcome(batch, one, relabel(known, place, job), None, cached=True)
        folder = lab.run(job, place, cpu)
        kept.keep(key, folder)
        return Outcome(batch, one, folder, None, cached=False)
    except RushHourError as error:
        return Outcome(batch, one, None, error, cached=False)


def _same_program(batch: Batch, one: Run, place: Path) -> None:
    """Refuse to put a run beside the same run of another agent: a set would have it twice."""
    other = batch.finished(one, place.name)
    if other is not None:
        raise UsageError(
            "the folder holds this run as another version of this program made it",
            where=str(other),
            hint="name a new folder with --out: results are never mixed, and never overwritten",
        )


def _meant_for(one: Run, lab: Lab) -> None:
    """Refuse what the scenario itself says means nothing in this lab."""
    labs = one.cell.scenario.labs
    if labs and lab.name not in labs:
        raise UnsupportedError(
            f"this scenario is for the lab {' or '.join(labs)}; {lab.name} cannot show what it measures",
            hint=f"rushhour run … --lab {labs[0]}",
        )


def _keep(outcome: Outcome) -> None:
    batch = outcome.batch
    (batch.skipped if outcome.skipped else batch.failures).append(_failure(outcome))


def _close(batch: Batch, *, complete: bool) -> None:
    batch.write_about(complete=complete and not batch.failures)
    if any((batch.folder / "runs").glob("[!.]*")):
        batch.results().write_index()


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

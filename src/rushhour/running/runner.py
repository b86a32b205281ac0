"""Running many cells: scenarios become runs, runs become result sets.

    prepare    words on a command line → `Batch`es; nothing has run, nothing is written
    carry_out  batches → one `Outcome` after the other, as runs finish
    run        both, for the Python API

A run that is known (by the hash of all that determines it) is taken from the cache, so a sweep that was
interrupted goes on where it stopped when the same command is given again. In real time nothing is known:
runs are made one at a time, in shuffled blocks, and an interrupted sweep goes on in the folder that it has.
"""

from __future__ import annotations

from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rushhour.errors import RecordError, UsageError
from rushhour.files import rooms, storage
from rushhour.lab.base import LABS, Lab
from rushhour.lab.uml import UmlLab
from rushhour.record.manifest import REAL_TIME
from rushhour.record.seal import SET_FILE
from rushhour.record.slim import WHOLE, Wanted
from rushhour.running import turns
from rushhour.running.batch import Batch, Outcome, Run
from rushhour.running.conductor import Conductor
from rushhour.running.prepare import RESULTS, prepare, same_results

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from rushhour.lab.base import RealTimeLab, Tested
    from rushhour.record.result_set import ResultSet
    from rushhour.running.conductor import Watch
    from rushhour.running.executor import Executor

__all__ = ["LABS", "Batch", "Outcome", "Run", "carry_out", "make_lab", "prepare", "run"]


def carry_out(
    batches: Sequence[Batch],
    lab: Lab,
    *,
    jobs: int | None = None,
    fresh: bool = False,
    keep: bool = True,
    wanted: Wanted = WHOLE,
    executor: Executor | None = None,
    watch: Watch | None = None,
) -> Generator[Outcome]:
    """Run batches, yielding each run as it finishes; a failed run does not stop the others.

    Closing the generator (or an interrupt) stops what runs; what finished stays, indexed.

    Args:
        batches: What to run.
        lab: Where.
        jobs: Runs at once; by default one per CPU, and one in real time.
        fresh: Run also what is known.
        keep: Put records into the cache.
        wanted: What is to be kept of runs: `keeping` says it.
        executor: Carries the runs out, instead of threads on this machine.
        watch: Is told how runs go on.

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
    with (
        ExitStack() as held,
        Conductor(
            lab, jobs, fresh=fresh, keep=keep, wanted=wanted, executor=executor, watch=watch
        ) as conductor,
    ):
        _hold(batches, held)
        conductor.expect(sum(map(len, batches)))
        for batch, told in zip(batches, refused, strict=True):
            batch.begin()
            batch.write_about(complete=False)
            point_latest(batch.folder)
            done = 0
            try:
                without = {outcome.run.number for outcome in told}
                runs = ((batch, run) for run in batch.runs() if run.number not in without)
                for outcome in chain(map(conductor.enter, told), conductor.outcomes(runs)):
                    done += 1
                    yield outcome
            finally:
                _close(batch, complete=done == len(batch))


def _hold(batches: Sequence[Batch], held: ExitStack) -> None:
    """Keep other runs out of the folders, and see that nobody has put another experiment there meanwhile."""
    for batch in batches:
        try:
            held.enter_context(rooms.alone(batch.folder, "run", "runs"))
        except OSError as error:
            raise RecordError(
                f"the result set cannot be written: {error.strerror}",
                where=str(batch.folder),
                hint="choose another place with --out, or make room",
            ) from error
        same_results(batch)


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
    keep: str | None = None,
    store: str | None = None,
) -> ResultSet:
    """Run a scenario and give its result set; iterate it for the records.

    The arguments are the options of `rushhour run`.

    Raises:
        RushHourError: of the first run that failed, after all others have been carried out; of a skipped one
            only if all were.
    """
    place, wanted = None if out is None else Path(out), keeping(lab, keep, store)
    with using(make_lab(lab, hosts=hosts) if lab in REAL_TIME or hosts else None) as where:
        batches = prepare(
            [scenario], kernels=kernels, sets=sets, repeat=repeat, seed=seed, out=place, quick=quick,
            lab=lab, tested=tested(where),
        )  # fmt: skip
        if len(batches) > 1:
            names = ", ".join(batch.name for batch in batches)
            raise UsageError(f"{str(scenario)!r} names {len(batches)} scenarios", hint=f"name one: {names}")
        going = carry_out(batches, where or make_lab(lab), jobs=jobs, fresh=fresh, wanted=wanted)
        with closing(going) as outcomes:
            found = [outcome for outcome in outcomes if outcome.error is not None]
    errors = [outcome.error for outcome in found if not outcome.skipped or len(found) == len(batches[0])]
    if errors and errors[0] is not None:
        raise errors[0]
    return batches[0].results()


def keeping(lab: str, keep: str | None = None, store: str | None = None) -> Wanted:
    """What is to be kept of the runs of a lab.

    Args:
        lab: Its name.
        keep: `records`, or `metrics`: slim records, without tables (`rushhour.record.slim`); None: records,
            or metrics where a storage has the records.
        store: URL of the storage that whole records are put into by whoever made them.

    Raises:
        UsageError: both are wanted; or a run in real time, which cannot be made again.
        ExtraError: what reaches the storage is not installed.
    """
    if store is None and keep in (None, "records"):
        return WHOLE
    asked = "--store" if store is not None else "--keep metrics"
    if keep == "records":
        raise UsageError("--keep records: the records go into the storage", hint="leave one of both out")
    if lab in REAL_TIME:
        raise UsageError(
            f"{asked}: a run in real time cannot be made again, so all of it is kept here",
            hint=f"leave {asked.partition(' ')[0]} out",
        )
    from rushhour.summary.measured import code  # noqa: PLC0415 - numpy

    if store is not None:
        store = storage.checked(store)
        storage.name(store)
    return Wanted(tables=False, code=code(), storage=store)


def make_lab(
    name: str,
    *,
    pins: Sequence[str] = (),
    trust_programs: bool = False,
    hosts: Path | str | None = None,
    places: Sequence[str] = (),
    ssh_config: Path | str | None = None,
) -> Lab:
    """The lab of this name.

    Args:
        name: One of `LABS`.
        pins: `NODE=CPU` words, for `netns`: where that node's work is done.
        trust_programs: For `netns`: whether programs of a scenario may run on this machine.
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
    if trust_programs and name != "netns":
        raise UsageError(
            f"--trust-programs is for the lab netns, not for {name}",
            hint="in a virtual kernel programs reach nothing of this machine: leave it out"
            if name == "uml"
            else None,
        )
    if (hosts or places or ssh_config) and name != "hosts":
        raise UsageError(f"machines were named, and the lab is {name}", hint="add --lab hosts")
    if name == "netns":
        from rushhour.lab.netns import NetnsLab  # noqa: PLC0415 - where it is asked for

        return NetnsLab(pins, trust_programs=trust_programs)
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


def begun(batches: Sequence[Batch]) -> list[ResultSet]:
    """The sets that there are; none is opened, for of what a kernel lacks there is one without records."""
    from rushhour.record.result_set import ResultSet  # noqa: PLC0415 - numpy

    return [ResultSet(batch.folder) for batch in batches if (batch.folder / SET_FILE).is_file()]


def write_study(batches: Sequence[Batch], out: Path | None) -> tuple[Path, list[ResultSet]]:
    """Say which sets of batches belong together: the folder of their report, and the sets.

    Raises:
        RecordError: the folder cannot be written.
    """
    from rushhour.record.folders import write_sets  # noqa: PLC0415 - numpy

    folder, sets = study_folder(batches, out), begun(batches)
    write_sets(sets, folder)
    point_latest(folder)
    return folder, sets


def point_latest(folder: Path) -> None:
    """Let `latest` beside a folder of `results/` be this one; where links cannot be made there is none."""
    if folder.parent.parent not in (RESULTS, RESULTS / "compare"):
        return
    with suppress(OSError):
        rooms.point(folder.parent / "latest", folder.name)


def _close(batch: Batch, *, complete: bool) -> None:
    batch.write_about(complete=complete and not batch.failures)
    if any((batch.folder / "runs").glob("[!.]*")):
        batch.results().write_index()

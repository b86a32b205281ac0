"""Comparing: two words become a verdict; kernels among them run what it takes.

    compare   words → Verdict

Records alone are judged as they are. Where a kernel is named, both sides run on it what is missing: the
standard suite, the scenarios that were asked for, or those of the recorded side.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import UsageError
from rushhour.lab import clock
from rushhour.lab.confine import Limits
from rushhour.lab.kernel import Kernel
from rushhour.lab.uml import UmlLab
from rushhour.quantities.measures import Tolerance
from rushhour.quantities.units import UnitError
from rushhour.quantities.words import plural
from rushhour.record.slim import WHOLE, Wanted
from rushhour.running.conductor import Conductor
from rushhour.running.prepare import prepare
from rushhour.verdict import lane, place
from rushhour.verdict.boots import boots
from rushhour.verdict.follow import differing, divergences, slim
from rushhour.verdict.judging import Verdict, judge, never_ran, pair
from rushhour.verdict.open import open_side
from rushhour.verdict.refusal import VARIABLES, changed_of, check
from rushhour.verdict.rule import MAX_SEEDS, SEEDS, Rule
from rushhour.verdict.running import Bench, Task, given_up
from rushhour.verdict.side import Side, key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from rushhour.lab.base import Lab
    from rushhour.running.batch import Batch, Run
    from rushhour.running.conductor import Watch
    from rushhour.running.executor import Executor
    from rushhour.verdict.side import Key

SUITE = "suite"
# Cells of a comparison take seconds; a kernel that hangs is to cost no more than it must.
_LIMITS = Limits(timeout_s=900.0, stall_s=30.0)


def make_lab() -> UmlLab:
    """The lab of comparisons.

    Raises:
        LabError: this is no machine for virtual kernels.
    """
    return UmlLab(_LIMITS)


@dataclass(frozen=True)
class Asked:
    """What was asked for beyond the two sides."""

    scenarios: Sequence[str] = ()
    quick: bool = False
    rule: Rule = field(default_factory=Rule)
    variables: Sequence[str] = ("kernel",)
    stop: bool = False
    first: Collection[Key] = ()
    jobs: int | None = None
    fresh: bool = False
    executor: Executor | None = None
    wanted: Wanted = WHOLE
    without: Collection[Key] = ()
    failures: bool = False
    asked_alike: bool = False


def compare(
    base: str | Path,
    candidate: str | Path,
    *,
    scenarios: Sequence[str] = (),
    quick: bool = False,
    seeds: int = SEEDS,
    max_seeds: int = MAX_SEEDS,
    minimum: str | None = None,
    variables: Sequence[str] = ("kernel",),
    stop: bool = False,
    first: Collection[Key] = (),
    without: Collection[Key] = (),
    failures: bool = False,
    asked_alike: bool = False,
    out: Path | str | None = None,
    jobs: int | None = None,
    fresh: bool = False,
    watch: Watch | None = None,
    tell: Callable[[str], None] = lambda _: None,
    lab: Lab | None = None,
    executor: Executor | None = None,
    wanted: Wanted = WHOLE,
) -> Verdict:
    """Judge a candidate against a base.

    Args:
        base: A folder of results, the name or folder of a baseline, or the name of a kernel.
        candidate: Likewise.
        scenarios: What kernels run: files, names, studies; by default what the other side has, else the
            suite.
        quick: A quick look at these.
        seeds: Runs of a cell that differs, first.
        max_seeds: Runs of a cell at most, while it cannot be decided.
        minimum: Least change that matters where neither scenario nor metric says another: "5%".
        variables: What may differ between the sides (`rushhour.verdict.refusal.VARIABLES`).
        stop: End at the first cell that is worse.
        first: Cells that are judged before all others (`rushhour.verdict.side.key_of`).
        without: Cells that are left out.
        failures: Look for the first cell in which the candidate's kernel fails and the base's does not, and
            end there.
        asked_alike: Both kernels were asked for the same options, and one is a change of the other: what the
            candidate refuses and the base runs is lost, also where they are configured otherwise.
        out: Folder of the verdict and of the runs; by default `results/compare/BASE..CANDIDATE/DATE-TIME`.
        jobs: Runs at once; by default one per CPU.
        fresh: Run also what is known.
        watch: Is told how runs go on.
        tell: Hears what is read and judged while nothing runs.
        lab: Where to run, instead of the `uml` lab.
        executor: Carries the runs out, instead of threads on this machine.
        wanted: What is to be kept of runs (`rushhour.running.runner.keeping`).

    Raises:
        UsageError: a word means nothing, or the sides are not comparable.
        RecordError: a folder holds no runs, or they are damaged.
    """
    begin = clock.monotonic()
    rule = _rule(seeds, max_seeds, minimum)
    asked = Asked(
        scenarios, quick, rule, variables, stop, first, jobs, fresh, executor, wanted, without,
        failures=failures, asked_alike=asked_alike,
    )  # fmt: skip
    _check(asked)
    sides = open_side(base, tell), open_side(candidate, tell)
    now = clock.now()
    folder = Path(out) if out is not None else place.folder_for(sides[0].name, sides[1].name, now)
    if isinstance(sides[0], Side) and isinstance(sides[1], Side):
        verdict = _recorded(sides[0], sides[1], asked, tell)
    else:
        lab = lab or make_lab()
        verdict = _run(sides, folder, asked, lab, watch)
    verdict = divergences(replace(verdict, folder=folder), tell=tell)
    return replace(verdict, elapsed_s=clock.monotonic() - begin)


def _recorded(base: Side, candidate: Side, asked: Asked, tell: Callable[[str], None]) -> Verdict:
    for side in (base, candidate):
        lane.only(side, asked.scenarios)
    variables = asked.variables
    # Of one kernel nothing is judged: what somebody changed in the scenario is what is looked at.
    if tuple(variables) == ("kernel",) and changed_of(base, candidate, pair(base, candidate)[0]):
        variables = ("scenario",)
    return judge(base, candidate, asked.rule, variables=variables, tell=tell)


def _run(
    sides: tuple[Side | Kernel, Side | Kernel], folder: Path, asked: Asked, lab: Lab, watch: Watch | None
) -> Verdict:
    lanes = _lanes(sides, folder, asked, lab)
    base, candidate = lanes[0].side, lanes[1].side
    pairs, _ = pair(base, candidate)
    notes = check(base, candidate, pairs, asked.variables)
    tasks = [task for task in _tasks(lanes) if task.key not in asked.without]
    complete = False
    with place.alone(folder):
        try:
            # Most runs of both sides are equal to the byte, and nobody wants their metrics.
            with Conductor(
                lab, asked.jobs, fresh=asked.fresh, measure=False, wanted=asked.wanted,
                executor=asked.executor, watch=watch,
            ) as conductor:  # fmt: skip
                bench = Bench(
                    *lanes, asked.rule, conductor, asked.stop, asked.first,
                    failures=asked.failures, asked_alike=asked.asked_alike,
                )  # fmt: skip
                cells = bench.judge(tasks)
                complete = not (asked.stop or asked.failures or asked.without)
        finally:
            for one, name in zip(lanes, ("base", "candidate"), strict=True):
                one.close(folder / name, complete=complete)
    pairs, missing = pair(base, candidate)
    check(base, candidate, pairs, asked.variables)
    if isinstance(sides[1], Kernel) and not any(trial.ran for trial in candidate.trials()):
        cells = cells if boots(sides[1], lab, folder, asked.executor) else never_ran(cells)
    missing += given_up(bench, tasks, candidate.name)
    stopped = asked.stop and any(cell.verdict == "worse" for cell in cells)
    stopped = stopped or (asked.failures and any(cell.failed for cell in cells))
    verdict = Verdict(
        base, candidate, asked.rule, cells, missing, notes, asked.variables,
        stopped=stopped, planned=sum(not _is_skipped(task, lanes) for task in tasks),
    )  # fmt: skip
    if not asked.wanted.tables:
        # On this machine: a fleet gives what the whole comparison asked it for.
        with place.alone(folder), Conductor(lab, asked.jobs, watch=watch) as conductor:
            _make_whole(verdict, lanes, tasks, conductor)
    return verdict


def _make_whole(
    verdict: Verdict, lanes: tuple[lane.Lane, lane.Lane], tasks: Sequence[Task], conductor: Conductor
) -> None:
    """Have the tables in which first divergences show: slim records of this comparison become whole ones."""
    cells = {task.key: task.cell for task in tasks}
    again: list[tuple[Batch, Run]] = []
    for one in slim(verdict):
        seed, key = differing(one), one.cell.key
        if seed is None or key not in cells:
            continue
        trials = one.base[seed], one.candidate[seed]
        pair_of = [mine.again(key, cells[key], trial) for mine, trial in zip(lanes, trials, strict=True)]
        again += [run for run in pair_of if run is not None]
    conductor.expect(len(again))
    for _ in conductor.outcomes(again):
        pass


def _lanes(
    sides: tuple[Side | Kernel, Side | Kernel], folder: Path, asked: Asked, lab: Lab
) -> tuple[lane.Lane, lane.Lane]:
    given = lane.facts(lab)
    recorded = next((side for side in sides if isinstance(side, Side)), None)
    batches = _batches(recorded, sides, asked)
    made = []
    for side, name in zip(sides, ("base", "candidate"), strict=True):
        if isinstance(side, Side):
            made.append(lane.of_records(side, folder / name, given))
        else:
            made.append(lane.of_kernel(side, batches, folder / name, given))
    return made[0], made[1]


def _batches(
    recorded: Side | None, sides: tuple[Side | Kernel, Side | Kernel], asked: Asked
) -> Sequence[Batch]:
    """What the kernels are to run: what was recorded on the other side, or what was asked for."""
    one = next(side for side in sides if not isinstance(side, Side))
    if recorded is None:
        # Each lane has its own kernel: that of one side stands for both here, and no other need be built.
        made = prepare(asked.scenarios or [SUITE], kernels=[one.name], quick=asked.quick)
        return [replace(batch, asked={**batch.asked, "kernels": []}) for batch in made]
    if asked.quick:
        raise UsageError(
            f"--quick shortens scenarios, and those of {recorded.name} are what they are",
            hint="leave it out: the kernel runs what was recorded, a quick look where that was one",
        )
    lane.only(recorded, asked.scenarios)
    return lane.batches_of(recorded, one)


def _tasks(lanes: tuple[lane.Lane, lane.Lane]) -> list[Task]:
    """The cells that both sides have or can run, with as many first repetitions as the scenario wants."""
    source = next(one for one in lanes if one.runs)
    return [
        Task(key, cell, batch.repeat)
        for batch in source.batches.values()
        for cell in batch.cells
        if all((key := key_of(batch.name, cell.factors)) in one.side.cells for one in lanes)
    ]


def _is_skipped(task: Task, lanes: tuple[lane.Lane, lane.Lane]) -> bool:
    """Whether a side turned out to lack what the cell needs: it is not compared, nor left to be."""
    return any(one.side.cells[task.key].skipped for one in lanes)


def _rule(seeds: int, max_seeds: int, minimum: str | None) -> Rule:
    if not 1 <= seeds <= max_seeds <= lane.STRIDE:
        raise UsageError(
            f"{plural(seeds, 'seed')} at first and {max_seeds} at most do not fit together",
            hint=f"1 ≤ --seeds ≤ --max-seeds ≤ {lane.STRIDE}",
        )
    rule = Rule(seeds=seeds, max_seeds=max_seeds)
    return rule if minimum is None else replace(rule, minimum=share(minimum))


def share(word: str) -> float:
    """What `--minimum` says, as a fraction.

    Raises:
        UsageError: it is no percentage.
    """
    try:
        tolerance = Tolerance.parse(word)
    except UnitError as error:
        raise UsageError(f"--minimum: {error}") from error
    if not tolerance.relative:
        raise UsageError(
            f'--minimum is "{word}"; it takes a share of the base\'s value',
            hint='for example "2%"; amounts belong to single metrics: minimum = "1ms" in a [[judge]] table',
        )
    return tolerance.amount / 100


def _check(asked: Asked) -> None:
    for name in asked.variables:
        if name not in VARIABLES:
            raise UsageError(f'--variable: there is no "{name}"', hint=f"there are: {', '.join(VARIABLES)}")

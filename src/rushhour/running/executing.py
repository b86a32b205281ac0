"""One program on a node of a scenario's network: `rushhour exec`, and tests of other people's software.

Takes a scenario and a command, gives the record; what the program prints is given as it comes.
"""

from __future__ import annotations

import threading
from contextlib import closing, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rushhour import spec
from rushhour.errors import RecordError, UsageError
from rushhour.lab import clock, kernel
from rushhour.lab.confine import Limits
from rushhour.lab.uml import UmlLab
from rushhour.metrics.vocabulary import VOCABULARY
from rushhour.plan import expand
from rushhour.record.output import FILE, Line, lines
from rushhour.record.record import Record
from rushhour.running import runner
from rushhour.running.batch import Batch
from rushhour.summary.expectations import judge
from rushhour.summary.measured import metrics_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from rushhour.lab.terminal import Terminal
    from rushhour.metrics.value import MetricValue
    from rushhour.record.result_file import ProgramResult
    from rushhour.spec import Expect, Scenario

_LOOK_S = 0.05
SITTING = Limits(timeout_s=7 * 86400, stall_s=30)
"""Who sits at a terminal thinks for as long as they like; what computes without end is in the way."""


@dataclass(frozen=True)
class Executed:
    """A program that was run: its `result`, and the `record` of the run."""

    record: Record
    result: ProgramResult


def batch_of(
    scenario: str | Path,
    program: Mapping[str, Any],
    folder: Path,
    *,
    kernel_name: str | None = None,
    sets: Sequence[str] = (),
    expect: Sequence[str] = (),
) -> Batch:
    """A scenario of one cell with one more program, which begins when all others are ready.

    Args:
        scenario: A file, or a name of the catalogue.
        program: Keys of `[[program]]`.
        folder: Where the result set goes.
        kernel_name: By default the kernel of the latest version.
        sets: `KEY=VALUE` words over the scenario's.
        expect: What must hold of the run, in words, instead of what the scenario expects.

    Raises:
        ScenarioError, UsageError, KernelError: nothing has run then.
    """
    loaded = spec.load_scenario(scenario, sets, VOCABULARY, program)
    loaded = spec.expecting(loaded, expect, VOCABULARY) if expect else loaded
    return batch_with(loaded, folder, kernel_name=kernel_name)


def batch_with(loaded: Scenario, folder: Path, *, kernel_name: str | None = None) -> Batch:
    """A scenario of one cell, with the programs that it has.

    Raises:
        UsageError, KernelError: nothing has run then.
    """
    cells = expand(loaded)
    if len(cells) > 1:
        factors = ", ".join(loaded.sweep.values)
        raise UsageError(
            f"the scenario varies {factors}: a program runs in one network",
            hint=f"give each factor a value: --set {next(iter(loaded.sweep.values))}=VALUE",
        )
    chosen = kernel.find(kernel_name) if kernel_name else kernel.default()
    return Batch("exec", loaded, cells, [chosen], 1, loaded.seed, quick=False, folder=folder)


def execute(batch: Batch, heard: Callable[[Line], None] | None = None, *, fresh: bool = False) -> Executed:
    """Run it; `heard` is given each line of the last program's as it comes, of a known run all at once.

    Raises:
        LabError: the run could not be carried out.
    """
    number = len(batch.scenario.program) - 1
    tail = None if heard is None else _Tail(batch.folder, number, heard)
    outcomes = runner.carry_out([batch], runner.make_lab("uml"), fresh=fresh)
    with closing(outcomes), tail or nullcontext():
        outcome = next(iter(outcomes))
    record = Record.open(outcome.record)
    if tail is not None:
        tail.finish(record)
    return _executed(record, number)


def _executed(record: Record, number: int) -> Executed:
    result = next((one for one in record.result.programs if one.id == number), None)
    if result is None:
        raise RecordError("the run says nothing of the program", where=str(record.path))
    return Executed(record, result)


def sit_at(batch: Batch, terminal: Terminal) -> Executed:
    """Run it with the last program at a person's terminal. Nobody else's run is like this one.

    Raises:
        LabError: the run could not be carried out.
    """
    lab = UmlLab(SITTING, terminal=terminal)
    with closing(runner.carry_out([batch], lab, fresh=True, keep=False)) as outcomes:
        outcome = next(iter(outcomes))
    return _executed(Record.open(outcome.record), len(batch.scenario.program) - 1)


def unmet(executed: Executed, batch: Batch) -> list[str]:
    """What does not hold of that which the batch's scenario expects, a sentence each."""
    record = executed.record
    if not record.valid:
        return [
            f"the run is invalid, so nothing can be said of it: {'; '.join(record.manifest.invalid_reasons)}"
        ]
    return broken(batch.scenario.expect, metrics_of(record))


def broken(expected: Iterable[Expect], values: Sequence[MetricValue]) -> list[str]:
    """Of these expectations those that do not hold of a run's metrics, a sentence each."""
    tables = [one.model_dump(exclude_none=True) for one in expected]
    return [one.message for one in judge(tables, values, {}) if not one.ok]


class _Tail:
    """Follows what the program prints while it runs, in the folder in which the guest writes."""

    def __init__(self, folder: Path, program: int, heard: Callable[[Line], None]) -> None:
        self._folder, self._program, self._heard = folder, program, heard
        self._told, self._over = 0, threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_unused: object) -> None:
        self._over.set()
        self._thread.join()

    def finish(self, record: Record) -> None:
        """Tell what was not told yet."""
        mine = [line for line in record.output() if line.program == self._program]
        for line in mine[self._told :]:
            self._heard(line)

    def _follow(self) -> None:
        place, read = None, 0
        while not self._over.is_set():
            place = place or self._find()
            if place is not None:
                read = self._read(place, read)
            clock.sleep(_LOOK_S)

    def _find(self) -> Path | None:
        try:
            return next(self._folder.rglob(f".sandbox-*/out/raw/{FILE}"), None)
        except OSError:  # the run has ended: a folder went while it was looked through
            return None

    def _read(self, place: Path, read: int) -> int:
        """Tell the whole lines after the first `read` bytes; how many bytes were read then."""
        try:
            with place.open("rb") as file:
                file.seek(read)
                new = file.read()
        except OSError:  # the run has ended: its record is elsewhere
            return read
        whole = new[: new.rfind(b"\n") + 1]
        for line in lines(whole.decode("utf-8", "replace").splitlines(), place):
            if line.program == self._program:
                self._told += 1
                self._heard(line)
        return read + len(whole)

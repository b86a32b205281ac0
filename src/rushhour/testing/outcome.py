"""What came of a run in a test: of each program, of the network, and as words for whoever reads a failure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rushhour.errors import UsageError
from rushhour.metrics.value import TOTAL
from rushhour.metrics.vocabulary import VOCABULARY
from rushhour.quantities.units import UnitError
from rushhour.running.executing import broken
from rushhour.spec import expecting
from rushhour.spec.expectation import metric_named
from rushhour.summary.measured import metrics_of
from rushhour.testing import calls

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from rushhour.metrics.value import MetricValue
    from rushhour.record.record import Record
    from rushhour.record.result_file import ProgramResult
    from rushhour.running.batch import Batch

_LAST = 12
"""Lines of each program that a failure shows."""


class ProgramFailed(AssertionError):  # noqa: N818 - as AssertionError
    """A program did not begin, did not end in time, or not as it had to."""


class Printed(NamedTuple):
    """A line that a program printed: when (s of virtual time), on which stream (`out`, `err`), its text."""

    t_s: float
    stream: str
    text: str


@dataclass(frozen=True)
class Program:
    """How one program came out; times are seconds of virtual time from the start of the experiment.

    `value` is what a function gave, `error` the exception that it raised; `failure` is what was wrong with
    the program in words, None where all was well.
    """

    name: str
    node: str
    exit: int | None
    signal: int | None
    stopped: bool
    started_s: float | None
    ended_s: float | None
    output: tuple[Printed, ...]
    value: Any = None
    error: BaseException | None = None
    failure: str | None = None

    @property
    def took_s(self) -> float | None:
        """From its start to its own end; None where it did not end by itself."""
        if self.started_s is None or self.ended_s is None or self.stopped:
            return None
        return self.ended_s - self.started_s

    @property
    def stdout(self) -> str:
        """What it wrote to its standard output."""
        return self._text("out")

    @property
    def stderr(self) -> str:
        """What it wrote to its standard error."""
        return self._text("err")

    def _text(self, stream: str) -> str:
        return "".join(f"{line.text}\n" for line in self.output if line.stream == stream)


class Run:
    """One run of a network in a test.

    `programs` are all by name, `program` is the last, whose fields are the run's, too (`run.value`,
    `run.took_s`, `run.output`); `record` has all that was recorded, and lies in the folder `path`.
    """

    def __init__(self, record: Record, batch: Batch, functions: Iterable[str]) -> None:
        self.record = record
        self._batch = batch
        functions = set(functions)
        lines = record.output()
        self.programs: Mapping[str, Program] = {
            one.name: _program(one, [line for line in lines if line.program == one.id], one.name in functions)
            for one in record.result.programs
        }
        self.program = list(self.programs.values())[-1]

    def __getattr__(self, name: str) -> Any:
        """A field of the last program."""
        if name.startswith("_") or name == "program":
            raise AttributeError(name)
        return getattr(self.program, name)

    @property
    def path(self) -> Path:
        """The record's folder."""
        return self.record.path

    @property
    def seed(self) -> int:
        """What losses, jitter and the guest's random numbers started from."""
        return self._batch.seed

    def metric(self, name: str, *, flow: str | None = None, scope: str | None = None) -> float:
        """The value of a metric (docs/metrics.md), whose unit may be left out of its name.

        Args:
            name: `goodput_bps`, or `goodput`.
            flow: The flow's name: that of a found one is `PROGRAM.1`, its answers `PROGRAM.back.1`.
            scope: Instead: `total` (the default, where there is one), `end:left → right`, `program:client`.

        Raises:
            UsageError: there is no such metric, it was not measured there, or it is undefined there.
        """
        __tracebackhide__ = True
        try:
            whole, _ = metric_named(name, VOCABULARY)
        except UnitError as error:
            raise UsageError(str(error)) from error
        values = [value for value in self.metrics() if value.metric == whole]
        asked = f"flow:{flow}" if flow is not None else scope
        if asked is None and len(values) != 1:
            asked = TOTAL
        found = [value for value in values if asked is None or asked in _names(value)]
        if not found:
            there = ", ".join(value.scope for value in values) or "no scope at all"
            raise UsageError(f"{whole} was not measured at {asked or TOTAL}", hint=f"it has {there}")
        if found[0].value is None:
            raise UsageError(f"{whole} of {found[0].scope} is undefined: {found[0].note}")
        return found[0].value

    def metrics(self) -> list[MetricValue]:
        """All metrics of the run."""
        return self.record.once(metrics_of)

    def expect(self, *texts: str) -> None:
        """Assert what `rushhour exec --expect` takes: `goodput of client.1 > 1mbit`.

        Raises:
            AssertionError: what does not hold, with its value.
            ScenarioError: a text is no expectation.
        """
        __tracebackhide__ = True
        expected = expecting(self._batch.scenario, texts, VOCABULARY).expect
        if wrong := broken(expected, self.metrics()):
            raise AssertionError("\n".join(wrong))

    def told(self) -> str:
        """The run for whoever reads a failure: kernel, seed, record, how programs ended, their last words."""
        kernel = self._batch.kernels[0].name
        parts = [f"kernel {kernel}, seed {self.seed}", f"record {self.path}"]
        if not self.record.valid:
            parts.append(f"invalid: {'; '.join(self.record.manifest.invalid_reasons)}")
        parts += [_ending(one) for one in self.programs.values()]
        parts += self._last_words()
        return "\n".join(parts)

    def _last_words(self) -> list[str]:
        last = [(line, one.name) for one in self.programs.values() for line in one.output[-_LAST:]]
        wide = max((len(name) for _, name in last), default=0)
        return [
            f"{line.t_s:12.6f} s  {name:{wide}}  {'! ' if line.stream == 'err' else '  '}{line.text}"
            for line, name in sorted(last, key=lambda pair: pair[0].t_s)
        ]


def _names(value: MetricValue) -> tuple[str, str]:
    return value.scope, value.scope.partition(":")[2]


def _ending(one: Program) -> str:
    if one.failure is not None:
        return f"{one.name} on {one.node} {one.failure}"
    if one.stopped:
        return f"{one.name} on {one.node} ran until it was stopped, at {one.ended_s:g} s"
    return f"{one.name} on {one.node} ended well, after {one.took_s:g} s"


def _program(result: ProgramResult, lines: list[Any], function: bool) -> Program:  # noqa: FBT001 - one caller
    printed, text = calls.spoken(lines) if function else (lines, "")
    answer = calls.unpack(text) if text else None
    printed = calls.without(answer.trace, printed) if answer is not None else printed
    failure = result.error
    if answer is not None and answer.error is not None:
        failure = f"raised {type(answer.error).__name__}"
    elif function and failure is None and answer is None and not result.stopped:
        failure = "ended without giving a value"
    return Program(
        result.name, result.node, result.exit, result.signal, result.stopped,
        _seconds(result.started_ns), _seconds(result.ended_ns),
        tuple(Printed(line.t_ns / 1e9, line.stream, line.text) for line in printed),
        None if answer is None else answer.value,
        None if answer is None else answer.error,
        failure,
    )  # fmt: skip


def _seconds(t_ns: int | None) -> float | None:
    return None if t_ns is None else t_ns / 1e9

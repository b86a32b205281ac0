"""From a folder or a document to a report of cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.errors import ReportError
from rushhour.export.case import Case, Number, Report, Status
from rushhour.quantities.words import plural
from rushhour.record.folders import VERDICT, result_sets
from rushhour.record.json_file import read_json
from rushhour.record.result_set import all_heard
from rushhour.record.verdict_file import AGAIN
from rushhour.report.reproduce import run_command
from rushhour.report.verdict import markdown
from rushhour.report.verdict.advice import of_cell
from rushhour.report.verdict.departure import number_of, told, word
from rushhour.report.verdict.story import read_verdict
from rushhour.spec.toml import plain_words
from rushhour.summary import index
from rushhour.summary.expectations import judge
from rushhour.verdict.vocabulary import SHOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from rushhour.metrics.value import MetricValue
    from rushhour.record.record import Record
    from rushhour.record.result_set import ResultSet
    from rushhour.record.verdict_file import JudgedMetric, VerdictFile


def gather(place: Path, tell: Callable[[str], None] = lambda _: None) -> Report:
    """The cases of a verdict (`verdict.json` or its folder), of a result set, or of a study.

    Args:
        place: The file or folder.
        tell: Hears which run is looked through.

    Raises:
        ReportError: this is no verdict, or one of another format.
        RecordError: there are no results, or they cannot be read.
    """
    if place.is_file() or (place / VERDICT).is_file():
        return of_verdict(read_json(place if place.is_file() else place / VERDICT, AGAIN))
    sets = result_sets(place)
    all_heard(sets, tell)
    return of_results(sets, place.resolve().name)


def of_verdict(document: Mapping[str, object]) -> Report:
    """The cells of a comparison; `inconclusive` is `skip`, for nothing was decided.

    Raises:
        ReportError: this is no verdict's document.
    """
    try:
        whole = read_verdict(document)
        base, candidate = whole.sides
        return Report(
            name=f"{base.name}..{candidate.name}",
            headline=_headline(whole),
            cases=[*_cells(whole), *_missing(whole)],
            kernel=candidate.kernel,
            made=whole.made,
            seconds=whole.elapsed_s,
            properties={
                "base": str(base.name),
                "candidate": str(candidate.name),
                "verdict": whole.verdict,
                "lab": candidate.lab or "",
            },
            summary=markdown(whole),
        )
    except LookupError as error:  # a word that is no verdict
        raise ReportError(f"the verdict is incomplete ({error!r})", where=VERDICT, hint=AGAIN) from error


def _headline(document: VerdictFile) -> str:
    verdict, counts = told(document.verdict, document.counts, number_of(document.cells))
    numbers = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
    return f"{verdict}: {numbers}"


def _cells(document: VerdictFile) -> Iterator[Case]:
    for cell in document.cells:
        steps = of_cell(cell, document)
        yield Case(
            scenario=cell.scenario,
            label=cell.label,
            status=SHOWN[cell.verdict].status,
            reason="" if cell.verdict == "same" else f"{word(cell)}: {cell.reason}",
            numbers=[*_numbers(cell.metrics)],
            command=steps[0].command if steps else "",
            guards=cell.guards,
        )


def _numbers(metrics: Iterable[JudgedMetric]) -> Iterator[Number]:
    for metric in metrics:
        if metric.candidate.mean is not None:
            yield Number(metric.metric, metric.scope, metric.candidate.mean, metric.unit, metric.base.mean)


def _missing(document: VerdictFile) -> Iterator[Case]:
    for cell in document.missing:
        reason = f"not compared: {cell.reason or 'one side has no such cell'}"
        yield Case(cell.scenario, cell.label, "skip", reason)


def of_results(sets: Sequence[ResultSet], name: str) -> Report:
    """The runs of result sets: one that keeps its expectations passes; without any, if it is valid."""
    cases = [case for results in sets for case in _runs(results)]
    failed = sum(case.status in ("fail", "error") for case in cases)
    kernels = {kernel.release: kernel for one in sets for kernel in one.about.kernels}
    return Report(
        name=name,
        headline=f"{plural(len(cases), 'case')}, {failed} failed",
        cases=cases,
        kernel=next(iter(kernels.values()), {}),
        seconds=sum(case.seconds or 0.0 for case in cases),
        properties={"kernels": ", ".join(kernels)},
    )


def _runs(results: ResultSet) -> Iterator[Case]:
    measured = index.values(results)
    brief = len(results) > index.WHOLE
    for record in results:
        yield _run(record, measured.get(record.path.name, []), brief=brief)
    scenario = results.name
    for one in results.about.failures:
        yield Case(scenario, _label(one.cell.factors, one.kernel, one.repetition), "error", str(one.message))
    for one in results.about.skipped:
        yield Case(scenario, _label(one.cell.factors, one.kernel, one.repetition), "skip", str(one.message))


def _run(record: Record, values: Sequence[MetricValue], *, brief: bool) -> Case:
    """A run as a case; if `brief`, one that passes has no numbers: millions are of no use here."""
    manifest = record.manifest
    resolved = manifest.scenario.resolved
    broken = [one.message for one in judge(resolved.expect, values, record.factors) if not one.ok]
    status: Status = ("fail" if broken else "pass") if record.valid else "error"
    return Case(
        scenario=manifest.scenario.name or record.path.name,
        label=_label(record.factors, manifest.kernel.name, manifest.repetition),
        status=status,
        reason="; ".join(broken if record.valid else manifest.invalid_reasons),
        numbers=() if brief and status == "pass" else [*_told(values, resolved)],
        seconds=manifest.elapsed_s,
        command=run_command(manifest),
        guards=resolved.guards,
    )


def _told(values: Iterable[MetricValue], scenario: Mapping[str, Any]) -> Iterator[Number]:
    """The numbers that the scenario judges or expects something of; of one that does neither, all."""
    asked = {table.get("metric") for key in ("judge", "expect") for table in scenario.get(key) or ()}
    for one in values:
        if one.value is not None and (not asked or one.metric in asked):
            yield Number(one.metric, one.scope, one.value, one.unit)


def _label(factors: Mapping[str, object], kernel: object, repetition: int) -> str:
    of_kernel = {"kernel": kernel} if kernel else {}
    return " ".join([*plain_words({**factors, **of_kernel}), f"run={repetition + 1}"])

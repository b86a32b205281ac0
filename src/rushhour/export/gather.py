"""From a folder or a document to a report of cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.errors import ReportError
from rushhour.export.case import Case, Number, Report, Status
from rushhour.record.folders import read_sets
from rushhour.record.record import Record, ResultSet, read_json
from rushhour.report.reproduce import run_command
from rushhour.report.verdict import markdown
from rushhour.report.verdict.advice import of_cell
from rushhour.report.verdict.departure import number_of, told, word
from rushhour.summary import index
from rushhour.summary.expectations import judge

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from rushhour.metrics.value import MetricValue

VERDICT = "verdict.json"
_AGAIN = "compare again, or take it from a copy"
_STATUS: Mapping[str, Status] = {
    "same": "pass",
    "better": "pass",
    "worse": "fail",
    "invalid": "error",
    "inconclusive": "skip",
}


def gather(place: Path) -> Report:
    """The cases of a verdict (`verdict.json` or its folder), of a result set, or of a study.

    Raises:
        ReportError: this is no verdict, or one of another format.
        RecordError: there are no results, or they cannot be read.
    """
    if place.is_file() or (place / VERDICT).is_file():
        return of_verdict(read_json(place if place.is_file() else place / VERDICT, _AGAIN))
    sets = read_sets(place)
    return of_results([ResultSet.open(place)] if sets is None else sets, place.resolve().name)


def of_verdict(document: Mapping[str, Any]) -> Report:
    """The cells of a comparison; `inconclusive` is `skip`, for nothing was decided.

    Raises:
        ReportError: this is no verdict's document.
    """
    try:
        text = markdown(document)  # refuses what is no verdict of a known format
        base, candidate = document["base"], document["candidate"]
        return Report(
            name=f"{base['name']}..{candidate['name']}",
            headline=_headline(document),
            cases=[*_cells(document), *_missing(document)],
            kernel=candidate.get("kernel") or {},
            made=str(document.get("made") or ""),
            seconds=float(document.get("elapsed_s") or 0.0),
            properties={
                "base": str(base["name"]),
                "candidate": str(candidate["name"]),
                "verdict": str(document["verdict"]),
                "lab": str(candidate.get("lab") or ""),
            },
            summary=text,
        )
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise ReportError(f"the verdict is incomplete ({error!r})", where=VERDICT, hint=_AGAIN) from error


def _headline(document: Mapping[str, Any]) -> str:
    verdict, counts = told(document["verdict"], document["counts"], number_of(document["cells"]))
    numbers = ", ".join(f"{number} {name}" for name, number in counts.items() if number)
    return f"{verdict}: {numbers}"


def _cells(document: Mapping[str, Any]) -> Iterator[Case]:
    for cell in document["cells"]:
        steps = of_cell(cell, document)
        yield Case(
            scenario=str(cell["scenario"]),
            label=str(cell.get("label") or ""),
            status=_STATUS[cell["verdict"]],
            reason="" if cell["verdict"] == "same" else f"{word(cell)}: {cell.get('reason') or ''}",
            numbers=[*_numbers(cell.get("metrics") or ())],
            command=steps[0].command if steps else "",
            guards=str(cell.get("guards") or ""),
        )


def _numbers(metrics: Iterable[Mapping[str, Any]]) -> Iterator[Number]:
    for metric in metrics:
        value = (metric.get("candidate") or {}).get("mean")
        if value is not None:
            base = (metric.get("base") or {}).get("mean")
            name, scope, unit = (str(metric[key]) for key in ("metric", "scope", "unit"))
            yield Number(name, scope, float(value), unit, None if base is None else float(base))


def _missing(document: Mapping[str, Any]) -> Iterator[Case]:
    for cell in document.get("missing") or ():
        reason = f"not compared: {cell.get('reason') or 'one side has no such cell'}"
        yield Case(str(cell["scenario"]), str(cell.get("label") or ""), "skip", reason)


def of_results(sets: Sequence[ResultSet], name: str) -> Report:
    """The runs of result sets: one that keeps its expectations passes; without any, if it is valid."""
    cases = [case for results in sets for case in _runs(results)]
    failed = sum(case.status in ("fail", "error") for case in cases)
    kernels = {kernel.release: kernel for one in sets for kernel in one.about.kernels}
    return Report(
        name=name,
        headline=f"{len(cases)} cases, {failed} failed",
        cases=cases,
        kernel=next(iter(kernels.values()), {}),
        seconds=sum(case.seconds or 0.0 for case in cases),
        properties={"kernels": ", ".join(kernels)},
    )


def _runs(results: ResultSet) -> Iterator[Case]:
    measured = index.values(results)
    for record in results:
        yield _run(record, measured.get(record.path.name, []))
    scenario = results.about.scenario.name or results.path.name
    for one in results.about.failures:
        yield Case(scenario, _label(one.cell.factors, one.kernel, one.repetition), "error", str(one.message))
    for one in results.about.skipped:
        yield Case(scenario, _label(one.cell.factors, one.kernel, one.repetition), "skip", str(one.message))


def _run(record: Record, values: Sequence[MetricValue]) -> Case:
    manifest = record.manifest
    resolved = manifest.scenario.resolved
    broken = [one.message for one in judge(resolved.expect, values, record.factors) if not one.ok]
    status: Status = "fail" if broken else "pass"
    return Case(
        scenario=manifest.scenario.name or record.path.name,
        label=_label(record.factors, manifest.kernel.name, manifest.repetition),
        status=status if record.valid else "error",
        reason="; ".join(broken if record.valid else manifest.invalid_reasons),
        numbers=[*_told(values, resolved)],
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


def _label(factors: Mapping[str, Any], kernel: object, repetition: int) -> str:
    parts = [f"{key}={value}" for key, value in factors.items()]
    parts += [f"kernel={kernel}"] if kernel else []
    return " ".join([*parts, f"run={repetition + 1}"])

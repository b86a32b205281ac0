"""Expectations: what a scenario says must hold, held against what was measured.

Takes the `[[expect]]` tables of a scenario and metric values of one run, gives one verdict per expectation
and scope.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from rushhour.metrics.value import OTHERWISE, TOTAL, at
from rushhour.quantities.factors import matches, named
from rushhour.quantities.words import every, joined
from rushhour.record.output import FILE
from rushhour.record.seal import RAW

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rushhour.metrics.value import MetricValue
    from rushhour.record.record import Record
    from rushhour.record.result_file import ProgramResult

_FLOW = "flow:"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether one expectation holds at one scope; `message` says it in words.

    `rough`: this kernel tells the quantity otherwise than others, or not at all (`OTHERWISE`): where it does
    not hold, that says little of the kernel.
    """

    metric: str
    scope: str
    ok: bool
    value: float | None
    wanted: str
    message: str
    rough: bool = False


def check(record: Record, values: Iterable[MetricValue] | None = None) -> list[Verdict]:
    """Judge the expectations of the record's own scenario; `values` saves measuring again."""
    found = faults(record)
    expects = record.manifest.scenario.resolved.expect
    if not expects:
        return found
    return [*found, *judge(expects, record.metrics() if values is None else values, record.factors)]


def told(verdicts: Iterable[Verdict]) -> list[tuple[bool, str]]:
    """Each with whether it holds, in words; those that differ in the flow alone together."""
    found: dict[tuple[bool, str, str], list[str]] = {}
    for one in verdicts:
        before, flow, after = one.message.partition(f" of {one.scope} ")
        words = (before, after) if flow and one.scope.startswith(_FLOW) else (one.message, "")
        found.setdefault((one.ok, *words), []).append(one.scope.removeprefix(_FLOW))
    return [
        (ok, f"{before} of {_FLOW}{joined(names)} {after}" if after else before)
        for (ok, before, after), names in found.items()
    ]


def held_said(held: int, judged: int) -> str:
    """How many of the expectations hold, in words: `2 of 3 expectations hold`."""
    if judged == 1:
        return "the expectation holds" if held else "the expectation does not hold"
    if held == judged:
        return f"{every(judged, 'expectation')} hold"
    return f"{held or 'none'} of {judged} expectations {'hold' if held > 1 else 'holds'}"


def faults(record: Record) -> list[Verdict]:
    """What is said of programs that did not begin, or did not end as the scenario says."""
    if f"{RAW}{FILE}" not in record.manifest.files:  # no program ran: what the agent reports need not be read
        return []
    return [_program(one) for one in record.result.programs if one.error]


def _program(one: ProgramResult) -> Verdict:
    """Of a program that did not begin, or did not end as the scenario says."""
    value = None if one.exit is None else float(one.exit)
    wanted = "the status that the scenario gives"
    message = f"program {one.name} {one.error}"
    return Verdict(
        "program_exit", f"program:{one.name}", ok=False, value=value, wanted=wanted, message=message
    )


def judge(
    expects: Iterable[Mapping[str, Any]], values: Iterable[MetricValue], factors: Mapping[str, object]
) -> list[Verdict]:
    """Judge expectations against the metric values of a run of these factors.

    Without `flow` or `scope` an expectation is about the total; if the metric has none, about every scope it
    has. Of several flows it has to hold for each, of copies, too. One whose `where` names other cells is left
    out. What was not measured does not hold.
    """
    values = list(values)
    verdicts: list[Verdict] = []
    for expect in expects:
        where = expect.get("where") or {}
        if matches(where, factors):
            verdicts += _judge(expect, values)
    return verdicts


def _judge(expect: Mapping[str, object], values: Sequence[MetricValue]) -> Iterator[Verdict]:
    name, wanted = str(expect.get("metric")), _wanted(expect)
    of_metric = [value for value in values if value.metric == name]
    for scope, chosen in _at(expect, of_metric):
        if chosen:
            yield from (_held(expect, value, wanted) for value in chosen)
            continue
        known = sorted({value.metric for value in values})
        near = get_close_matches(name, known, 1)
        hint = f"; did you mean {near[0]}?" if near and not of_metric else ""
        scopes = ", ".join(value.scope for value in of_metric)
        hint = f"; it has the scopes {scopes}" if of_metric else hint
        yield Verdict(
            name,
            scope,
            ok=False,
            value=None,
            wanted=wanted,
            message=f"{name} was not measured at {scope}{hint}",
        )


def _held(expect: Mapping[str, object], value: MetricValue, wanted: str) -> Verdict:
    unit = "" if value.unit in ("", "1") else f" {value.unit}"
    found = "undefined" if value.value is None else f"{value.value:.6g}{unit}"
    why = f" ({value.note})" if value.note or value.value is None else ""
    return Verdict(
        value.metric,
        value.scope,
        ok=value.value is not None and bool(_holds(expect, value.value)),
        value=value.value,
        wanted=wanted,
        message=f"{value.metric} of {value.scope} is {found}{why}; expected {wanted}",
        rough=value.note in OTHERWISE,
    )


def _at(
    expect: Mapping[str, Any], values: Sequence[MetricValue]
) -> Iterator[tuple[str, Sequence[MetricValue]]]:
    """Each thing that the expectation names, and its values."""
    if expect.get("flow"):
        yield from ((name, at(values, flow=name)) for name in named(expect["flow"]))
    elif expect.get("scope"):
        asked = str(expect["scope"])
        yield asked, at(values, scope=asked) or at(values, flow=asked.removeprefix("flow:"))
    else:
        yield TOTAL, at(values)


def _holds(expect: Mapping[str, Any], value: float) -> bool:
    low, high, equals = expect.get("min"), expect.get("max"), expect.get("equals")
    above, below = expect.get("above"), expect.get("below")
    tolerance = expect.get("tolerance") or 0.0
    return (
        (low is None or value >= low)
        and (high is None or value <= high)
        and (above is None or value > above)
        and (below is None or value < below)
        and (equals is None or abs(value - equals) <= tolerance)
    )


def _wanted(expect: Mapping[str, object]) -> str:
    parts = [
        f"{words} {expect[key]:.10g}"
        for key, words in (("min", "≥"), ("above", ">"), ("max", "≤"), ("below", "<"))
        if expect.get(key) is not None
    ]
    if expect.get("equals") is not None:
        tolerance = expect.get("tolerance") or 0.0
        parts.append(f"= {expect['equals']:.10g}" + (f" ± {tolerance:g}" if tolerance else ""))
    return " and ".join(parts) or "any value"

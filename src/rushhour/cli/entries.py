"""What is said of each run of a command as JSON, and what its exit code is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rushhour.explain import Explanation
    from rushhour.metrics.value import MetricValue
    from rushhour.report.brief import Brief
    from rushhour.running.runner import Outcome


def ending(
    outcome: Outcome, metrics: Mapping[str, Sequence[MetricValue]], briefs: Mapping[str, Brief]
) -> dict[str, object]:
    """Of a run what the exit code is made of; where a report has read it, it is not read again."""
    if outcome.folder is None:
        return {"valid": None, "expectations": [], **_error(outcome)}
    from rushhour.record.record import Record
    from rushhour.summary.expectations import check
    from rushhour.summary.measured import metrics_of

    brief, known = briefs.get(outcome.folder.name), metrics.get(outcome.folder.name)
    if brief is not None and known:
        valid, judged = brief.valid, brief.judged(known)
    else:
        record = Record.open(outcome.folder)
        valid, judged = record.valid, check(record, known or metrics_of(record))
    return {"valid": valid, "expectations": [{"ok": verdict.ok} for verdict in judged], **_error(outcome)}


def entry(outcome: Outcome, metrics: Mapping[str, Sequence[MetricValue]]) -> dict[str, object]:
    """A run as JSON."""
    from dataclasses import asdict

    from rushhour.explain import explain
    from rushhour.record.record import Record
    from rushhour.summary.expectations import check
    from rushhour.summary.measured import metrics_of

    one = outcome.run
    record = None if outcome.folder is None else Record.open(outcome.folder)
    values = [] if record is None else metrics.get(record.path.name) or metrics_of(record)
    told = explain(record) if record is not None and record.is_whole else []
    return {
        "cell": one.cell.index,
        "factors": one.cell.factors,
        "kernel": one.kernel.name,
        "repetition": one.repetition,
        "seed": one.seed,
        "folder": None if outcome.folder is None else str(outcome.folder),
        "cached": outcome.cached,
        "valid": None if record is None else record.valid,
        "invalid_reasons": [] if record is None else list(record.manifest.invalid_reasons),
        "warnings": [] if record is None else list(record.manifest.warnings),
        "metrics": [asdict(value) for value in values],
        "expectations": [] if record is None else [asdict(verdict) for verdict in check(record, values)],
        "why": [_why(one) for one in told],
        **_error(outcome),
    }


def _why(one: Explanation) -> dict[str, object]:
    return {
        "flow": one.flow,
        "limit": one.limit,
        "goodput_bps": one.goodput_bps,
        "possible_bps": one.possible_bps,
        "shares": dict(one.shares),
        "findings": [found.explained() for found in one.findings],
    }


def _error(outcome: Outcome) -> dict[str, object]:
    return {
        "skipped": outcome.error.message if outcome.skipped and outcome.error else None,
        "error": None if outcome.error is None or outcome.skipped else str(outcome.error),
    }

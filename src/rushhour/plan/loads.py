"""Loads of a scenario as the plan's entries, and as words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.quantities.units import Duration
from rushhour.quantities.words import plural

if TYPE_CHECKING:
    from rushhour.record.plan_file import PlanLoad
    from rushhour.spec.loads import Load
    from rushhour.spec.scenario import Scenario


def load_entries(scenario: Scenario) -> list[dict[str, object]]:
    """The plan's `loads`; a load with no share of a processor is left out."""
    return [_entry(load, scenario) for load in scenario.load if load.share != 0]


def _entry(load: Load, scenario: Scenario) -> dict[str, object]:
    entry: dict[str, object] = {
        "name": load.label,
        "node": load.node,
        "kind": load.kind,
        "start_ns": load.start.ns,
        "stop_ns": _end_ns(load, scenario),
    }
    more = {
        "generator": None if load.generator == "agent" else load.generator,
        "workers": load.workers,
        "share": load.share,
        "bytes": load.size.bytes if load.size else None,
        "limit_bytes": load.limit.bytes if load.limit else None,
    }
    return entry | {key: value for key, value in more.items() if value is not None}


def _end_ns(load: Load, scenario: Scenario) -> int:
    span = scenario.span.ns
    return span if load.duration is None else min(span, load.start.ns + load.duration.ns)


def load_row(load: Load, scenario: Scenario) -> list[str]:
    """A load in words: name, place, what it takes, from when to when."""
    all_of_it = "each processor" if load.kind == "cpu" else ""
    workers = plural(load.workers, "worker") if load.workers else all_of_it
    takes = f"{100 * (1 if load.share is None else load.share):g} %" if load.kind == "cpu" else str(load.size)
    kept = f"{load.limit} of it in memory" if load.limit else ""
    by = f"by {load.generator}" if load.generator else ""
    words = ", ".join(word for word in (takes, workers, kept, by) if word)
    time = f"{load.start} → {Duration(_end_ns(load, scenario))}"
    return [f"load {load.label}", load.node, load.kind, time, words]


def load_command(entry: PlanLoad) -> str:
    """A line for a shell that makes about this load: stress-ng's."""
    seconds = (entry.stop_ns - entry.start_ns) / 1e9
    words = ["stress-ng", "--timeout", f"{seconds:g}s"]
    if entry.kind == "cpu":
        # 0: one for each processor.
        words += [
            "--cpu",
            str(entry.workers or 0),
            "--cpu-load",
            f"{100 * (1 if entry.share is None else entry.share):g}",
        ]
    else:
        workers = entry.workers or 1
        each = (entry.bytes or 0) // workers
        words += ["--vm", str(workers), "--vm-bytes", str(each), "--vm-keep"]
    wait = f"sleep {entry.start_ns / 1e9:g}; " if entry.start_ns else ""
    return f"({wait}{' '.join(words)}) &  # {entry.node}'s load {entry.name}"

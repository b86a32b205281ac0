"""Connections of several paths (MPTCP): what they had, and what held each of their subflows.

Whose data a connection waited for, nothing tells: its window and its buffers are one for all subflows, and
the scheduler's reasons are not recorded. So limits are told of subflows only, each by its own socket's
counters.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.causes.finding import Finding
from rushhour.causes.table import CAUSES
from rushhour.causes.telling import sentence
from rushhour.causes.thresholds import WORTH_SAYING
from rushhour.explain.outages import LIMITS, outages
from rushhour.explain.outages import shares as with_outages
from rushhour.metrics.mptcp import arrived, subflows
from rushhour.metrics.tcp import ideal_bps
from rushhour.quantities.short import percent, rate
from rushhour.quantities.words import plural
from rushhour.series.timeline import timeline
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rushhour.record.context import Flow
    from rushhour.record.record import Record

    Told = tuple[str, float, float | None, Mapping[str, float], Finding]

SCHEDULER = "net.mptcp.scheduler"
GIVES = "its connection gave it nothing to send"


def connections(record: Record) -> Iterator[Told]:
    """Each connection and behind it its subflows: name, goodput, what was possible, shares, what is found."""
    for flow in record.flows(*kinds.MPTCP_STREAMS):
        span = flow.active_ns
        if span is None:
            continue
        seconds = (span[1] - span[0]) * 1e-9
        had = 8 * (flow.outcome.bytes_received or 0) / seconds
        parts = [_part(record, flow, one, seconds) for one in subflows(record, flow)]
        sender = next((node for node in record.plan.nodes if node.name == record.asked(flow).from_), None)
        said = {
            "flow": flow.name,
            "had": rate(had),
            "count": plural(len(parts), "subflow"),
            "each": ", ".join(f"{name} {rate(bps)}" for name, bps, *_ in parts),
            "scheduler": "default" if sender is None else sender.settings.get(SCHEDULER, "default"),
        }
        yield flow.name, had, None, {}, _finding("several-paths", "", 1.0, said)
        yield from parts


def _part(record: Record, flow: Flow, part: Flow, seconds: float) -> Told:
    bps = 8 * (arrived(record, part) or 0) / seconds
    # A subflow has no outcome of its own: it lasted as long as its connection, at most.
    lasted = replace(part, outcome=replace(flow.outcome, connected_ns=None))
    found, possible = timeline(record, lasted), ideal_bps(record, lasted)
    shares = {} if found is None else with_outages(found, outages(record, lasted))
    limit = next(iter(shares), "")
    backup = _is_backup(record, part) and shares.get("application", 0.0) > WORTH_SAYING
    said = {
        "flow": part.name,
        "had": rate(bps) + (f" of {rate(possible)}" if possible else ""),
        "held": _held(shares) or "its socket was never read",
        "backup": ". It is a backup: it carries data only where no other can" if backup else "",
    }
    return part.name, bps, possible, shares, _finding("subflow", limit, shares.get(limit, 0.0), said)


def _is_backup(record: Record, part: Flow) -> bool:
    """Whether a host's path manager calls one of its addresses a backup."""
    asked = record.asked(part)
    told = (one for node in record.plan.nodes if node.mptcp for one in node.mptcp.endpoints if one.backup)
    return any(one.address in (asked.src, asked.dst) for one in told)


def _held(shares: Mapping[str, float]) -> str:
    """What held a subflow, each for how much of its time."""
    says = {**LIMITS, "application": GIVES}
    return ", ".join(
        f"for {percent(share)} of its time {says[limit]}"
        for limit, share in shares.items()
        if share >= WORTH_SAYING
    )


def _finding(key: str, limit: str, share: float, words: Mapping[str, str]) -> Finding:
    cause = CAUSES[key]
    return Finding(key, "note", sentence(key, **words), "", (), share, None, cause.layer, cause.source, limit)

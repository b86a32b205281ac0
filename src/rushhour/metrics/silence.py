"""Silence: nothing arrived where something was sent, and the scenario does not expect that.

A link through which no packet comes (a bucket or a buffer smaller than a packet, a limit of none) measures as
an idle one: no loss was counted on a wire, no queue was seen. Such a run is no result. Where a scenario
expects it (`[[expect]]` of a goodput of 0, a loss of 1), it is what was asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rushhour.metrics.tcp import last
from rushhour.metrics.value import TOTAL
from rushhour.quantities.factors import matches, named
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rushhour.record.context import Flow
    from rushhour.record.record import Record

# What a first packet may need until something is counted at the other end, in round-trip times, and at least.
_TRIPS, _LEAST_NS = 4, 200_000_000
# From this loss on silence is what was asked for.
_MOST = 0.9
# Metrics that are 0 where nothing arrives.
_ARRIVED = (
    "goodput_bps",
    "goodput_steady_bps",
    "messages_received",
    "transactions_per_second",
    "utilization",
)
# A policy that throws away what matches it, in the words of a plan's filters.
_DROPS = ("drop", "blackhole", "unreachable", "prohibit")


def silences(record: Record) -> Iterator[tuple[str, str]]:
    """Where nothing arrived, and what was sent there, in words; for the whole run, or for each link end."""
    flows, silent = _flows(record)
    if not silent:
        return
    if len(silent) == len(flows):
        yield "the whole run", _sent(flows)
        return
    told: set[int] = set()
    for end in record.context.ends.values():
        crossing = [flow for flow in flows if end.end in flow.ends]
        muted = {flow.id for flow in crossing} <= silent and bool(crossing)
        if (
            muted
            and end.role in ("queue", "netem", "police", "wire")
            and not told.issuperset(flow.id for flow in crossing)
        ):
            told |= {flow.id for flow in crossing}
            yield end.label, _sent(crossing)


def silent_flows(record: Record) -> list[str]:
    """The names of flows of which nothing arrived; those of an arrival process are too short to tell."""
    _, silent = _flows(record)
    flows = record.context.flows
    return [flows[number].name for number in sorted(silent) if flows[number].arrival is None]


def _flows(record: Record) -> tuple[list[Flow], set[int]]:
    """The flows of which something could have arrived, and the numbers of those of which nothing did."""
    flows = [flow for flow in record.context.flows.values() if _could_arrive(record, flow)]
    silent = {flow.id for flow in flows if _is_silent(record, flow)}
    if silent and _asked_for(record):
        return flows, set()
    return flows, {flow.id for flow in flows if flow.id in silent and not _expected(record, flow)}


def _could_arrive(record: Record, flow: Flow) -> bool:
    """Whether it had the time: it may start at the end, or come from far away; its receiver may have left."""
    duration = record.context.duration_ns
    ends = (flow.stop_ns, record.plan.flow(flow.id).leave_ns, duration)
    stop = min(end for end in ends if end is not None)
    return stop > flow.start_ns and duration - flow.start_ns > _LEAST_NS + _TRIPS * (flow.base_rtt_ns or 0)


def _is_silent(record: Record, flow: Flow) -> bool:
    if flow.outcome.bytes_received or flow.outcome.packets_received:
        return False
    # What came and was acknowledged, but has not been read yet, has arrived; a SYN counts as a byte.
    if flow.kind in kinds.TCP_STREAMS and (last(record, flow, "bytes_acked") or 0) > 1:
        return False
    # What was found may have been refused, or have had nothing to say.
    sends = flow.kind in kinds.OVER_TCP and not flow.is_found
    if not (flow.outcome.bytes_sent or flow.outcome.packets_sent or sends):
        return False
    table = kinds.TABLE.get(flow.kind)
    rows = record.table(table, flow=flow.id) if table is not None and record.has(table) else None
    if rows is None or not len(rows):
        return True
    stamps = rows["rx_ns" if table != "transaction" else "end_ns"]
    return not bool(np.any(stamps >= 0))


def _asked_for(record: Record) -> bool:
    """Whether the scenario itself lets nothing through: a loss of one, an input that is dropped, a policy."""
    lost = any(
        end.loss >= _MOST or any(value >= _MOST for _, value in end.over_time.get("loss", ()))
        for end in record.context.ends.values()
    )
    if lost or any(node.drop_input for node in record.plan.nodes):
        return True
    plan = record.plan
    policies = str([*(end.filters for end in plan.link_ends), plan.routes])
    return any(word in policies for word in _DROPS) or "loss 100%" in str(plan.links)


def _expected(record: Record, flow: Flow) -> bool:
    """Whether the scenario itself expects that nothing of the flow arrives, as beyond a black hole."""
    return any(
        _of_nothing(expect)
        and matches(expect.get("where") or {}, record.factors)
        and {TOTAL, flow.name, flow.group, f"flow:{flow.name}"}.intersection(
            named(expect.get("flow") or expect.get("scope") or TOTAL)
        )
        for expect in record.manifest.scenario.resolved.expect
    )


def _of_nothing(expect: Mapping[str, Any]) -> bool:
    high = expect.get("equals") if expect.get("max") is None else expect.get("max")
    low = expect.get("equals") if expect.get("min") is None else expect.get("min")
    if expect.get("metric") == "loss":
        return low is not None and low >= _MOST
    return expect.get("metric") in _ARRIVED and high is not None and high <= 0


def _sent(flows: Sequence[Flow]) -> str:
    names = [flow.name for flow in flows]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"nothing of {', '.join(names[:3])}{more}"

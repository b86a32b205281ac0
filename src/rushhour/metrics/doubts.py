"""Doubts about a run whose links are true: what its scenario did not ask for, or no link can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rushhour.metrics.backlog import miscounted
from rushhour.metrics.completion import offered_load
from rushhour.metrics.settled import drifts
from rushhour.metrics.silence import silent_flows
from rushhour.metrics.surroundings import surroundings
from rushhour.quantities.words import plural
from rushhour.record.manifest import VIRTUAL
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rushhour.record.context import Flow
    from rushhour.record.record import Record

SENDER = 0
NAMED = 3
"""Flows that a sentence names."""
SHORTEST_FRAME_NS = 256
SHORTEST_TRIP_NS = 250_000
"""Below, observation changes what is measured by more than 1 % (docs/labs.md, "Very short times")."""


def doubts(record: Record) -> list[str]:
    """Sentences for the manifest's warnings: arrivals beyond the rate, what was replaced or borrowed."""
    return [
        *_unstamped(record),
        *_overloads(record),
        *_replaced(record),
        *_borrowed(record),
        *_too_fine(record),
        *(f"program {one.name} {one.error}" for one in record.result.programs if one.error),
        *_silent(record),
        *_ended_early(record),
        *_refused(record),
        *_corrupted(record),
        *miscounted(record),
        *drifts(record),
        *surroundings(record),
    ]


def _unstamped(record: Record) -> list[str]:
    """Stamps of sojourn times that the agent was too slow to take."""
    lost = record.result.lost_events.get("sojourn", 0)
    hint = "read more often (`sample`)"
    return (
        [f"{lost} stamps of packets at queues found no room, so `sojourn` has gaps: {hint}"] if lost else []
    )


def _silent(record: Record) -> list[str]:
    """Flows of which nothing arrived; of many in one sentence."""
    names = silent_flows(record)
    if len(names) <= NAMED:
        return [f"nothing of {name} arrived" for name in names]
    return [f"nothing of {', '.join(names[:NAMED])} and {plural(len(names) - NAMED, 'more flow')} arrived"]


def _ended_early(record: Record) -> list[str]:
    """Flows that an error ended before their time, of copies the first."""

    def told(flow: Flow) -> str | None:
        done_ns, error = flow.ended_early_ns(record.context.duration_ns), flow.outcome.error
        if not error or done_ns is None:
            return None
        return f"flow {flow.name} ended at {done_ns / 1e9:.3g} s: {error}"

    return _first_of_copies(record.flows(), told)


def _refused(record: Record) -> list[str]:
    """Flows of datagrams some of whose sends failed, of copies the first."""

    def told(flow: Flow) -> str | None:
        count, error = flow.outcome.sends_refused, flow.outcome.error
        if not count or not error:
            return None
        why = error.removeprefix("send: ")
        return f"flow {flow.name}: the kernel refused {count} of its sends ({why})"

    return _first_of_copies(record.flows(*kinds.UDP_STREAMS), told)


def _corrupted(record: Record) -> list[str]:
    """Flows of which bytes arrived that nobody sent, of copies the first."""

    def told(flow: Flow) -> str | None:
        count, came = flow.outcome.corrupted_bytes, flow.outcome.bytes_received
        if not count or came is None:
            return None
        where = "in datagram" if flow.kind in kinds.UDP_STREAMS else "at byte"
        return (
            f"flow {flow.name}: {count} of {plural(came, 'byte')} that arrived are not what was sent, "
            f"the first {where} {flow.outcome.first_corrupted}"
        )

    return _first_of_copies(record.flows(), told)


def _first_of_copies(flows: Iterable[Flow], told: Callable[[Flow], str | None]) -> list[str]:
    """What is told of each flow, of copies only what is told of the first."""
    found: dict[str, str] = {}
    for flow in flows:
        words = told(flow)
        if words is not None:
            found.setdefault(flow.group, words)
    return list(found.values())


def _overloads(record: Record) -> list[str]:
    """Arrival processes of a load above 1: nothing is steady then, and unfinished flows decide every mean."""
    loads = [found for found in offered_load(record) if (found.value or 0) > 1]
    return [
        f"{found.scope} offers {found.value:.2f} times what the bottleneck carries: flows pile up"
        for found in loads
    ]


def _replaced(record: Record) -> list[str]:
    """Congestion controls that the kernel replaced by another.

    A kernel may do so: `dctcp` becomes `dctcp-reno` on a connection for which ECN was not agreed.
    """
    if not record.has("tcp_info"):
        return []
    rows = record.table("tcp_info")
    senders = rows["side"] == SENDER
    numbers, names = rows["flow"][senders], rows["cc"][senders]
    asked = {flow.id: flow.cc for flow in record.plan.flows}
    flows, places = np.unique(numbers[::-1], return_index=True)
    found = []
    for flow, place in zip(flows.tolist(), places.tolist(), strict=True):
        used = names[::-1][place].decode(errors="replace")
        if asked.get(flow) and used and used != asked[flow]:
            name = record.context.flows[flow].name
            found.append(
                f"flow {name} asked for {asked[flow]}, the kernel used {used}"
                + (": ECN was not agreed; set receiver_cc too" if used == "dctcp-reno" else "")
            )
    return found


def _too_fine(record: Record) -> list[str]:
    """What virtual time is too coarse for: its clock moves on by 256 ns whenever a process reads it."""
    if record.manifest.lab not in VIRTUAL:
        return []
    found = []
    times = [
        (flow.frame_bytes * 8e9 / flow.bottleneck_bps, flow.name)
        for flow in record.context.flows.values()
        if flow.frame_bytes and flow.bottleneck_bps
    ]
    if times and min(times)[0] < SHORTEST_FRAME_NS:
        shortest, name = min(times)
        found.append(
            f"a frame of flow {name} takes {shortest:.0f} ns at its bottleneck, less than a step of the "
            f"virtual clock ({SHORTEST_FRAME_NS} ns): the clock limits the flows, not the link; take a lower "
            "rate or a larger mtu"
        )
    trips = [
        (flow.base_rtt_ns, flow.name)
        for flow in record.context.flows.values()
        if flow.kind in kinds.CALLS and flow.base_rtt_ns and _small(flow)
    ]
    if trips and min(trips)[0] < SHORTEST_TRIP_NS:
        trip, name = min(trips)
        found.append(
            f"flow {name} has an idle round trip of {trip / 1e3:.3g} µs: reading the clock adds about 2.5 µs "
            f"to each transaction, more than 1 % below {SHORTEST_TRIP_NS / 1e3:g} µs"
        )
    return found


def _small(flow: Flow) -> bool:
    """Whether request and response are a packet each: then a transaction is little more than a round trip."""
    return max(flow.request_frame_bytes, flow.answer_frame_bytes) < (flow.frame_bytes or 0)


def _borrowed(record: Record) -> list[str]:
    """A program of this machine that had a hand in a virtual network."""
    tc = record.manifest.tools.get("tc")
    if tc is None or record.manifest.virtual_s is None:
        return []
    who = f"this machine's tc ({tc.version}, sha256 {(tc.sha256 or 'unknown')[:12]})"
    return [f"{who} set what the agent does not know: the run's bytes, and its key, depend on that program"]

"""From flows of a scenario to flows of a run: arrivals drawn, on/off periods laid down, numbers given.

Takes a `Layout` and the run's seed. A flow without arrivals stays itself; one with them becomes one flow
for each arrival. Numbers follow the order of the scenario, then that of arrival.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from rushhour.errors import PlanError
from rushhour.plan.arrivals import arrivals, mean_size, periods, sizes
from rushhour.plan.context import bottleneck, payload_of
from rushhour.spec.workload import MAX_FLOWS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.plan.flows import PlannedFlow
    from rushhour.plan.layout import Layout

NS = 10**9
MAX_PERIODS = 20_000  # of one source; each is two numbers of the plan


@dataclass(frozen=True, slots=True)
class Scheduled:
    """One flow of a run: its keys and ends, when it starts, and where chance had a say, what it said."""

    flow: PlannedFlow
    start_ns: int
    bytes: int | None = None
    periods: tuple[tuple[int, int], ...] = ()
    arrival: tuple[int, int] | None = None  # from when to when the process runs that it is of


def scheduled(layout: Layout, seed: int) -> list[Scheduled]:
    """Give every flow of a run, numbered.

    Raises:
        PlanError: more flows than a cell holds, a load without a bottleneck, too many periods.
    """
    found: list[Scheduled] = []
    for flow in layout.flows:
        room = MAX_FLOWS - len(found)
        found += islice(_of(layout, flow, seed), room + 1)
        if len(found) > MAX_FLOWS:
            raise PlanError(
                f"more than {MAX_FLOWS} flows: there are ports for no more",
                where=f"flow {flow.name}",
                hint="lower its rate or load, raise the mean size, or shorten its duration",
            )
    found += [Scheduled(flow, flow.keys.start.ns) for flow in layout.subflows]
    return [replace(item, flow=replace(item.flow, id=number)) for number, item in enumerate(found)]


def _of(layout: Layout, flow: PlannedFlow, seed: int) -> Iterator[Scheduled]:
    keys = flow.keys
    span = _span(layout, flow)
    size = None if keys.bytes is None else keys.bytes.bytes
    if keys.arrivals is not None and keys.size is not None:
        times = arrivals(keys.arrivals, _per_second(layout, flow), span, seed, flow.name)
        drawn = zip(times, sizes(keys.size, seed, flow.name), strict=False)
        for number, (at, drawn_size) in enumerate(drawn, 1):
            yield Scheduled(replace(flow, name=f"{flow.name}.{number}"), at, drawn_size, arrival=span)
    elif keys.on is not None and keys.off is not None:
        on = tuple(islice(periods(keys.on, keys.off, span, seed, flow.name), MAX_PERIODS + 1))
        if len(on) > MAX_PERIODS:
            raise PlanError(
                f"it would be on and off more than {MAX_PERIODS} times",
                where=f"flow {flow.name}",
                hint="lengthen on and off, or shorten its duration",
            )
        yield Scheduled(flow, keys.start.ns, size, on)
    else:
        yield Scheduled(flow, keys.start.ns, size)


def _span(layout: Layout, flow: PlannedFlow) -> tuple[int, int]:
    """From when to when a flow's source is there, in ns."""
    start, stop = flow.keys.start.ns, layout.scenario.span.ns
    return start, stop if flow.keys.duration is None else min(stop, start + flow.keys.duration.ns)


def _per_second(layout: Layout, flow: PlannedFlow) -> float:
    """Mean arrivals of one copy: as given, or so that the data's frames take the load of the bottleneck."""
    keys = flow.keys
    if keys.arrivals is None or keys.size is None or keys.arrivals.rate is not None:
        return keys.arrivals.rate.per_s / keys.count if keys.arrivals and keys.arrivals.rate else 0.0
    narrowest = bottleneck(layout, layout.steps(flow.sender, flow.receiver))
    rate = layout.stage(narrowest).rate_bps if narrowest else None
    if rate is None:
        raise PlanError(
            "a load is a share of the bottleneck's rate, and nothing limits its path",
            where=f"flow {flow.name}",
            hint='give a link a rate, or write rate = "50/s" in arrivals',
        )
    payload, frame = payload_of(layout, flow)
    bits = mean_size(keys.size) * 8 * frame / payload
    return (keys.arrivals.load or 0.0) * rate / bits / keys.count

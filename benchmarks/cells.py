"""What single cells cost: an empty one, a known one, a fast one, one with a thousand flows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from rushhour.running import runner

from .measure import Cost, Figure, cost, costs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.lab.base import Lab
    from rushhour.record.record import Record
    from rushhour.running.runner import Batch

    from .workshop import Workshop

EMPTY = """
title = "Empty"
duration = "100ms"
[topology]
preset = "dumbbell"
rate = "10mbit"
rtt = "10ms"
[[flow]]
bytes = "1kB"
"""

FAST = """
title = "One gigabit per second"
duration = "{seconds}s"
[topology]
preset = "dumbbell"
rate = "1gbit"
rtt = "10ms"
[[flow]]
cc = "cubic"
count = {flows}
"""


def empty_cell(shop: Workshop) -> Iterator[Figure]:
    """From a plan to decoded metrics where nearly nothing happens: what every cell costs at least."""
    lab, study = runner.make_lab("uml"), shop.study(EMPTY)
    run = next(study.runs())
    found = costs(lambda: shop.run(lab, study.job(run)), 2 * shop.times)
    yield Figure.of("empty cell, plan to metrics", "s", found, lambda seconds: seconds, target=0.15)


def repeated_run(shop: Workshop) -> Iterator[Figure]:
    """The same cell again: from the cache, to a record of its own."""
    study, lab = shop.study(FAST.format(seconds=1 if shop.quick else 10, flows=1)), runner.make_lab("uml")
    first = cost(lambda: list(runner.carry_out([study], lab, jobs=1)))
    copies = [replace(study, folder=shop.place(), failures=[]) for _ in range(shop.times)]
    again = [cost(partial(_carry_out, copy, lab)) for copy in copies]
    yield Figure(
        "repeated run, of the first",
        "%",
        [100 * one.wall / first.wall for one in again],
        [100 * one.cpu / first.cpu for one in again],
        target=1.0,
        note=f"first {first.wall:.2f} s, again {again[0].wall * 1000:.0f} ms",
    )


def _carry_out(study: Batch, lab: Lab) -> list[runner.Outcome]:
    return list(runner.carry_out([study], lab, jobs=1))


def packets(shop: Workshop) -> Iterator[Figure]:
    """Traced data packets a second on one core, offloads off, from a plan to decoded columns."""
    found, sent = _fast(shop, 1 if shop.quick else 5, 1)
    yield Figure.of(
        "data packets at 1 Gbit/s, traced",
        "/s",
        found,
        lambda seconds: sent / seconds,
        target=200_000,
        at_least=True,
        note=f"{sent:,.0f} packets",
    )


def thousand(shop: Workshop) -> Iterator[Figure]:
    """A thousand flows against one, per packet: of a whole run, and of the seconds a longer one adds."""
    short, long = (1, 4) if shop.quick else (2, 10)
    sums = [[_fast(shop, seconds, flows) for seconds in (short, long)] for flows in (1, 1000)]
    per_packet = [_lowest(found) / sent for (_, (found, sent)) in sums]
    added = [(_lowest(late) - _lowest(early)) / (more - few) for ((early, few), (late, more)) in sums]
    set_up = _lowest(sums[1][0][0]) - added[1] * sums[1][0][1]
    yield Figure(
        f"1000 flows against 1, per packet, {long} s",
        "x",
        [per_packet[1] / per_packet[0]],
        target=1.3,
        note=f"CPU time; {per_packet[1] * 1e6:.1f} us a packet",
    )
    yield Figure(
        f"the same without set-up ({long} s - {short} s)",
        "x",
        [added[1] / added[0]],
        target=1.3,
        note=f"CPU time; {set_up:.1f} s of set-up and end for 1000 flows",
    )


def _lowest(found: list[Cost]) -> float:
    return min(one.cpu for one in found)


def _fast(shop: Workshop, seconds: int, flows: int) -> tuple[list[Cost], float]:
    """Costs of runs, and their data packets."""
    lab, job = runner.make_lab("uml"), shop.job(FAST.format(seconds=seconds, flows=flows))
    records: list[Record] = []
    found = costs(lambda: records.append(shop.run(lab, job)), shop.times)
    return found, sum(flow["bytes_received"] for flow in records[0].result["flows"]) / 1448

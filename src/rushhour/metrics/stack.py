"""What the hosts' IP counted: congestion marks that arrived, fragments made and put together, ICMP errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.metrics.paths import stack_counters
from rushhour.metrics.value import TOTAL, Found, Metric

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rushhour.metrics.value import Better
    from rushhour.record import Record


def _sum_of(names: Iterable[str]) -> Callable[[Record], Iterator[Found]]:
    def summed(record: Record) -> Iterator[Found]:
        counters = stack_counters(record)
        if counters:
            yield Found(TOTAL, float(sum(counters.get(name, 0) for name in names)))

    return summed


def _metric(name: str, better: Better, counters: tuple[str, ...], definition: str) -> Metric:
    told = " + ".join(counter.replace(".", "") for counter in counters)
    definition = f"{definition} during the experiment, of all hosts: {told}."
    return Metric(name, "packets", better, ("total",), definition, _sum_of(counters))


METRICS = [
    _metric(
        "ect_received",
        "none",
        ("IpExt.InECT0Pkts", "IpExt.InECT1Pkts"),
        "IPv4 packets that arrived as ECN-capable and not marked",
    ),
    _metric(
        "ce_received", "none", ("IpExt.InCEPkts",), "IPv4 packets that arrived with Congestion Experienced"
    ),
    _metric("fragments_made", "none", ("Ip.FragCreates",), "IPv4 fragments that hosts made of their packets"),
    _metric("reassembled", "higher", ("Ip.ReasmOKs",), "IPv4 packets that hosts put together of fragments"),
    _metric(
        "reassembly_failures",
        "lower",
        ("Ip.ReasmFails",),
        "Failures of hosts to put IPv4 fragments together, by time, memory or overlap (the kernel counts "
        "some of them once a fragment)",
    ),
    _metric(
        "icmp_errors_received",
        "none",
        ("Icmp.InDestUnreachs", "Icmp.InTimeExcds", "Icmp.InParmProbs"),
        "ICMP errors that hosts received: destination unreachable (among them fragmentation needed), time "
        "exceeded, parameter problem",
    ),
]

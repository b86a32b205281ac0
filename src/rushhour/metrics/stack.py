"""What the hosts' IP counted: congestion marks that arrived, fragments made and put together, ICMP errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.metrics.paths import stack_counters
from rushhour.metrics.value import TOTAL, Found, Metric

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rushhour.metrics.value import Better
    from rushhour.record.record import Record


def _sum_of(names: Iterable[str]) -> Callable[[Record], Iterator[Found]]:
    def summed(record: Record) -> Iterator[Found]:
        counters = stack_counters(record)
        if counters:
            yield Found(TOTAL, float(sum(counters.get(name, 0) for name in names)))

    return summed


def _metric(name: str, better: Better, counters: tuple[str, ...], definition: str) -> Metric:
    told = " + ".join(counter.replace(".", "") for counter in counters)
    definition = f"{definition}: {told}."
    return Metric(name, "packets", better, ("total",), definition, _sum_of(counters))


METRICS = [
    _metric(
        "ect_received",
        "none",
        ("IpExt.InECT0Pkts", "IpExt.InECT1Pkts", "Ip6.InECT0Pkts", "Ip6.InECT1Pkts"),
        "Packets that arrived as ECN-capable and not marked",
    ),
    _metric(
        "ce_received",
        "none",
        ("IpExt.InCEPkts", "Ip6.InCEPkts"),
        "Packets that arrived with Congestion Experienced",
    ),
    _metric(
        "fragments_made",
        "none",
        ("Ip.FragCreates", "Ip6.FragCreates"),
        "Fragments that hosts made of their packets",
    ),
    _metric(
        "reassembled",
        "higher",
        ("Ip.ReasmOKs", "Ip6.ReasmOKs"),
        "Packets that hosts put together of fragments",
    ),
    _metric(
        "reassembly_failures",
        "lower",
        ("Ip.ReasmFails", "Ip6.ReasmFails"),
        "Failures to put fragments together, by time, memory or overlap (some count once a fragment)",
    ),
    _metric(
        "icmp_errors_received",
        "none",
        (
            *("Icmp.InDestUnreachs", "Icmp.InTimeExcds", "Icmp.InParmProbs"),
            *("Icmp6.InDestUnreachs", "Icmp6.InPktTooBigs", "Icmp6.InTimeExcds", "Icmp6.InParmProblems"),
        ),
        "ICMP errors that hosts received (unreachable, too big, time exceeded, parameter problem)",
    ),
]

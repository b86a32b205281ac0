"""The machine around a run in real time: who else had its CPUs, how late it was.

Takes what the agent says of each machine (`machine` in `result.json`), gives sentences for the manifest's
warnings, and what makes a run on a user-space line untrue. Virtual labs have no machine and no such thing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rushhour.record.record import Record
    from rushhour.record.result_file import MachineResult

OTHERS = 0.05
"""Share of a machine's CPUs from which on other work is told: below, it is the system's own."""
STEAL = 0.01
LATE_LINE_NS = 1_000_000
"""A frame of a line may be late by this much, or by `LATE_SHARE` of the base RTT where that is more."""
LATE_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Carried:
    """One direction of a line: its end, how late 99 of 100 frames were at most, and those it lost unasked."""

    end: int
    late_ns: int
    lost: int


def machines(record: Record) -> Mapping[str, MachineResult]:
    """What each machine did meanwhile, by node; by the empty name where all nodes are on one."""
    return record.result.machine


def surroundings(record: Record) -> list[str]:
    """Sentences about a machine that did other work, was not given its CPUs, or read too late."""
    return [
        f"{f'{name}: ' if name else ''}{sentence}"
        for name, one in machines(record).items()
        for sentence in _sentences(one, record.sample_ns)
    ]


def carried(record: Record) -> Iterator[Carried]:
    """Every direction that a line in user space carried."""
    for one in machines(record).values():
        for told in one.line:
            yield Carried(told.end, int(told.lateness_ns.p99), told.missed + told.refused)


def sampling_error_ns(record: Record) -> int:
    """The greatest lateness of a reading; 0 where it is unknown."""
    return max((int(one.sampling_error_ns.get("max", 0)) for one in machines(record).values()), default=0)


def bound_ns(record: Record) -> float:
    """How late a line may be: `LATE_LINE_NS`, or `LATE_SHARE` of the shortest base RTT if that is longer."""
    known = [flow.base_rtt_ns for flow in record.context.flows.values() if flow.base_rtt_ns]
    shortest = min(known, default=0)
    return max(LATE_LINE_NS, LATE_SHARE * shortest)


def _sentences(one: MachineResult, sample_ns: int) -> Iterator[str]:
    others = one.cpu_share.get("others", 0)
    if others >= OTHERS:
        named = [f"{other.name} {100 * other.share:.0f} % of CPU {other.cpu}" for other in one.others]
        who = f" ({', '.join(named)})" if named else ""
        share = f"{100 * others:.0f} %"
        yield f"other processes took {share} of this machine's CPUs{who}: the numbers may be theirs"
    if one.steal >= STEAL:
        yield f"a hypervisor took {100 * one.steal:.1f} % of this machine's CPU time for something else"
    late = int(one.sampling_error_ns.get("p99", 0))
    if late > sample_ns / 2:
        yield f"one reading in a hundred was {late / 1e6:.3g} ms late, of {sample_ns / 1e6:g} ms between two"

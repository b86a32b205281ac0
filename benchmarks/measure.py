"""Costs of a piece of work, and what is made of them: figures beside their targets."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True)
class Cost:
    """Seconds by the wall clock, and of CPU time (user and system) of this process and its ended children."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Figure:
    """One measured quantity: its values over the repetitions by the wall clock, and the same by CPU time."""

    name: str
    unit: str
    values: Sequence[float]
    by_cpu: Sequence[float] = ()
    target: float | None = None
    at_least: bool = False
    note: str = ""

    @classmethod
    def of(
        cls, name: str, unit: str, found: Sequence[Cost], per: Callable[[float], float], **more: Any
    ) -> Self:
        """A figure made of costs: `per` turns seconds into the quantity."""
        return cls(name, unit, [per(one.wall) for one in found], [per(one.cpu) for one in found], **more)

    def met(self) -> str:
        """`yes`, `in CPU time`, `no`, or nothing where there is no target."""
        if self.target is None:
            return ""
        if self._holds(self.values):
            return "yes"
        return "in CPU time" if self.by_cpu and self._holds(self.by_cpu) else "no"

    def _holds(self, values: Sequence[float]) -> bool:
        assert self.target is not None
        middle = median(values)
        return middle >= self.target if self.at_least else middle <= self.target


def cpu_seconds() -> float:
    """CPU time of this process and of those it has waited for."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def cost(work: Callable[[], object]) -> Cost:
    """Do the work once and say what it took."""
    cpu, wall = cpu_seconds(), time.perf_counter()
    work()
    return Cost(time.perf_counter() - wall, cpu_seconds() - cpu)


def costs(work: Callable[[], object], times: int) -> list[Cost]:
    """Do the work once to warm caches, then `times` for measure."""
    work()
    return [cost(work) for _ in range(times)]


def load() -> str:
    """How busy the machine is: processes that want to run, by how many CPUs."""
    return f"load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} CPUs"

"""What a history is made of: points in order, and the changes between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rushhour.history.changes import Change

# Labs in virtual time: equal runs give equal values, so whether something changed is a matter of equality.
EXACT_LABS = ("uml", "qemu")


@dataclass(frozen=True)
class Point:
    """What one kernel gave (at one time): the values of its runs by (seed, repetition); None is undefined.

    `made` is when it ran: by kernel the first time, by time that time.
    """

    kernel: str
    release: str
    kernel_id: int
    agent: str
    made: str
    values: Mapping[tuple[int, int], float | None]

    @cached_property
    def known(self) -> Sequence[float]:
        """The values that are defined."""
        return [value for value in self.values.values() if value is not None]

    @property
    def mean(self) -> float | None:
        """Their mean; None without any."""
        return fmean(self.known) if self.known else None

    def document(self) -> dict[str, object]:
        """The point as JSON."""
        return {
            "kernel": self.kernel,
            "release": self.release,
            "agent": self.agent,
            "made": self.made,
            "n": len(self.known),
            "mean": self.mean,
            "min": min(self.known, default=None),
            "max": max(self.known, default=None),
            "values": [
                {"seed": seed, "repetition": repetition, "value": value}
                for (seed, repetition), value in self.values.items()
            ],
        }


@dataclass(frozen=True)
class Series:
    """A metric of one cell at one scope, over kernels or time. `label` is the cell in words."""

    scenario: str
    title: str
    quick: bool
    revision: str
    cell: int
    factors: Mapping[str, object]
    label: str
    lab: str
    metric: str
    scope: str
    unit: str
    better: str
    points: Sequence[Point]
    changes: Sequence[Change]

    @property
    def exact(self) -> bool:
        """Whether equal runs give equal values here."""
        return self.lab in EXACT_LABS

    @property
    def shifts(self) -> Sequence[Change]:
        """The changes of level."""
        return [change for change in self.changes if change.shift]

    def document(self) -> dict[str, object]:
        """The series as JSON."""
        names = (
            "scenario", "title", "quick", "revision", "cell", "label", "lab", "metric", "scope", "unit",
            "better",
        )  # fmt: skip
        return {
            **{name: getattr(self, name) for name in names},
            "factors": dict(self.factors),
            "exact": self.exact,
            "points": [point.document() for point in self.points],
            "changes": [change.document(self.points) for change in self.changes],
        }

"""A case: all that the rules judge."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rushhour.diagnosis.connections import Connection
    from rushhour.diagnosis.facts import Facts
    from rushhour.diagnosis.measured import Measured

End = Literal["a", "b"]
ENDS: tuple[End, End] = ("a", "b")
DIRECTIONS = ("a→b", "b→a")


@dataclass(frozen=True, slots=True)
class Path:
    """What is known of the way between the ends, measured or told by the user; None where it is not.

    `rate_bps` is what each direction could carry if the ends did not limit it.
    """

    rtt_ns: int | None = None
    rate_bps: Mapping[str, float] = field(default_factory=dict)
    mtu: int | None = None

    def bdp_bytes(self, direction: str) -> float | None:
        """A direction's bandwidth-delay product in bytes: the window that keeps it full (RFC 6349, 3.3.1)."""
        rate = self.rate_bps.get(direction)
        return None if rate is None or self.rtt_ns is None else rate * self.rtt_ns / 8e9


@dataclass(frozen=True, slots=True)
class Case:
    """Two ends, what was measured in each direction (keys of `DIRECTIONS`), and the path between them."""

    a: Facts
    b: Facts
    measured: Mapping[str, Measured] = field(default_factory=dict)
    path: Path = Path()
    connections: Sequence[Connection] = ()
    """Those that programs had between both ends before anything was measured, and that carried data."""

    def facts(self, end: str) -> Facts:
        """The facts of `a` or of `b`."""
        return self.a if end == "a" else self.b

    def called(self, end: str) -> str:
        """An end as a sentence calls it: `a (alice)`."""
        place = self.facts(end).place
        return f"{end} ({place})" if place and place != end else end


def other(end: str) -> End:
    """The end across."""
    return "b" if end == "a" else "a"


def sender(direction: str) -> End:
    """The end that data of a direction leaves."""
    return "a" if direction == "a→b" else "b"


def receiver(direction: str) -> End:
    """The end that data of a direction reaches."""
    return other(sender(direction))


def outgoing(end: str) -> str:
    """The direction in which an end sends."""
    return "a→b" if end == "a" else "b→a"

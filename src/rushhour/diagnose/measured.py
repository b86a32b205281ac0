"""What was measured in one direction."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurements of one direction; None is what was not measured."""

    idle_rtt_ns: float | None = None
    loaded_rtt_ns: float | None = None
    path_mtu: int | None = None
    single_bps: float | None = None
    several_bps: float | None = None

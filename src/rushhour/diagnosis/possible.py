"""What a path could carry, as far as the measurements tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.causes.evidence import REFUSED
from rushhour.causes.thresholds import HELD_BACK, TRAIN_LOST

if TYPE_CHECKING:
    from rushhour.diagnosis.measured import Measured


def possible_bps(m: Measured) -> float | None:
    """What the path could carry if the ends let it.

    What arrived at best; or, where the ends held all measurements back, the rate of the narrowest line.
    """
    most, train = m.capacity_bps, m.train
    held = m.several if m.several is not None and m.several.shares else m.single
    if held is None or train is None or train.rate_bps is None:
        return most
    ends = held.limited("receiver", "reader", "sndbuf", "application")
    return max(most or 0.0, train.rate_bps) if ends > HELD_BACK and train.loss < TRAIN_LOST else most


WRONG = ("Tcp.InCsumErrors", "Udp.InCsumErrors", "Icmp.InCsumErrors")
"""Counters of packets with a wrong checksum."""


def wrong_checksums(m: Measured) -> int:
    """Packets that came to the receiving end with a wrong checksum, as its stack and its card counted."""
    risen = m.counters.get(m.receiver, {})
    return int(sum(value for name, value in risen.items() if name in WRONG or "crc" in name))


def refused(m: Measured) -> int:
    """How often the receiving end threw data away that had arrived, for want of memory."""
    risen = m.counters.get(m.receiver, {})
    return int(sum(risen.get(name, 0) for name in REFUSED))


def pressures(m: Measured, end: str) -> int:
    """How often the memory of all TCP sockets of an end ran short."""
    risen = m.counters.get(end, {})
    return int(sum(by for name, by in risen.items() if name.endswith("TCPMemoryPressures")))


def bdp(m: Measured) -> float:
    """Bytes in flight that fill the path, if the ends let it; 0 where that is not known."""
    return (possible_bps(m) or 0) * (m.idle_rtt_ns or 0) / 8e9

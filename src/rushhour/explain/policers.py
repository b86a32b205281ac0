"""What policers let pass, by the words they were made with: bytes, or packets of whatever size."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rushhour.quantities.words import plural, quantity
from rushhour.record import courses
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.record.context import End, Flow
    from rushhour.record.record import Record

_OF_BYTES = re.compile(r"police burst (\d+)b")
_OF_PACKETS = re.compile(r"police of (\d+) packets a second, burst (\d+)")


def bucket(policers: Sequence[End], frame: int) -> float | None:
    """Bytes that the smallest bucket of these holds, of full frames where it counts packets."""
    of_bytes = (_OF_BYTES.match(end.queue or "") for end in policers)
    sizes = [float(words[1]) for words in of_bytes if words]
    sizes += [float(burst) * frame for _, burst in _packets(policers)]
    return min(sizes, default=None)


def rate_bps(policers: Sequence[End], frame: int) -> float | None:
    """The least that these let pass, of full frames where they count packets."""
    return min((_rate_bps(end, frame) for end in policers), default=None)


def _rate_bps(policer: End, frame: int) -> float:
    return next((8.0 * frame * per_s for per_s, _ in _packets([policer])), policer.rate_bps or 0)


def per_second(policers: Sequence[End]) -> int | None:
    """How many packets a second these let pass at least; None where none of them counts packets."""
    return min((per_s for per_s, _ in _packets(policers)), default=None)


def counts_packets(policer: End) -> bool:
    """Whether its bucket is one of packets."""
    return bool(_packets([policer]))


def said(policer: End) -> str:
    """What a policer does: `policed to 2 Mbit/s, bucket 10 kB`."""
    for per_s, burst in _packets([policer]):
        return f"policed to {plural(per_s, 'packet')} a second, bucket {plural(burst, 'packet')}"
    rates = dict.fromkeys(quantity(rate, "bit/s") for rate in courses.extent(policer, "rate_bps"))
    held = _OF_BYTES.match(policer.queue or "")
    return f"policed to {' … '.join(rates)}" + (
        f", bucket {quantity(float(held[1]), 'bytes')}" if held else ""
    )


def others(record: Record, flow: Flow, policers: Sequence[End]) -> tuple[str, ...]:
    """The groups of the other TCP flows that share the tightest of these policers, one entry a flow."""
    tight = min(policers, key=lambda end: end.rate_bps or 0, default=None)
    beside = [other for other in record.flows(*kinds.TCP_STREAMS) if other.id != flow.id]
    return tuple(other.group for other in beside if tight is not None and tight.end in other.crossed)


def _packets(policers: Sequence[End]) -> list[tuple[int, int]]:
    """Packets a second, and packets in the bucket, of those that count packets."""
    found = (_OF_PACKETS.match(end.queue or "") for end in policers)
    return [(int(words[1]), int(words[2])) for words in found if words]

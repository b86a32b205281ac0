"""What netem's words say of a way: slots in which it delivers, and packets that it lets overtake others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.causes.evidence import Shown
from rushhour.causes.thresholds import WAITED
from rushhour.quantities.short import rate, time
from rushhour.quantities.tc_units import TIMES, scaled
from rushhour.quantities.words import plural

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rushhour.explain.evidence import RecordedFlow
    from rushhour.record.context import End


@dataclass(frozen=True)
class Slots:
    """The slots of one end: what it holds back is delivered at their beginnings.

    Attributes:
        where: The end's label.
        gap_s: The mean time from one to the next; `longest_s` the longest.
        packets: How many one carries; None: all that wait. `rate_bps`: what they carry then, of payload.
        ours: Whether a flow's data wait for them, not its ACKs.
    """

    where: str
    gap_s: float
    longest_s: float
    packets: int | None = None
    rate_bps: float | None = None
    ours: bool = True


def slots(data: Iterable[End], acks: Iterable[End], frame: int, payload: float) -> Slots | None:
    """The slots on a flow's way that carry least, there before back; of those without a bound the longest."""
    found = [_slots(end, frame, payload, ours=True) for end in data]
    found += [_slots(end, frame, payload, ours=False) for end in acks]
    known = [one for one in found if one is not None]
    return min(known, key=lambda one: (one.rate_bps or float("inf"), -one.longest_s), default=None)


def words(end: End) -> list[str]:
    """Netem's words at an end; none where none is there."""
    kind, *own = (end.queue or "").split() or [""]
    return own if kind == "netem" else []


def drops_by_chance(end: End) -> bool:
    """Whether a netem there was told to lose packets; one that was not drops what its limit does not hold."""
    return bool({"loss", "drop"} & {*words(end)})


def _slots(end: End, frame: int, payload: float, *, ours: bool) -> Slots | None:
    own = words(end)
    if "slot" not in own:
        return None
    after = own[own.index("slot") + 1 :]
    drawn = after[:1] == ["distribution"]
    times = [_seconds(word) for word in (after[2:4] if drawn else after[:2])]
    first, second = ([one for one in times if one is not None] + [0.0, 0.0])[:2]
    second = second if drawn else max(first, second)
    gap_s, longest_s = (first, first + second) if drawn else ((first + second) / 2, second)
    counted = _most(after, "packets", 1), _most(after, "bytes", frame or 1)
    packets = min((one for one in counted if one), default=None)
    known = packets is not None and gap_s > 0 and ours
    rate_bps = 8 * packets * payload / gap_s if known and packets else None
    return Slots(end.label, gap_s, longest_s, packets, rate_bps, ours)


def _seconds(word: str) -> float | None:
    found = scaled(word, TIMES)
    return None if found is None else found * 1e-9


def _most(after: Sequence[str], key: str, unit: int) -> int | None:
    """Packets that a slot carries by one of its limits; the one that passes it still goes."""
    said = after[after.index(key) + 1] if key in after[:-1] else ""
    return -(-int(said) // unit) if said.isdigit() and int(said) else None


def overtaking(ends: Iterable[End]) -> tuple[str, str]:
    """Where netem lets packets overtake others, with its words, `, at left → right, netem (…)`; and there."""
    for end in ends:
        own = words(end)
        at = own.index("delay") + 2 if "delay" in own else len(own)
        if "reorder" in own or any(_seconds(word) for word in own[at : at + 1]):
            return f", at {end.label} ({' '.join(own)})", end.label
    return "", ""


def in_slots(e: RecordedFlow) -> Shown | None:
    """A way that delivers in slots: they carry no more, or the wait for one is much of the round trip."""
    known = e.slots
    if known is None or e.base_rtt_s is None:
        return None
    longer_s = (e.rtt_s or 0.0) - e.base_rtt_s
    full = known.rate_bps is not None and known.rate_bps == e.possible_bps
    if not full and min(longer_s, known.longest_s) < WAITED * e.base_rtt_s:
        return None
    trip = f"the round trip was {time(e.rtt_s or 0.0)}, on an idle one of {time(e.base_rtt_s)}"
    waits = f"what arrives waits for the next, up to {time(known.longest_s)}, and {trip}"
    proof = f"they carry {rate(known.rate_bps or 0.0)} at most" if full else waits
    dropped = f"; the queue at {e.bottleneck} dropped {plural(e.queue_drops, 'packet')}"
    most = f", with at most {plural(known.packets, 'packet')}" if known.packets else ""
    said = {
        "what": "its data" if known.ours else "its ACKs",
        "where": f"at {known.where}",
        "slots": f"one every {time(known.gap_s)}{most}",
        "proof": proof + (dropped if e.queue_drops else ""),
    }
    return Shown(said, queue=known.where)

"""Whether the counts of a tree of queues agree: what a qdisc counts as waiting, and what waits below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rushhour.metrics.queue import queues
from rushhour.metrics.value import Found, Metric, of_end
from rushhour.quantities.words import plural, quantity
from rushhour.record.manifest import VIRTUAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from rushhour.record.context import End
    from rushhour.record.decode import Rows
    from rushhour.record.record import Record

# These hold packets of their own beside those of the qdisc below them.
_HOLDERS = (b"netem",)
_OF_DEVICE = 0xFFFF0000


class Mismatch(NamedTuple):
    """How much more qdiscs count than those below them: of each that has some, at each sample [n]."""

    kind: NDArray[np.bytes_]
    bytes: NDArray[np.int64]
    packets: NDArray[np.int64]


def mismatches(rows: Rows) -> Mismatch:
    """What qdiscs count as waiting, minus the sum of what those below them count, from an end's readings."""
    above = rows[~np.isin(rows["kind"], _HOLDERS)]
    places, first = np.unique(_keys(above, "handle"), return_index=True)
    parents = _keys(rows, "parent")
    at = np.searchsorted(places, parents)
    # A device's root and ingress are below nothing, though clsact's handle has that major number, too.
    below = (at < len(places)) & (rows["parent"] < _OF_DEVICE)
    below[below] = places[at[below]] == parents[below]
    has = np.unique(at[below])
    mine = above[first[has]]
    differences: list[NDArray[np.int64]] = []
    for column in ("backlog", "qlen"):
        sums = np.zeros(len(places), np.int64)
        np.add.at(sums, at[below], rows[column][below].astype(np.int64))
        differences.append(mine[column].astype(np.int64) - sums[has])
    return Mismatch(mine["kind"], *differences)


def _keys(rows: Rows, column: str) -> NDArray[np.uint64]:
    """A number for each instant and major number, which a qdisc shares with its classes."""
    majors = (rows[column] >> np.uint32(16)).astype(np.uint64)
    keys: NDArray[np.uint64] = (rows["t_ns"].astype(np.uint64) << np.uint64(16)) | majors
    return keys


def _each(record: Record) -> list[tuple[End, Mismatch]]:
    """The ends whose queues have others below them."""
    # Elsewhere qdiscs are read one after the other, while packets come and go.
    if not record.has("qdisc") or record.manifest.lab not in VIRTUAL:
        return []
    found = [(end, mismatches(record.table("qdisc", end=end.end))) for end in queues(record)]
    return [(end, mismatch) for end, mismatch in found if len(mismatch.kind)]


def miscounted(record: Record) -> list[str]:
    """Sentences about queues whose counts are apart by more than the packet that one may hold for another."""
    said = []
    # A program's own tc may give queues to some classes; what the others have by themselves no dump tells.
    for end, found in () if record.result.programs else record.once(_each):
        wrong = np.flatnonzero((found.packets != 1) & ((found.bytes != 0) | (found.packets != 0)))
        if len(wrong):
            worst = wrong[np.abs(found.bytes[wrong]).argmax()]
            size, packets = int(found.bytes[worst]), int(found.packets[worst])
            more = "more" if (size or packets) > 0 else "less"
            amounts = [quantity(abs(size), "B")] if size else []
            amounts += [plural(abs(packets), "packet")] if packets else []
            amount = f"{' and '.join(amounts)} {more}"
            said.append(
                f"{end.label}: {found.kind[worst].decode()} counts {amount} as waiting "
                "than what is below it: the kernel changed one count and not the other"
            )
    return said


def _greatest(of: Callable[[Mismatch], NDArray[np.int64]]) -> Callable[[Record], Iterator[Found]]:
    def found(record: Record) -> Iterator[Found]:
        for end, mismatch in record.once(_each):
            yield Found(of_end(end), int(np.abs(of(mismatch)).max()))

    return found


METRICS = [
    Metric(
        "backlog_mismatch_bytes",
        "B",
        "lower",
        ("end",),
        "The greatest difference, at any sample, between the bytes that a qdisc counts as waiting and the "
        "sum of what those below it count; in virtual time, where all are read at one instant. Zero, or one "
        "packet that it took from below and holds for the qdisc above (drr, ets and qfq beneath a shaper). "
        "Else the kernel dropped packets and did not tell all that counted them (qdisc_tree_reduce_backlog).",
        _greatest(lambda one: one.bytes),
    ),
    Metric(
        "backlog_mismatch_packets",
        "packets",
        "lower",
        ("end",),
        "As `backlog_mismatch_bytes`, in packets (qlen).",
        _greatest(lambda one: one.packets),
    ),
]

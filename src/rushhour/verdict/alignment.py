"""Two runs side by side: the k-th event of a stream here with the k-th there, and where they first differ.

A stream is what one flow (side of a flow, queue) did, in order. Its columns fall into kinds: what the stack
decided (`state`), what a receiver offers (`window`), what had been sent (`sent`), when (`time`). A shift in
time that changes at once by milliseconds is a `jump`: a timer, a pause, a queue did otherwise. One pass over
a table gives the first difference of each kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

Kind = Literal["state", "jump", "window", "sent", "end", "time"]
KINDS: tuple[Kind, ...] = ("state", "jump", "window", "sent", "end", "time")

ACKS, WAITED = "acks", "waited_ns"
"""Columns of events that the ACKs of their flow number: how many came before, and how long ago the last."""
UNKNOWN = -1
# A timer is a decision of its own where it fires earlier or later by more than this: two jiffies at
# HZ=1000, which is what a microsecond of RTT may move it, and a share of what it waited. What comes at
# another time jumps where its shift changes by as much.
_TIMER_NS, _TIMER_SHARE = 2_000_000, 0.05
# A datagram has no timer: it jumps where it waited for another packet, which takes this long at 1 Gbit/s.
PACKET_NS = 10_000


@dataclass(frozen=True)
class Trace:
    """One table of one run, as it is compared.

    Attributes:
        codes: What stream each row is of [n].
        t_ns: When each row was [n].
        columns: By kind the columns that are compared, each [n].
        late: A row shows the state before its own event, so what differs was decided on the event before.
        final: That a stream has no further row means that nothing more happened; False where the table is
            torn or its last rows depend on when the experiment ends.
        decides: An event that one side lacks is a difference of state.
        jump_ns: By how much its shift in time has to change at once to be a jump.
    """

    codes: Numbers
    t_ns: Numbers
    columns: Mapping[Kind, Mapping[str, NDArray[np.generic]]]
    late: bool = False
    final: bool = True
    decides: bool = False
    jump_ns: int = _TIMER_NS


@dataclass(frozen=True)
class Difference:
    """The first difference of one kind in one table.

    `place` counts the events of the stream from 0; `rows` are the rows in the two tables, -1 where there is
    none. `t_ns` is when it was decided on the side that was first; `shift_ns` by how much later the event
    was in the candidate; `values` are those of the columns that differ, in base and candidate.
    """

    kind: Kind
    table: str
    code: int
    place: int
    rows: tuple[int, int]
    t_ns: int
    shift_ns: int
    values: Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Pairs:
    """Paired rows: stream [n], place in it [n], row on either side [n]; and each stream's first row alone."""

    codes: Numbers
    places: Numbers
    base: NDArray[np.intp]
    candidate: NDArray[np.intp]
    alone: tuple[tuple[int, int, int, int], ...]


def pair(base: Numbers, candidate: Numbers) -> Pairs:
    """Pair the rows of two tables, given the streams that their rows [n], [m] are of."""
    orders = [np.argsort(codes, kind="stable") for codes in (base, candidate)]
    every = np.union1d(base, candidate)
    starts, counts = [], []
    for codes, order in zip((base, candidate), orders, strict=True):
        ordered = codes[order]
        start = np.searchsorted(ordered, every, "left")
        starts.append(start)
        counts.append(np.searchsorted(ordered, every, "right") - start)
    both = np.minimum(*counts)
    places = np.arange(int(both.sum())) - np.repeat(np.cumsum(both) - both, both)
    rows = [order[np.repeat(start, both) + places] for order, start in zip(orders, starts, strict=True)]
    alone = []
    for which in np.flatnonzero(counts[0] != counts[1]):
        n = int(both[which])
        here = [
            int(order[start[which] + n]) if count[which] > n else -1
            for order, start, count in zip(orders, starts, counts, strict=True)
        ]
        alone.append((int(every[which]), n, here[0], here[1]))
    return Pairs(np.repeat(every, both), places, rows[0], rows[1], tuple(alone))


def differences(table: str, base: Trace, candidate: Trace) -> Iterator[Difference]:
    """The first difference of each kind between two traces of one table."""
    pairs = pair(base.codes, candidate.codes)
    for kind in base.columns:
        found = _first(table, kind, base, candidate, pairs)
        if found is not None:
            yield found
    jump = _jump(table, base, candidate, pairs)
    if jump is not None:
        yield jump
    if base.final and candidate.final:
        yield from _unpaired(table, base, candidate, pairs)


def _first(table: str, kind: Kind, base: Trace, candidate: Trace, pairs: Pairs) -> Difference | None:
    differ = _differing(kind, base, candidate, pairs)
    if not differ:
        return None
    places = np.flatnonzero(np.logical_or.reduce(list(differ.values())))
    if not len(places):
        return None
    # What a late row shows was decided on the event before it, unless it is the stream's first.
    late = base.late and kind != "time"
    cause = np.where(pairs.places[places] > 0, places - 1, places) if late else places
    stamps = [trace.t_ns[rows] for trace, rows in ((base, pairs.base), (candidate, pairs.candidate))]
    when = np.minimum(stamps[0][cause], stamps[1][cause])
    best = int(np.argmin(when))
    at = int(places[best])
    return Difference(
        kind,
        table,
        int(pairs.codes[at]),
        int(pairs.places[at]),
        (int(pairs.base[at]), int(pairs.candidate[at])),
        int(when[best]),
        int(stamps[1][at] - stamps[0][at]),
        {
            name: (
                int(base.columns[kind][name][pairs.base[at]]),
                int(candidate.columns[kind][name][pairs.candidate[at]]),
            )
            for name, unequal in differ.items()
            if unequal[at]
        },
    )


def _differing(kind: Kind, base: Trace, candidate: Trace, pairs: Pairs) -> dict[str, NDArray[np.bool_]]:
    """For each column of a kind that both sides have, in which pairs of events it is not equal."""
    differ = {
        name: _unequal(name, values[pairs.base], candidate.columns[kind][name][pairs.candidate])
        for name, values in base.columns[kind].items()
        if name in candidate.columns.get(kind, {})
    }
    if WAITED in differ:
        known = [
            trace.columns[kind].get(ACKS, trace.t_ns)[rows] != UNKNOWN
            for trace, rows in ((base, pairs.base), (candidate, pairs.candidate))
        ]
        differ[WAITED] &= known[0] & known[1]
    return differ


def _jump(table: str, base: Trace, candidate: Trace, pairs: Pairs) -> Difference | None:
    """The first event whose shift in time is another than that of the event before it in its stream.

    Rows that are not of the same packet do not count.
    """
    found = []
    alike = np.ones(len(pairs.codes), bool)
    if not base.late:
        theirs_too = candidate.columns.get("state", {})
        for name, values in base.columns.get("state", {}).items():
            if name in theirs_too:  # another kernel may tell more
                alike &= values[pairs.base] == theirs_too[name][pairs.candidate]
    when = np.minimum(base.t_ns[pairs.base], candidate.t_ns[pairs.candidate])
    for name, stamps in base.columns.get("time", {}).items():
        if not name.endswith("_ns") or name not in candidate.columns.get("time", {}):
            continue
        mine, theirs = (
            column[rows].astype(np.int64)
            for column, rows in ((stamps, pairs.base), (candidate.columns["time"][name], pairs.candidate))
        )
        shift = theirs - mine
        step = np.where(pairs.places > 0, np.diff(shift, prepend=0), shift)
        # -1 is an answer that never came.
        known = alike & (mine != UNKNOWN) & (theirs != UNKNOWN)
        places = np.flatnonzero((np.abs(step) > base.jump_ns) & known)
        if len(places):
            at = int(places[np.argmin(when[places])])
            moved = {name: (int(mine[at]), int(theirs[at]))}
            rows = int(pairs.base[at]), int(pairs.candidate[at])
            where = int(pairs.codes[at]), int(pairs.places[at])
            found.append(Difference("jump", table, *where, rows, int(when[at]), int(shift[at]), moved))
    return min(found, key=lambda one: one.t_ns, default=None)


def _unequal(name: str, base: NDArray[np.generic], candidate: NDArray[Any]) -> NDArray[np.bool_]:
    unequal: NDArray[np.bool_] = base != candidate
    if name == ACKS:
        unequal &= (base != UNKNOWN) & (candidate != UNKNOWN)
    if name == WAITED:
        unequal = np.abs(candidate - base) > np.maximum(_TIMER_NS, _TIMER_SHARE * np.minimum(base, candidate))
    return unequal


def _unpaired(table: str, base: Trace, candidate: Trace, pairs: Pairs) -> Iterator[Difference]:
    """The first event that has no partner, where the streams are of different lengths."""
    found = [
        Difference(
            "state" if base.decides else "end",
            table,
            code,
            place,
            (mine, theirs),
            int(base.t_ns[mine] if mine >= 0 else candidate.t_ns[theirs]),
            0,
            {},
        )
        for code, place, mine, theirs in pairs.alone
    ]
    if found:
        yield min(found, key=lambda one: one.t_ns)

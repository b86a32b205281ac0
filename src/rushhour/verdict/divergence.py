"""First divergence: the event at which two runs of the same cell and seed begin to differ.

Takes two records, gives what was decided differently first (a window, a congestion state, a retransmission,
an acknowledgement, a drop), what came before it (a shift in time, another offered window), the rows on both
sides of it, and a sentence. Runs of one kernel are equal to the byte until something differs; between kernel
versions instants may differ by microseconds from the start, so a mere shift is told apart from a decision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.record.document import write
from rushhour.record.verdict_file import DivergenceFile, EarlierDifference
from rushhour.verdict import around, telling
from rushhour.verdict.alignment import KINDS, differences
from rushhour.verdict.traces import ORDER, SAMPLED, missing, traces

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rushhour.record.record import Record
    from rushhour.verdict.alignment import Difference, Kind

    Rows = Sequence[Mapping[str, object]]


@dataclass(frozen=True)
class Earlier:
    """A lesser difference that came before: the first of its kind."""

    kind: Kind
    t_ns: int
    table: str
    event: int
    differs: tuple[str, ...]
    sentence: str


@dataclass(frozen=True)
class Divergence:
    """The first divergence of two runs.

    Attributes:
        seed: Of both runs.
        kind: `state` (a decision), `jump` (an event comes milliseconds earlier or later at once), `window`
            (an offered window), `sent` (what had been sent), `end` (one side has further events), `time`
            (nothing but instants).
        t_ns: When, on the side that was first.
        table: The raw table it was found in.
        flow: The flow, or None.
        end: The link end, or None.
        event: Its number among the events of its stream, from 1; of `tcp_probe` the ACK on which it was
            decided. All events before it are equal.
        differs: The columns that differ.
        before: Rows of either side up to there, by `base` and `candidate`.
        after: Rows of either side from there on.
        sentence: What happened, in words.
        earlier: Differences of lesser kinds that came before, in order of time.
        notes: What could not be compared.
    """

    seed: int
    kind: Kind
    t_ns: int
    table: str
    flow: str | None
    end: str | None
    event: int
    differs: tuple[str, ...]
    before: Mapping[str, Rows]
    after: Mapping[str, Rows]
    sentence: str
    earlier: tuple[Earlier, ...] = ()
    notes: tuple[str, ...] = ()

    def document(self) -> DivergenceFile:
        """As it stands in `verdict.json` (docs/verdict.md)."""
        return write(
            DivergenceFile,
            seed=self.seed,
            kind=self.kind,
            t_ns=self.t_ns,
            table=self.table,
            flow=self.flow,
            end=self.end,
            event=self.event,
            differs=self.differs,
            before={side: [dict(row) for row in rows] for side, rows in self.before.items()},
            after={side: [dict(row) for row in rows] for side, rows in self.after.items()},
            sentence=self.sentence,
            earlier=[write(EarlierDifference, **vars(one)) for one in self.earlier],
            notes=self.notes,
        )


def first_divergence(
    base: Record, candidate: Record, *, names: tuple[str, str] = around.SIDES
) -> Divergence | None:
    """The first divergence of two runs of the same cell and seed; None where no event differs.

    Args:
        base: One run.
        candidate: The other.
        names: What the two are called in sentences.

    Raises:
        RecordError: a record cannot be read.
    """
    found = [
        difference
        for table, mine, theirs in traces(base, candidate)
        for difference in differences(table, mine, theirs)
    ]
    if not found:
        return None
    found = _sound(sorted(found, key=_order))
    chosen = _chosen(found)
    sides = telling.Sides((base, candidate), names)
    lesser = _lesser(found, chosen)
    flow, end = telling.owner(base, chosen)
    before, after = around.surroundings(sides.records, chosen)
    return Divergence(
        seed=base.manifest.seed or 0,
        kind=chosen.kind,
        t_ns=chosen.t_ns,
        table=chosen.table,
        flow=flow,
        end=end,
        event=telling.event_number(chosen),
        differs=tuple(chosen.values),
        before=before,
        after=after,
        sentence=_told(sides, chosen, lesser),
        earlier=tuple(_earlier(sides, one) for one in lesser),
        notes=tuple(missing(base, candidate)),
    )


def _order(one: Difference) -> tuple[int, int, int]:
    return one.t_ns, KINDS.index(one.kind), ORDER.index(one.table)


def _sound(found: list[Difference]) -> list[Difference]:
    """Without samples from after the first shift in time: they show other moments of what may be the same."""
    shifts = [one.t_ns for one in found if one.kind == "time"]
    sound = [one for one in found if one.table not in SAMPLED or not shifts or one.t_ns < shifts[0]]
    return sound if any(one.kind != "time" for one in sound) else found


def _chosen(found: Sequence[Difference]) -> Difference:
    """The first decision; without any, the first that is more than a shift in time.

    Once instants differ, what had been sent by then differs too, and says little.
    """
    for kinds in (("state", "jump"), ("window", "end"), ("sent",)):
        those = [one for one in found if one.kind in kinds]
        if those:
            return those[0]
    return found[0]


def _lesser(found: Sequence[Difference], chosen: Difference) -> list[Difference]:
    """The first of each other kind before it, in order of time."""
    firsts: dict[Kind, Difference] = {}
    for one in found:
        if one.t_ns < chosen.t_ns and one.kind != chosen.kind:
            firsts.setdefault(one.kind, one)
    return list(firsts.values())


def _told(sides: telling.Sides, chosen: Difference, lesser: Sequence[Difference]) -> str:
    """The sentence: what was decided differently, and how it began or how equal all was before."""
    said = telling.sentence(sides, chosen)
    if not lesser:
        return f"{said}; until then all events were equal to the byte."
    # A window offered otherwise says more than a shift in time that came with another kernel.
    first = next((one for one in lesser if one.kind != "time"), lesser[0])
    began = telling.sentence(sides, first)
    return f"{said}. It began earlier: {began[0].lower()}{began[1:]}."


def _earlier(sides: telling.Sides, one: Difference) -> Earlier:
    words = f"{telling.sentence(sides, one)}."
    return Earlier(one.kind, one.t_ns, one.table, telling.event_number(one), tuple(one.values), words)

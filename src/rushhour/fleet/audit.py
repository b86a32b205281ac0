"""Audits: runs that are made twice, by different workers; equal bytes are what all of this rests on.

The first run of every worker is audited, and what it made waits for that; later a share of its runs. Where
two differ a third worker decides, or else this machine. What the liar made in this sweep is made again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import FleetError, RushHourError
from rushhour.fleet import landing, packing
from rushhour.fleet.members import Gave, Item, Landed, Member
from rushhour.fleet.places import Places
from rushhour.lab.base import Job
from rushhour.quantities.words import plural
from rushhour.record import kept
from rushhour.record.context_file import ContextFile
from rushhour.record.document import read
from rushhour.record.record import Record
from rushhour.running.executor import execute
from rushhour.summary import measured

if TYPE_CHECKING:
    from collections.abc import Callable

    from rushhour.fleet.executor import Fleet

_HASHES = 1 << 32


@dataclass(eq=False)
class _Audit:
    """One run that is made twice: `first` is what came, `second` what another worker made of it."""

    first: Landed
    copy: Item | None = None
    second: Landed | None = None


class Audits:
    """The audits of a fleet. Everything is done by the fleet's deciding thread."""

    def __init__(self, fleet: Fleet, share: float) -> None:
        self._fleet, self._share = fleet, share
        self._going: list[_Audit] = []

    def keeps(self, landed: Landed) -> bool:
        """Whether a record has to wait: for its own audit, or for that of its worker."""
        member, item = landed.member, landed.item
        if self._share <= 0 or not self._fleet.others({member.address}):
            return False
        if member.auditing and not member.audited:
            member.held.append(landed)
            return True
        drawn = int(item.key[:8], 16) < self._share * _HASHES
        if (member.audited and not drawn) or item.looked_at:
            return False
        item.looked_at = member.auditing = True
        audit = _Audit(landed)
        self._going.append(audit)
        audit.copy = self._copy(landed, {member.address}, partial(self._compare, audit))
        return True

    def go_on(self) -> None:
        """Give up audits for which there is nobody any more."""
        for audit in [*self._going]:
            copy = audit.copy
            if copy is not None and not copy.done and not self._fleet.others(copy.avoid):
                copy.done = True
                self._nobody(audit)

    def left(self, member: Member) -> None:
        """A worker that went away, or was set aside: what of it is being looked at is made again."""
        for audit in [one for one in self._going if one.first.member is member]:
            self._close(audit)
            self._fleet.runway.drop(audit.first)
            self._fleet.again(audit.first.item)

    def _copy(self, landed: Landed, avoid: set[str], judge: Callable[[Landed | None], None]) -> Item:
        of = landed.item
        copy = Item(of.job, of.key, of.destination, of.told, of.files, of.place, avoid={*avoid})
        copy.judge = judge
        self._fleet.again(copy)
        return copy

    def _close(self, audit: _Audit) -> None:
        if audit in self._going:
            self._going.remove(audit)
        audit.first.member.auditing = False
        if audit.copy is not None:
            audit.copy.done = True

    def _compare(self, audit: _Audit, second: Landed | None) -> None:
        if audit not in self._going:
            if second is not None:
                self._fleet.runway.drop(second)
            return
        if second is None:
            self._nobody(audit)
        elif self._same(audit.first, second):
            self._measure_here_if_they_differ(audit.first, second)
            self._fleet.runway.drop(second)
            self._passed(audit, second.member)
        else:
            self._third(audit, second)

    def _same(self, one: Gave, other: Gave) -> bool:
        return landing.same(one, other, self._fleet.runway.wanted)

    def _measure_here_if_they_differ(self, first: Landed, second: Landed) -> None:
        alike = first.member.measures and second.member.measures
        if alike and not landing.agree(first.values, second.values):
            self._fleet.tell(
                f"{first.member} and {second.member} measure the same run otherwise: it is done here"
            )
            first.member.measures = second.member.measures = False

    def _passed(self, audit: _Audit, other: Member) -> None:
        self._close(audit)
        self._fleet.deliver(audit.first)
        for member in (audit.first.member, other):
            self._trust(member)

    def _nobody(self, audit: _Audit) -> None:
        """Nobody can make it twice: what came is taken, as if there had been nobody from the beginning."""
        self._close(audit)
        if audit.second is not None:
            self._referee(audit)
            return
        for landed in (audit.first, *_taken(audit.first.member)):
            self._fleet.deliver(landed)

    def _trust(self, member: Member) -> None:
        """A worker gave what another gave: what waited for that is given out, or looked at, too."""
        member.audited = True
        for landed in _taken(member):
            if not self.keeps(landed):
                self._fleet.deliver(landed)

    def _third(self, audit: _Audit, second: Landed) -> None:
        audit.second = second
        avoid = {audit.first.member.address, second.member.address}
        if self._fleet.others(avoid):
            audit.copy = self._copy(audit.first, avoid, partial(self._decide, audit))
        else:
            self._referee(audit)

    def _referee(self, audit: _Audit) -> None:
        """Let this machine decide."""
        if audit not in self._going:
            self._going.append(audit)
        audit.copy = None
        first = audit.first

        def make() -> None:
            place = first.folder.with_name(f"{first.folder.name}-here")
            try:
                folder = execute(self._fleet.lab, first.item.job, place / "record", None)
                digest = packing.checked(*packing.packed(folder), self._fleet.asked(first.item))[0]
                here = Gave(digest, measured.written(Record.open(folder).metrics()))
            except RushHourError:
                here = None
            self._fleet.do(partial(self._judge, audit, here, "this machine"))

        self._fleet.aside(make)

    def _decide(self, audit: _Audit, third: Landed | None) -> None:
        if third is not None:
            self._fleet.runway.drop(third)
        if audit not in self._going:
            return
        if third is None:
            self._referee(audit)
        else:
            self._judge(audit, third, str(third.member))

    def _judge(self, audit: _Audit, third: Gave | None, judge: str) -> None:
        if audit not in self._going:
            return
        first, second = audit.first, audit.second
        assert second is not None
        self._close(audit)
        self._fleet.runway.drop(second)
        liars = [one.member for one in (first, second) if third is None or not self._same(one, third)]
        run = f"{first.item.job.kernel.name}, seed {first.item.job.plan.seed}"
        if len(liars) == 1:
            other = second.member if liars[0] is first.member else first.member
            reason = f"of a run ({run}) it gave other bytes than {other} and {judge}"
        else:
            reason = f"of a run ({run}) {first.member} and {second.member} gave different bytes, and both lie"
        then = partial(self._believe, first)
        if first.member in liars:
            self._fleet.runway.drop(first)
            then = partial(self._fleet.again, first.item)
        self._condemn(liars, reason, then)

    def _believe(self, first: Landed) -> None:
        self._fleet.deliver(first)
        self._trust(first.member)

    def _condemn(self, liars: list[Member], reason: str, then: Callable[[], None]) -> None:
        """Set workers aside, and make again what they made; when that is done, do the rest."""
        delivered = [one for member in liars for one in member.delivered]
        for member in liars:
            member.delivered = Places()
            self._fleet.set_aside(member, reason)
        if not delivered:
            then()
            return
        count = len(delivered)
        self._fleet.tell(f"what it had made is made again: {plural(count, 'run')}")
        waits = _Waits(count, then)
        for place in delivered:
            self._make_again(Path(place), waits)

    def _make_again(self, place: Path, waits: _Waits) -> None:
        try:
            item = self._item_of(place)
        except RushHourError as error:
            self._fleet.end(error)
            return

        def judge(landed: Landed | None) -> None:
            if landed is None:
                self._fleet.end(FleetError(f"a run of a worker that lies cannot be made again: {place}"))
                return
            try:
                self._fleet.runway.take_place(landed)
                if kept.has(item.key):
                    kept.keep(item.key, place)
            except RushHourError as error:
                self._fleet.end(error)
                return
            landed.member.delivered.append(str(place))
            waits.count -= 1
            if not waits.count:
                waits.then()

        item.judge = judge
        self._fleet.again(item)

    def _item_of(self, place: Path) -> Item:
        """What is wanted, from a record that was checked when it came: its plan and labels are ours."""
        record = Record.open(place)
        about = record.manifest
        labels = {"scenario": about.scenario, "cell": about.cell, "repetition": about.repetition}
        kernel = self._fleet.kernels[about.kernel.image_sha256]
        context = read(ContextFile, about.context, str(place))
        return self._fleet.item(Job(record.plan, context, kernel, labels), record.key, place)


def _taken(member: Member) -> list[Landed]:
    held, member.held = member.held, []
    return held


@dataclass
class _Waits:
    """How many runs are still made again, and what comes then."""

    count: int
    then: Callable[[], None]

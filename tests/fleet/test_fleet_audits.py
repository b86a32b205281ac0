from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rushhour.fleet.audit import Audits
from rushhour.fleet.members import READY, Item, Landed, Member
from rushhour.record.slim import WHOLE


class Office:
    """What audits need of a fleet; `delivered` and `wanted` are what they asked it for."""

    def __init__(self, *members: Member) -> None:
        self.members = {member.address: member for member in members}
        self.delivered: list[Landed] = []
        self.wanted: list[Item] = []
        self.runway = SimpleNamespace(drop=lambda _landed: None, wanted=WHOLE)

    def deliver(self, landed: Landed) -> None:
        self.delivered.append(landed)

    def others(self, but: set[str]) -> bool:
        return bool(self.members.keys() - but)

    def again(self, item: Item) -> None:
        self.wanted.append(item)


def _landed(member: Member, number: int) -> Landed:
    nothing: Any = None
    item = Item(nothing, f"{number:08x}", Path(f"out/{number}"), {"image": ""}, frozenset(), Future())
    return Landed(f"digest of {number}", b"", item, member, Path(f"landed/{number}"), "")


def _held(share: float) -> tuple[Office, list[Landed]]:
    """One worker's first run was looked at while it made two more."""
    first, other = Member("tcp://one", 1, state=READY), Member("tcp://other", 1, state=READY)
    office = Office(first, other)
    audits = Audits(office, share)  # type: ignore[arg-type]
    landed = [_landed(first, number) for number in range(3)]
    assert all(audits.keeps(one) for one in landed)
    assert not office.delivered
    (copy,) = office.wanted
    assert copy.judge is not None
    copy.judge(_landed(other, 0))
    return office, landed


def test_what_waited_for_the_first_audit_is_looked_at_where_all_is() -> None:
    office, landed = _held(share=1.0)
    assert office.delivered == landed[:1]
    assert [copy.key for copy in office.wanted[1:]] == [one.item.key for one in landed[1:]]


def test_what_waited_for_the_first_audit_is_given_out_where_a_share_is_looked_at() -> None:
    office, landed = _held(share=1e-10)
    assert office.delivered == landed
    assert len(office.wanted) == 1

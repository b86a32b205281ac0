"""Giving out costs little where there are very many workers, most of which have what they need."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from rushhour.fleet import giving
from rushhour.fleet.giving import Giving
from rushhour.fleet.members import READY, Item, Member, Task

if TYPE_CHECKING:
    from collections.abc import Sequence

MEMBERS = 300


class Looked(Member):
    """A worker that counts how often anybody asks whether it takes runs."""

    count = 0

    @property
    def takes(self) -> bool:
        Looked.count += 1
        return super().takes


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    time = SimpleNamespace(s=1000.0)
    monkeypatch.setattr(giving, "clock", SimpleNamespace(monotonic=lambda: time.s))
    return time


def _item(number: int) -> Item:
    nothing: Any = None
    return Item(nothing, f"{number:08x}", Path(f"out/{number}"), {"image": ""}, frozenset(), Future())


def _busy(count: int, begun: float) -> tuple[Giving, list[Member], list[tuple[str, Sequence[Any]]]]:
    """Workers with two runs each, and what is sent to them."""
    sent: list[tuple[str, Sequence[Any]]] = []
    members: dict[str, Member] = {}
    for number in range(count):
        member = members[f"tcp://{number}"] = Looked(f"tcp://{number}", 1, state=READY)
        member.going = {Task(member, [_item(2 * number + half)], begun) for half in range(2)}

    def begin(address: str, told: Sequence[Any]) -> Future[Any]:
        sent.append((address, told))
        return Future()

    fleet: Any = SimpleNamespace(members=members, aside=lambda _: None, fetch=None)
    post: Any = SimpleNamespace(begin=begin)
    made = Giving(fleet, post)
    made.took(0.9)
    return made, [*members.values()], sent


def test_workers_are_not_gone_through_each_time_that_something_comes(now: SimpleNamespace) -> None:
    made, _, sent = _busy(MEMBERS, now.s)
    made.give_out()
    Looked.count = 0
    for _ in range(100):
        made.give_out()
    assert not Looked.count
    now.s += 1
    made.give_out()
    assert 0 < Looked.count <= 2 * MEMBERS
    assert not sent


def test_an_idle_worker_still_helps_a_slow_one(now: SimpleNamespace) -> None:
    made, members, sent = _busy(3, now.s)
    members[2].going.clear()
    made.give_out()
    assert not sent
    now.s += 60
    made.give_out()
    ((address, told),) = sent
    assert address == members[2].address
    assert len(told) == 1
    members[2].going.clear()
    now.s += 60
    made.give_out()
    assert len(sent) == 2


def test_no_more_than_waits_is_given_and_to_those_who_have_least(now: SimpleNamespace) -> None:
    made, members, sent = _busy(4, now.s)
    members[3].going.clear()
    made.waiting.extend(_item(100 + number) for number in range(3))
    made.give_out()
    assert [address for address, _ in sent] == [members[3].address] * 2
    assert len(made.waiting) == 1

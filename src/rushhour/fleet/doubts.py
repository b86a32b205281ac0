"""Runs that failed: is it the run, or the machine? A failure counts only if another worker has it, too.

A worker whose run another one has to try first makes nothing else meanwhile. All is done by the fleet's
deciding thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.fleet import faults, roll

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.fleet.executor import Fleet
    from rushhour.fleet.members import Item, Member


class Doubts:
    """Decides what a failure means."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        # Few, if any: where there are very many workers not all are gone through each time.
        self._open: set[Item] = set()

    def failed(self, item: Item, member: Member, told: Mapping[str, Any]) -> None:
        """A worker said that it cannot make a run."""
        if item.done:
            return
        if faults.is_broken(told):
            self._fleet.set_aside(member, roll.sentence(told))
            self._fleet.again(item)
            return
        proven = item.image in member.proven and told["kind"] == "GuestError"
        item.fails[member.address] = told
        item.avoid.add(member.address)
        member.doubt.add(item)
        self._open.add(item)
        if proven or not faults.is_doubtful(told) or not self._fleet.others(item.avoid):
            self._blame(item, told)
        else:
            self._fleet.again(item)

    def made(self, item: Item) -> None:
        """Another worker has made what these could not: it was them."""
        self._absolve(item)
        for address, told in item.fails.items():
            if address in self._fleet.members:
                self._fleet.set_aside(self._fleet.members[address], roll.sentence(told))
        item.fails.clear()

    def go_on(self) -> None:
        """Decide where nobody is left any more who could try a run, too."""
        for item in [*self._open]:
            if item.done or not item.fails:
                self._open.discard(item)
            elif self._is_in_doubt(item) and not self._fleet.others(item.avoid):
                self._blame(item, [*item.fails.values()][-1])

    def _is_in_doubt(self, item: Item) -> bool:
        return any(item in one.doubt for one in self._fleet.members.values())

    def _blame(self, item: Item, told: Mapping[str, Any]) -> None:
        """Wherever it was tried it failed: it is the run."""
        self._absolve(item)
        self._fleet.fail(item, faults.error_of(told))

    def _absolve(self, item: Item) -> None:
        for one in self._fleet.members.values() if item.fails else ():
            one.doubt.discard(item)

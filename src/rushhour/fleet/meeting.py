"""Getting to know workers: each is asked what it is, and nobody waits for the answer.

A worker may be frozen, or its cable cut, and the scheduler not know it yet; or it makes long runs for another
command and answers when it has done one.
"""

from __future__ import annotations

from concurrent.futures import CancelledError
from functools import partial
from typing import TYPE_CHECKING, Any

from rushhour.fleet import message, roll
from rushhour.fleet.members import ASIDE, NEW, READY, Member
from rushhour.lab import clock

if TYPE_CHECKING:
    from rushhour.fleet.executor import Fleet
    from rushhour.fleet.post import Post

# One that has nothing else to do and does not say within this time what it is, is of no use.
_ASK_S = 120.0
# A new one is waited for so long where another worker's runs have to be tried or audited by it.
_COMES_S = 10.0


class Meeting:
    """Asks new workers what they are. All but reading answers is done by the fleet's deciding thread."""

    def __init__(self, fleet: Fleet, post: Post) -> None:
        self._fleet, self._post = fleet, post
        self._lost: set[Member] = set()

    def greet(self, member: Member) -> None:
        """Ask a new worker what it is; it takes part as soon as it says so."""
        member.greeted = clock.monotonic()
        member.asked = member.greeted
        before = clock.now().timestamp()
        future = self._post.send(member.address, message.pack({"do": "examine", "files": []}), first=True)
        read = partial(self._read, member, future, before)
        future.add_done_callback(lambda _: self._fleet.aside(read))

    def look(self) -> None:
        """Ask again whose question was lost; set aside who does not answer though it has nothing to do."""
        now = clock.monotonic()
        for member in self._fleet.members.values():
            if member in self._lost:
                self.greet(member)
            elif member.state == NEW and now - member.asked > _ASK_S:
                member.asked = now
                self._fleet.aside(partial(self._look_at, member), waits=True)
        self._lost.clear()

    def is_coming(self, member: Member) -> bool:
        """Whether a new worker is going to take part presently, as far as one can know."""
        return member.state == NEW and clock.monotonic() - member.greeted < _COMES_S

    def _read(self, member: Member, future: Any, before: float) -> None:
        after = clock.now().timestamp()
        try:
            told = message.unpack(future.result(timeout=_ASK_S))[0]
            name, reason = roll.examined(told, member, self._fleet.runway.wanted, (before, after))
        except CancelledError:  # it went away, or the scheduler
            self._fleet.do(partial(self._lost.add, member))
            return
        except Exception as error:  # noqa: BLE001 - it may not know the question
            name, reason = "", roll.refusal(error)
        finally:
            self._post.cancel(future)
        self._fleet.do(partial(self._met, member, name, reason))

    def _met(self, member: Member, name: str, reason: str | None) -> None:
        member.name = name
        if reason is not None:
            self._fleet.set_aside(member, reason)
        elif member.state != ASIDE:
            member.state = READY

    def _look_at(self, member: Member) -> None:
        if self._post.is_busy(member.address):
            what = f"{member} makes runs of another command, and has not answered yet; it is waited for"
            self._fleet.do(partial(self._fleet.tell, what))
        else:
            reason = f"it did not answer for {_ASK_S:.0f} s"
            self._fleet.do(partial(self._fleet.set_aside, member, reason))

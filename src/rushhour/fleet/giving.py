"""Giving out: which worker gets which runs, and what it needs first. The fleet's deciding thread does it."""

from __future__ import annotations

from collections import deque
from concurrent.futures import CancelledError
from functools import partial
from typing import TYPE_CHECKING

from rushhour.fleet import roll
from rushhour.fleet.members import Item, Member, Task
from rushhour.lab import clock

if TYPE_CHECKING:
    from rushhour.fleet.executor import Fleet
    from rushhour.fleet.post import Post

# Runs of a task take about so long together, and are at most so many: a message is worth its while.
_TASK_S, _MOST = 0.5, 32
# Runs that take less wait so long for more of their kind: a message with one costs as much as one with many.
_TINY_S, GATHER_S = 0.05, 0.1
# A run that takes so many times the usual, and so many seconds, is made by an idle worker, too.
_SLOW, _SLOW_S = 4.0, 5.0
# A worker of which so much more is missing, by the usual time and in seconds, may be frozen or cut off.
_SILENT, _SILENT_S = 20.0, 15.0
# How often it is looked for such runs: each time all that are under way are gone through.
_HELP_S = 0.5


class Giving:
    """What is wanted and not yet given out, and how it is given."""

    def __init__(self, fleet: Fleet, post: Post) -> None:
        self._fleet, self._post = fleet, post
        self.waiting: deque[Item] = deque()
        self._usual_s: float | None = None
        self._since: float | None = None
        self._helped = 0.0

    def took(self, seconds: float) -> None:
        """A run took so long."""
        self._usual_s = seconds if self._usual_s is None else 0.9 * self._usual_s + 0.1 * seconds

    def is_silent(self, member: Member) -> bool:
        """Whether a worker has been given something so long ago that nothing may be expected of it."""
        if self._usual_s is None or not member.going:
            return False
        now, usual_s = clock.monotonic(), _SILENT * self._usual_s
        return any(now - task.begun > max(_SILENT_S, usual_s * len(task.items)) for task in member.going)

    def again(self, item: Item) -> None:
        """Have a run made once more, before others."""
        if not item.done and not any(
            item in task.items for one in self._fleet.members.values() for task in one.going
        ):
            self.waiting.appendleft(item)

    def give_out(self) -> None:
        """Give workers that have room what waits; at the end let idle ones help slow ones."""
        if self.waiting:
            free = [one for one in self._fleet.members.values() if one.takes and self._room(one)]
            if free and self._gathers(len(free)):
                return
            free.sort(key=lambda one: len(one.going) / one.slots)
            while free and self.waiting:
                given = [one for one in free if self.waiting and self._give(one, len(free))]
                free = [one for one in given if one.takes and self._room(one)]
        # Where very many workers wait for this machine nothing is to be given out most of the time.
        if not self.waiting and clock.monotonic() - self._helped >= _HELP_S:
            self._helped = clock.monotonic()
            self._help_slow_ones()

    @property
    def gathers(self) -> bool:
        """Whether what waits has to be looked at again soon."""
        return self._since is not None

    def _gathers(self, free: int) -> bool:
        """Whether tiny runs wait a moment, because there are not enough of them for the workers."""
        tiny = self._usual_s is not None and self._usual_s < _TINY_S
        now = clock.monotonic()
        since = now if self._since is None else self._since
        if not tiny or len(self.waiting) >= free * _MOST or now - since >= GATHER_S:
            self._since = None
            return False
        self._since = since
        return True

    def _room(self, member: Member) -> bool:
        # One beyond what goes on, so that it need not wait for the next; not where runs take long.
        short = self._usual_s is not None and self._usual_s < 1
        return len(member.going) < member.slots + (1 if short else 0)

    def _give(self, member: Member, free: int) -> bool:
        """Give a worker a task, or the files that it needs first; whether it was given one."""
        items: list[Item] = []
        most = self._together(free)
        for _ in range(len(self.waiting)):
            if len(items) >= most or (items and (items[0].alone or items[0].fails)):
                break
            item = self.waiting.popleft()
            if item.done:
                continue
            fits = not items or (not item.alone and not item.fails and item.files == items[0].files)
            if not fits or not member.may_make(item):
                self.waiting.append(item)
                continue
            items.append(item)
        if not items:
            return False
        if lacks := items[0].files - member.files:
            self.waiting.extendleft(reversed(items))
            member.busy = True
            self._fleet.aside(partial(self._equip, member, lacks), waits=True)
            return False
        self._begin(member, items)
        return True

    def _together(self, free: int) -> int:
        if self._usual_s is None:
            return 1
        fair = -(-len(self.waiting) // max(1, free))
        return max(1, min(_MOST, fair, int(_TASK_S / max(self._usual_s, 1e-3))))

    def _begin(self, member: Member, items: list[Item]) -> None:
        task = Task(member, items, clock.monotonic())
        member.going.add(task)
        task.future = self._post.begin(member.address, [item.told for item in items])
        task.future.add_done_callback(lambda _: self._fleet.aside(partial(self._fleet.fetch, task)))

    def _equip(self, member: Member, lacks: frozenset[str]) -> None:
        try:
            reason = self._post.equip(member.address, lacks)
        except CancelledError:  # it went away, or the scheduler: the roll tells
            lacks, reason = frozenset(), None
        except Exception as error:  # noqa: BLE001 - as of `Meeting`
            reason = roll.refusal(error)
        self._fleet.do(partial(self._equipped, member, lacks, reason))

    def _equipped(self, member: Member, lacks: frozenset[str], reason: str | None) -> None:
        member.busy = False
        if reason is None:
            member.files |= lacks
        else:
            self._fleet.set_aside(member, reason)

    def _help_slow_ones(self) -> None:
        """Let idle workers make what takes others long, too: whoever is first has made it."""
        going = sorted(
            (task for one in self._fleet.members.values() for task in one.going), key=lambda one: one.begun
        )
        for task in [one for one in going if all(item.done for item in one.items)]:
            self._fleet.drop(task)
            going.remove(task)
        idle = [one for one in self._fleet.members.values() if one.takes and not one.going and not one.doubt]
        now = clock.monotonic()
        for task in going:
            usual = max(_SLOW * (self._usual_s or 0) * len(task.items), _SLOW_S)
            if self._usual_s is None or not idle or now - task.begun <= usual:
                continue
            left = [item for item in task.items if not item.done]
            if any(other is not task and set(other.items) & set(left) for other in going):
                continue  # another one is at it already
            items = [item for item in left if idle[-1].may_make(item) and not item.files - idle[-1].files]
            if items:
                self._begin(idle.pop(), items)

"""The fleet as an executor: jobs go out to workers in tasks, sealed records come back, checked.

One thread decides; what takes time (messages, files) is done by others, which tell it what came of it. Runs
are pure, so each may be made again anywhere: after a loss, instead of by a liar, or beside a slow worker.
"""

from __future__ import annotations

from concurrent.futures import Future, InvalidStateError, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Self

from rushhour.errors import RushHourError
from rushhour.fleet import roll
from rushhour.fleet.audit import Audits
from rushhour.fleet.doubts import Doubts
from rushhour.fleet.giving import GATHER_S, Giving
from rushhour.fleet.landing import Runway
from rushhour.fleet.meeting import Meeting
from rushhour.fleet.members import ASIDE, READY, Item, Landed, Member, Task
from rushhour.fleet.post import Post
from rushhour.lab import clock
from rushhour.lab.base import CancelledError
from rushhour.record.slim import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from distributed import Client

    from rushhour.fleet.address import Address
    from rushhour.lab.base import Job, Tested
    from rushhour.lab.uml import UmlLab
    from rushhour.record.slim import Wanted

AUDIT = 0.01
"""Share of the runs that are made twice, on different workers."""
_ROLL_S = 1.0
# Runs that are wanted at once for each that goes on, so that tasks can hold several; and at most.
_AHEAD, _LEAST, _LARGEST = 64, 64, 2048
# Threads for what is done here, and for what waits for workers.
_THREADS, _WAITERS = 8, 64
# So long what still goes on is waited for at the end: a scheduler may be there and not answer.
_END_S = 2.0
# So many workers went away while they made a run: it is the run.
_LOSSES = 3


class Fleet:
    """Carries out runs on the workers of a scheduler; see `rushhour.running.executor.Executor`.

    A context manager: at its end nothing of it goes on.
    """

    def __init__(
        self,
        client: Client,
        lab: UmlLab,
        address: Address,
        *,
        audit: float = AUDIT,
        jobs: int | None = None,
        wanted: Wanted = WHOLE,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """A fleet; waits for the first worker.

        Args:
            client: Of the scheduler.
            lab: Whose runs; it tells their keys, and what they need.
            address: Where that is.
            audit: Share of the runs that are made twice.
            jobs: Runs that are wanted at once at most.
            wanted: What is to be kept of runs: without tables these stay with the worker, and go with it.
            tell: Is told what a person should know: workers that are set aside.

        Raises:
            FleetError: there is no worker.
        """
        self.lab, self.tell, self._address = lab, tell, address
        self._jobs = jobs or _LARGEST
        self._post = Post(client, lab, wanted)
        self._slots = sum(roll.first(self._post, address, tell).values())
        self._inbox: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._hands = ThreadPoolExecutor(_THREADS, thread_name_prefix="fleet")
        self._waiters = ThreadPoolExecutor(_WAITERS, thread_name_prefix="fleet-waits")
        self._giving = Giving(self, self._post)
        self._meeting = Meeting(self, self._post)
        self._doubts = Doubts(self)
        self._audits = Audits(self, audit)
        self.members: dict[str, Member] = {}
        self.kernels: dict[str, Tested] = {}
        self._ended: RushHourError | None = None
        self._rolled = self._seen = clock.monotonic()
        self._why = ""
        self.runway = Runway(wanted)
        self._unresolved: set[Future[Path]] = set()
        self._doing: set[Future[None]] = set()
        self._lock = Lock()
        self._thread = Thread(target=self._work, name="fleet", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        """Use it."""
        return self

    def __exit__(self, *_: object) -> None:
        """End all that goes on."""
        self.end(CancelledError("stopped"))
        self._inbox.put(None)
        self._thread.join(_END_S)
        self._post.forget()
        for pool in (self._hands, self._waiters):
            pool.shutdown(wait=False, cancel_futures=True)
        wait([*self._doing], _END_S)
        self.runway.close()

    @property
    def capacity(self) -> int:
        """How many runs are wanted at once: more than go on, for tiny ones are sent several together."""
        return min(self._jobs, _LARGEST, max(_LEAST, _AHEAD * self._slots))

    @property
    def measures(self) -> bool:
        """See `Executor.measures`."""
        return all(one.measures for one in [*self.members.values()] if one.state == READY)

    def submit(self, job: Job, destination: Path) -> Future[Path]:
        """See `Executor.submit`."""
        item = self.item(job, self.lab.key(job), destination)
        with self._lock:
            if self._ended is not None:
                raise CancelledError("stopped before it began")
            self._unresolved.add(item.place)
        item.place.add_done_callback(self._unresolved.discard)
        self.do(partial(self._giving.waiting.append, item))
        return item.place

    def cancel(self) -> None:
        """See `Executor.cancel`."""
        self.lab.cancel()
        self.end(CancelledError("stopped"))

    def item(self, job: Job, key: str, destination: Path) -> Item:
        """What is wanted, with all that a worker has to know of it."""
        self.kernels[str(job.kernel.identity["image_sha256"])] = job.kernel
        told, files = self._post.taken_apart(job, key), self._post.files_of(job)
        return Item(job, key, destination, told, files, Future())

    def asked(self, item: Item) -> dict[str, Any]:
        """What a record of it has to say of itself."""
        return {**self._post.asked(item.told), "plan_text": item.job.plan_text}

    def do(self, what: Callable[[], None]) -> None:
        """Have the deciding thread do something."""
        self._inbox.put(what)

    def aside(self, what: Callable[[], None], *, waits: bool = False) -> None:
        """Have another thread do something that takes time; `waits`: because it waits for a worker."""
        with suppress(RuntimeError):  # all is over
            doing = (self._waiters if waits else self._hands).submit(self._guarded, what)
            self._doing.add(doing)
            doing.add_done_callback(self._doing.discard)

    def end(self, why: RushHourError) -> None:
        """Stop everything; each run that is not done has this error."""
        with self._lock:
            if self._ended is None:
                self._ended = why
            unresolved = list(self._unresolved)
        for place in unresolved:
            with suppress(InvalidStateError):
                place.set_exception(self._ended)
        self.do(self._drop_all)

    @property
    def ended(self) -> bool:
        """Whether it takes no more runs."""
        return self._ended is not None

    # What follows is done by the deciding thread alone.

    def _work(self) -> None:
        while True:
            try:
                event = self._inbox.get(timeout=GATHER_S if self._giving.gathers else _ROLL_S)
                while event is not None:
                    event()
                    if self._inbox.empty():
                        break
                    event = self._inbox.get()
                else:
                    return
                self._go_on()
            except Empty:
                self._guarded(self._go_on)
            except Exception as error:  # noqa: BLE001 - whatever it is, nobody may wait for ever
                self.end(roll.lost(self._address.word, error))

    def _guarded(self, what: Callable[[], None]) -> None:
        try:
            what()
        except Exception as error:  # noqa: BLE001 - as above
            self.end(roll.lost(self._address.word, error))

    def _go_on(self) -> None:
        self.runway.settle()
        if self._ended is not None:
            return
        if clock.monotonic() - self._rolled >= _ROLL_S or not self.members:
            self._rolled = clock.monotonic()
            self._call_the_roll()
        self._doubts.go_on()
        self._audits.go_on()
        self.runway.settle()
        self._giving.give_out()

    def _call_the_roll(self) -> None:
        there = self._post.workers()
        for address in [*self.members]:
            if address not in there:
                self._left(self.members.pop(address))
        for address, slots in there.items():
            if address not in self.members:
                member = self.members[address] = Member(address, slots)
                self._meeting.greet(member)
        self._meeting.look()
        self._slots = sum(one.slots for one in self.members.values() if one.state != ASIDE)
        if any(one.state != ASIDE for one in self.members.values()):
            self._seen = clock.monotonic()
        else:
            patience_s = _ROLL_S if self.members else self._address.patience_s
            if clock.monotonic() - self._seen > patience_s:
                self.end(roll.none_left(self._address.word, self._why))

    def set_aside(self, member: Member, reason: str) -> None:
        """Give a worker nothing more, and say why; what it had under way is made elsewhere."""
        if member.state == ASIDE or member.address not in self.members or self.ended:
            return
        member.state = ASIDE
        self._why = f"{member}: {reason}\n  "
        self.tell(f"{member} is set aside: {reason}")
        self._left(member)

    def _left(self, member: Member) -> None:
        self._post.forget(member.address)
        member.doubt.clear()
        for landed in member.held:
            self.runway.drop(landed)
            self.again(landed.item)
        member.held.clear()
        for task in [*member.going]:
            self.drop(task)
            lost = member.state != ASIDE
            for item in task.items:
                item.losses += lost and len(task.items) == 1
                if item.losses >= _LOSSES:
                    self.fail(item, roll.deadly(_LOSSES))
                else:
                    item.alone = item.alone or lost
                    self.again(item)
        self._audits.left(member)

    def again(self, item: Item) -> None:
        """Have a run made once more, before others."""
        self._giving.again(item)

    def fail(self, item: Item, error: RushHourError) -> None:
        """A run that cannot be made."""
        item.done = True
        if item.judge is not None:
            item.judge(None)
        else:
            with suppress(InvalidStateError):
                item.place.set_exception(error)

    def drop(self, task: Task) -> None:
        """Want no more of a task: its worker ends it."""
        task.member.going.discard(task)
        self.aside(partial(self._post.cancel, task.future))

    def _drop_all(self) -> None:
        self._post.forget()
        self._giving.waiting.clear()
        futures = [task.future for one in self.members.values() for task in one.going]
        for one in self.members.values():
            one.going.clear()
        self._post.cancel(*futures)

    # Taking in

    def fetch(self, task: Task) -> None:
        """Get what a task gave, check it and lay it beside its place; done beside the deciding thread."""
        if self.ended:
            return
        answer = self._post.answer(task.future)
        if answer is None:  # its worker went away, or it was dropped
            self.do(partial(self._gone, task))
            return
        header, pieces = answer
        if "runs" not in header:
            self.do(partial(self._refused, task, header))
            return
        landed: list[tuple[Item, Landed | dict[str, Any], float]] = []
        for item, told in zip(task.items, header["runs"], strict=True):
            if "names" not in told:
                landed.append((item, told["error"], told["took_s"]))
                continue
            names = told["names"]
            mine, pieces = pieces[: len(names) + 1], pieces[len(names) + 1 :]
            what = self.runway.lay(item, task.member, names, mine, self.asked(item))
            landed.append((item, what, told["took_s"]))
        self.do(partial(self._landed, task, landed))

    def _gone(self, task: Task) -> None:
        """A task without an answer: the roll tells whether its worker is there."""
        if task in task.member.going and not self.ended:
            self._call_the_roll()
            if task in task.member.going:
                self.drop(task)
                for item in task.items:
                    self.again(item)

    def _refused(self, task: Task, header: dict[str, Any]) -> None:
        if task not in task.member.going:
            return
        task.member.going.discard(task)
        for item in task.items:
            if "lacks" in header:
                self.again(item)
            else:
                self._doubts.failed(item, task.member, header["error"])
        task.member.files -= set(header.get("lacks", ()))

    def _landed(self, task: Task, landed: list[tuple[Item, Landed | dict[str, Any], float]]) -> None:
        current = task in task.member.going
        task.member.going.discard(task)
        for item, what, took_s in landed:
            if not current or self.ended:
                if isinstance(what, Landed):
                    self.runway.drop(what)
            elif isinstance(what, Landed):
                self._giving.took(took_s)
                self._arrived(what)
            else:
                self._doubts.failed(item, task.member, what)

    def others(self, but: set[str]) -> bool:
        """Whether a run may be expected of other workers than these."""
        return any(self._expects(one) for address, one in self.members.items() if address not in but)

    def _expects(self, member: Member) -> bool:
        if member.state == READY:
            return not self._giving.is_silent(member)
        return self._meeting.is_coming(member)

    def _arrived(self, landed: Landed) -> None:
        item, member = landed.item, landed.member
        if item.done:
            self.runway.drop(landed)
            return
        member.proven.add(item.image)
        self._doubts.made(item)
        if item.judge is not None:
            item.done = True
            item.judge(landed)
        elif not self._audits.keeps(landed):
            self.deliver(landed)

    def deliver(self, landed: Landed) -> None:
        """Put a record into its place."""
        item = landed.item
        if item.done or item.place.done():
            self.runway.drop(landed)
            return
        item.done = True
        try:
            self.runway.take_place(landed)
        except RushHourError as error:
            item.place.set_exception(error)
            return
        landed.member.delivered.append(str(item.destination))

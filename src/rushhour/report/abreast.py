"""Many result sets looked at one after the other, by several processes of this program.

Of a study each scenario has a page, and a part of the study's: each takes a tenth of a second and more of
Python, which does one thing at a time in a process. So some processes, `python -m rushhour.report.abreast`,
work on the next sets meanwhile. They write nothing, and nothing depends on them: what a process that does not
start or is killed was asked for is done here.
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from queue import SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from rushhour.lab import cpus
from rushhour.lab.beside import Beside, GoneError, serve
from rushhour.record.result_set import ResultSet
from rushhour.summary import index

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from concurrent.futures import Future
    from pathlib import Path

T = TypeVar("T")

ENOUGH = 60
"""Runs of all sets from which on processes are worth their start, which takes a second."""
MOST = 8
"""Processes; each has some 130 MB."""


def each(function: Callable[..., T], sets: Sequence[ResultSet], *words: object) -> Generator[T]:
    """What `function(results, *words)` gives of each set, in their order; a function of a module.

    A generator: closing it ends the processes.

    Raises:
        Exception: as the function.
    """
    if not worth(sets):
        yield from (function(one, *words) for one in sets)
        return
    count = min(_cpus(), len(sets), MOST)
    with closing(_Processes(count)) as processes:
        going: deque[tuple[ResultSet, Future[T]]] = deque()
        for one in sets:
            # A few ahead: what is drawn lies in memory until it is its turn.
            if len(going) > count:
                yield _taken(*going.popleft(), function, words)
            going.append((one, processes.submit(function, one, words)))
        while going:
            yield _taken(*going.popleft(), function, words)


def _taken(results: ResultSet, done: Future[T], function: Callable[..., T], words: Sequence[object]) -> T:
    results.tell("drawing")
    try:
        return done.result()
    except GoneError:
        return function(results, *words)


def worth(sets: Sequence[ResultSet]) -> bool:
    """Whether several processes look at these: not where there is little to do, or one takes much memory."""
    runs = [len(one) for one in sets]
    return min(_cpus(), len(sets)) > 1 and sum(runs) >= ENOUGH and max(runs) <= index.WHOLE


def _cpus() -> int:
    return len(cpus.own())


class _Processes:
    """Some processes, and as many threads here that wait for one each."""

    def __init__(self, count: int) -> None:
        self._started: list[Beside] = []
        with suppress(OSError):  # no memory, or no more processes are allowed
            for _ in range(count):
                self._started.append(Beside(__name__, None))
        self._left = len(self._started)
        self._free: SimpleQueue[Beside | None] = SimpleQueue()
        for process in self._started:
            self._free.put(process)
        if not self._started:
            self._free.put(None)
        self._lock = Lock()
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="abreast")

    def submit(self, function: Callable[..., T], results: ResultSet, words: Sequence[object]) -> Future[T]:
        """Have a function called with a set; a `GoneError` says that nobody can."""
        return self._threads.submit(self._ask, function, results.path, words)

    def close(self) -> None:
        """End all of them, whatever they do."""
        for process in self._started:
            process.end()
        self._threads.shutdown(cancel_futures=True)

    def _ask(self, function: Callable[..., T], path: Path, words: Sequence[object]) -> T:
        process = self._free.get()
        if process is None:
            self._free.put(None)
            raise GoneError
        try:
            made: T = process.ask(function, path, words)
        finally:
            self._give_back(process)
        return made

    def _give_back(self, process: Beside) -> None:
        """One that is gone is asked no more; where none is left, everybody is told at once."""
        gone = process.is_gone  # it may go at any moment
        with self._lock:
            self._left -= gone
            if not gone:
                self._free.put(process)
            elif not self._left:
                self._free.put(None)


def _begin(_: object) -> tuple[Callable[..., Any], Callable[[], None]]:
    def answer(function: Callable[..., Any], path: Path, words: Sequence[object]) -> Any:
        return function(ResultSet(path), *words)

    # Nobody is there to whom it could be given.
    return answer, partial(os._exit, 0)


if __name__ == "__main__":
    serve(_begin, 1)

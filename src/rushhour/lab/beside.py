"""Another process of this program, that does what it is asked and answers: `python -m MODULE`.

It ends when its standard input does, so also with whoever started it; what is typed at a terminal is not for
it. What goes to and fro is pickled: both sides are this program, on this machine.
"""

from __future__ import annotations

import errno
import os
import pickle
import struct
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from threading import Lock, Thread
from typing import IO, TYPE_CHECKING, Any

from rushhour.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Callable

# What it takes a process to end its guests and to remove what they wrote.
_END_S = 10.0
_SIZE = struct.Struct("<Q")


class GoneError(Exception):
    """The process has ended, or ends, and gave no answer."""


class Beside:
    """A process, as the one that started it sees it. May be used by several threads at once."""

    def __init__(self, module: str, first: object) -> None:
        """Start it; `first` is what it is told before all that it is asked.

        Raises:
            OSError: the system has no room for it, or no Python is where ours was.
        """
        self._ready = self._gone = False
        self._numbers = count()
        self._waited: dict[int, Future[Any]] = {}
        self._lock, self._turn = Lock(), Lock()
        # In a session of its own: what is typed at the terminal is for this process, which ends the others.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        self._reader = Thread(target=self._read, name="beside", daemon=True)
        try:
            self._reader.start()
        except RuntimeError as error:
            self._process.kill()
            self._process.wait()
            raise OSError(errno.EAGAIN, "no more threads are allowed") from error
        with suppress(GoneError):  # `is_ready` tells
            self._tell((first,))

    @property
    def is_gone(self) -> bool:
        """Whether it answers no more."""
        return self._gone

    @property
    def is_ready(self) -> bool:
        """Whether it has begun to answer, and goes on."""
        return self._ready and not self._gone

    def ask(self, *what: object) -> Any:
        """What it answers.

        Raises:
            GoneError: it ends before it has answered.
            Exception: what was asked failed there.
        """
        number, answer = next(self._numbers), Future[Any]()
        with self._lock:
            if self._gone:
                raise GoneError
            self._waited[number] = answer
        self._tell((number, what))
        return answer.result()

    def dismiss(self) -> None:
        """Let it end: its input ends."""
        with self._turn, suppress(OSError, ValueError):
            self._stdin.close()

    def wait(self) -> None:
        """Wait for its end, but not for ever."""
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()

    def end(self) -> None:
        """End it at once, whatever it does."""
        self._process.kill()
        self.dismiss()
        self.wait()

    @property
    def _stdin(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    def _tell(self, what: tuple[object, ...]) -> None:
        try:
            with self._turn:
                _send(self._stdin, what)
        except (OSError, ValueError):  # ValueError: it was dismissed
            raise GoneError from None

    def _read(self) -> None:
        """Take its answers, until there are no more."""
        assert self._process.stdout is not None
        # An answer that makes no sense is the last one, too.
        with suppress(Exception), self._process.stdout as answers:
            while (answer := _received(answers)) is not None:
                self._take(*answer)
        with self._lock:
            self._gone = True
            waited, self._waited = self._waited, {}
        for answer in waited.values():
            answer.set_exception(GoneError())

    def _take(self, number: int | None, gave: Any, error: BaseException | None, cause: Any) -> None:
        if number is None:
            self._ready = True
            return
        with self._lock:
            answer = self._waited.pop(number)
        if error is None:
            answer.set_result(gave)
        else:
            error.__cause__ = cause
            answer.set_exception(error)


def serve(begin: Callable[[Any], tuple[Callable[..., object], Callable[[], None]]], at_once: int) -> None:
    """Be such a process: answer what comes on standard input, so much `at_once`, until it ends.

    `begin` takes what is told first, and gives what answers, and what is called at the end: to stop all that
    goes on.
    """
    # Nothing else may write where the answers go.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    turn = Lock()

    def say(*told: object) -> None:
        with turn, suppress(OSError):  # nobody may be there to hear it
            _send(answers, told)

    def carry_out(number: int, what: tuple[object, ...]) -> None:
        try:
            say(number, answer(*what), None, None)
        except Exception as error:  # noqa: BLE001 - whoever waits for an answer is told
            say(number, None, portable(error), portable(error.__cause__))

    if (first := _received(sys.stdin.buffer)) is None:
        return
    answer, end = begin(*first)
    say(None, None, None, None)
    with ThreadPoolExecutor(at_once) as pool:
        while (asked := _received(sys.stdin.buffer)) is not None:
            pool.submit(carry_out, *asked)
        end()


def portable(error: BaseException | None) -> BaseException | None:
    """The error, or one that says the same if it cannot be sent."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - just made
    except Exception:  # noqa: BLE001 - an error may be made of anything
        return LabError(str(error))
    return error


def _send(sink: IO[bytes], what: tuple[object, ...]) -> None:
    data = pickle.dumps(what)
    sink.write(_SIZE.pack(len(data)) + data)
    sink.flush()


def _received(source: IO[bytes]) -> Any:
    """What was sent; None at the end, also in the midst of it."""
    size = source.read(_SIZE.size)
    if len(size) < _SIZE.size:
        return None
    (length,) = _SIZE.unpack(size)
    data = source.read(length)
    return pickle.loads(data) if len(data) == length else None  # noqa: S301 - of this program

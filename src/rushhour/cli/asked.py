"""Whatever asks for an end, Control-C above all, is an interrupt that neither gets lost nor breaks anything.

Python raises it between any two steps of the main thread. Raised while that takes or gives back a lock by
Python code, the lock is kept: another thread waits for it, and the command for that thread, for ever. Raised
where no exception gets out it is lost. There the interrupt waits a moment. Where it was lost all the same, as
in what code that is not Python's calls, it comes again.

And a signal that comes when the main thread has looked for one and not begun to wait yet, which on a busy
machine takes some milliseconds, would be heeded when that wait ends: after hours. Another thread nudges it.
"""

from __future__ import annotations

import _thread
import os
import signal  # noqa: TID251 - a command ends by signals
from time import sleep  # noqa: TID251 - a nudge comes after a while
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SAME_S, _AGAIN_S = 1.0, 0.002
# The later ones for a main thread that has not begun to wait by then.
_NUDGES_S = (0.02, 0.1, 0.5, 2.0)
# No exception gets out of what these call: C code that makes a module, and what ends an import (Python loses
# an interrupt there once in some ten times), or what is called as an object goes.
_DEAF = frozenset({"_frozen_importlib", "importlib._bootstrap", "weakref", "_weakrefset"})
# These hold locks, or are in the midst of what others wait for.
_LOCKING = frozenset({"threading", "queue", "concurrent.futures._base", "concurrent.futures.thread"})
_JOINS = frozenset({"join", "_wait_for_tstate_lock"})
# Who may catch an interrupt and go on.
_OURS = "rushhour.cli"


class _Interrupt(KeyboardInterrupt):
    """One that tells when it has come to nothing: neither the command nor code of ours has caught it."""

    def __init__(self, lost: Callable[[], None]) -> None:
        super().__init__()
        self._lost = lost

    def __del__(self) -> None:
        reached = self.__traceback__  # to the outermost frame; none where no Python code caught it
        if reached is None or not str(_module(reached.tb_frame)).startswith(_OURS):
            self._lost()


class Asked:
    """What asks for an end is an interrupt: what runs is stopped, what finished is kept.

    It is raised once. Pressed again within a moment it is the same request, which must not hinder the first
    one in removing what was begun.
    """

    def __init__(self) -> None:
        self._owed = self.raised = self._over = False
        self._number = signal.SIGINT

    def heed(self) -> None:
        """Handle the signals that ask for an end; what the starter ignores, as nohup, stays ignored."""
        for number in ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self)
        signal.signal(signal.SIGALRM, self)
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        _thread.start_new_thread(_nudge, (reading, _thread.get_ident()))

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """A signal has come, with what the main thread does."""
        if number != signal.SIGALRM:
            self._owed = self._owed or signal.getitimer(signal.ITIMER_REAL)[0] == 0
            self._number = signal.Signals(number)
        if not self._owed or self._handed_on(frame):
            return
        self._owed = not _may_be_raised(frame)
        if self._owed:  # again and again: one more may come where code waits without looking, as in `input`
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_S, _AGAIN_S)
            return
        signal.setitimer(signal.ITIMER_REAL, _SAME_S)
        self.raised = True
        raise _Interrupt(self._again)

    def _again(self) -> None:
        if not self._over:
            self._owed = True
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_S, _AGAIN_S)

    def _handed_on(self, frame: FrameType | None) -> bool:
        """Whether others have begun to heed the signal while the interrupt waited, as a server: it is theirs.

        In the midst of their work it would be an exception, of which an event loop can make anything.
        """
        handler = signal.getsignal(self._number)
        if handler is self or not callable(handler):
            return False
        self._owed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        handler(self._number, frame)
        return True

    def let_go(self) -> None:
        """Asked once more while the last threads end: then at once, and without a word of Python's."""
        self._over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        for number in ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)


def _nudge(reading: int, main: int) -> None:
    """Wake the main thread up after signals that ask for an end; Python writes their numbers as they come."""
    while numbers := os.read(reading, 64):
        if not {*numbers}.isdisjoint(ENDING):
            for after_s in _NUDGES_S:
                sleep(after_s)
                signal.pthread_kill(main, signal.SIGALRM)


def _may_be_raised(frame: FrameType | None) -> bool:
    """Whether an exception that comes here gets out, and leaves nothing held."""
    waits = frame is not None and _waits(frame)
    while frame is not None:
        module, function = _module(frame), frame.f_code.co_name
        if module in _DEAF or function == "__del__":
            return False
        # A thread that is being started says so at once.
        if module in _LOCKING and (not waits or function == "start"):
            return False
        frame = frame.f_back
    return True


def _waits(frame: FrameType) -> bool:
    """Whether it is here that a thread waits for others, for as long as that takes, and holds nothing."""
    if _module(frame) != "threading":
        return False
    if frame.f_code.co_name != "wait":
        return frame.f_code.co_name in _JOINS
    # `Condition.wait`, between letting its lock go and taking it again.
    known = frame.f_locals
    return "saved_state" in known and not known.get("gotit", False)


def _module(frame: FrameType) -> Any:
    return frame.f_globals.get("__name__")

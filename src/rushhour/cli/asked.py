"""Whatever asks for an end, Control-C above all, is an interrupt that neither gets lost nor breaks anything.

Python raises it between any two steps of the main thread. Raised while that takes or gives back a lock by
Python code, the lock is kept: another thread waits for it, and the command for that thread, for ever. Raised
where no exception gets out it is lost. There the interrupt waits a moment.
"""

from __future__ import annotations

import signal  # noqa: TID251 - a command ends by signals
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SAME_S, _AGAIN_S = 1.0, 0.002
# No exception gets out of what these call: C code that makes a module, and what ends an import (Python loses
# an interrupt there once in some ten times), or what is called as an object goes.
_DEAF = frozenset({"_frozen_importlib", "importlib._bootstrap", "weakref", "_weakrefset"})
# These hold locks, or are in the midst of what others wait for.
_LOCKING = frozenset({"threading", "queue", "concurrent.futures._base", "concurrent.futures.thread"})
_JOINS = frozenset({"join", "_wait_for_tstate_lock"})


class Asked:
    """What asks for an end is an interrupt: what runs is stopped, what finished is kept.

    It is raised once. Pressed again within a moment it is the same request, which must not hinder the first
    one in removing what was begun.
    """

    def __init__(self) -> None:
        self._owed = self.raised = False

    def heed(self) -> None:
        """Handle the signals that ask for an end; what the starter ignores, as nohup, stays ignored."""
        for number in ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self)
        signal.signal(signal.SIGALRM, self)

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """A signal has come, with what the main thread does."""
        if number != signal.SIGALRM:
            self._owed = self._owed or signal.getitimer(signal.ITIMER_REAL)[0] == 0
        if not self._owed:
            return
        self._owed = not _may_be_raised(frame)
        if self._owed:  # again and again: one more may come where code waits without looking, as in `input`
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_S, _AGAIN_S)
            return
        signal.setitimer(signal.ITIMER_REAL, _SAME_S)
        self.raised = True
        raise KeyboardInterrupt


def let_go() -> None:
    """Asked once more while the last threads end: then at once, and without a word of Python's."""
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


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

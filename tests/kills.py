"""Signals to processes of others: one that a test has just seen may be gone before the signal reaches it."""

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from subprocess import Popen
from typing import TypeVar

T = TypeVar("T", str, bytes)


def send(pid: int, number: signal.Signals = signal.SIGKILL) -> None:
    """A signal to one process, or to none where it has ended and its parent has waited for it.

    That takes no patience of its own: who needs the process to live until then says so with an assertion.
    """
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def all_at_once(pids: Iterable[int]) -> None:
    """Stopped before the first one dies, so that none of them sees another's death."""
    doomed = list(pids)
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for pid in doomed:
            send(pid, number)


@contextmanager
def at_the_end(process: Popen[T]) -> Iterator[Popen[T]]:
    """A process for the time of a block: what a test that fails there leaves running is not waited for."""
    with process:
        try:
            yield process
        finally:
            process.kill()

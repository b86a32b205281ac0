"""A program whose standard input and output lead to an agent, and what it complains of."""

from __future__ import annotations

import io
import os
import selectors
import signal
import subprocess
from concurrent.futures import Future, wait
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

MARK = "rushhour-session/1 "
_CHUNK = 1 << 16
_KEPT = 1 << 14


# Those that do not speak yet. A set's own methods are atomic in CPython.
_beginning: set[Transport] = set()


def give_up(opening: Collection[Future[Any]]) -> None:
    """End all that do not speak yet, until those who open them in other threads have come to their end."""
    while wait(opening, timeout=0.1).not_done:
        for one in list(_beginning):
            one.kill()


class SilentError(Exception):
    """The other side neither read nor wrote for too long."""


class Transport:
    """The program `words`, in a session of its own: an interrupt at the keyboard is ours to pass on."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            words,
            bufsize=0,
            env=dict(environment),
            start_new_session=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert isinstance(self.process.stdin, io.FileIO)
        assert isinstance(self.process.stdout, io.FileIO)
        self._input, self._output = self.process.stdin, self.process.stdout
        _beginning.add(self)
        self._kept = b""
        self._complaints = Thread(target=self._keep, name="complaints", daemon=True)
        self._complaints.start()
        self.noise = ""
        """What it said that was meant for people, before a marked line."""

    def exchange(self, data: bytes, silence_s: float) -> str | None:
        """Send `data`; the rest of the first marked line that comes, None at the end of the output.

        The line may come before all is sent: then what is left is not sent.

        Raises:
            SilentError: nothing moved for `silence_s` seconds.
        """
        left, line = memoryview(data), b""
        os.set_blocking(self._input.fileno(), False)
        try:
            with selectors.DefaultSelector() as ready:
                ready.register(self._output, selectors.EVENT_READ)
                if left:
                    ready.register(self._input, selectors.EVENT_WRITE)
                while events := ready.select(silence_s):
                    for key, _ in events:
                        if key.fileobj is self._input:
                            left = left[self._send_some(left) :]
                            if not left:
                                ready.unregister(self._input)
                            continue
                        # A byte at a time: what follows a marked line belongs to someone else.
                        letter = os.read(self._output.fileno(), 1)
                        line += letter
                        if letter in {b"", b"\n"}:
                            text, line = line.decode(errors="replace").strip(), b""
                            if text.startswith(MARK):
                                return text.removeprefix(MARK)
                            if not letter:
                                return None
                            self._hear(text)
        finally:
            os.set_blocking(self._input.fileno(), True)
        raise SilentError

    def lines(self) -> io.BufferedReader:
        """What it says from here on."""
        _beginning.discard(self)
        return io.BufferedReader(self._output, _CHUNK)

    def write(self, data: bytes) -> None:
        """Send all of `data`; OSError if nobody takes it any more."""
        left = memoryview(data)
        while left:
            left = left[self._input.write(left) :]

    def ended(self, patience_s: float = 3.0) -> tuple[int | None, str]:
        """The exit code (negative: a signal; None: it still runs), and its last complaints."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(patience_s)
        self._complaints.join(0.5 if self.process.returncode is not None else 0)
        return self.process.returncode, self._kept.decode(errors="replace").strip()

    def end(self, patience_s: float) -> None:
        """Close its input and wait; after `patience_s` seconds end it and what it started."""
        with suppress(OSError):
            self._input.close()
        try:
            self.process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self.kill(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(2.0)
            self.kill()
            self.process.wait()

    def abandon(self) -> None:
        """End it at once, where nobody reads its `lines`."""
        _beginning.discard(self)
        self.kill()
        self.end(0)
        self._output.close()

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to it and to what it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    def _send_some(self, data: memoryview) -> int:
        try:
            return self._input.write(data[:_CHUNK]) or 0
        except BrokenPipeError:
            return len(data)

    def _hear(self, text: str) -> None:
        if text and len(self.noise) < _KEPT:
            self.noise += f"{text}\n"

    def _keep(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stream, suppress(OSError, ValueError):
            while data := stream.read(_CHUNK):
                self._kept = (self._kept + data)[-_KEPT:]

"""A person at a terminal: keys are typed into a command, and what it prints is read."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

PATIENCE_S = 120


class Typist:
    """`rushhour` with these words at a terminal of its own; a context manager."""

    def __init__(self, *words: str, cwd: Path, size: tuple[int, int] = (24, 80)) -> None:
        self._said = ""
        self.pid, self.terminal = pty.fork()
        if not self.pid:
            os.chdir(cwd)
            paths = os.pathsep.join(path for path in sys.path if path)
            env = os.environ | {"PYTHONPATH": paths, "TERM": "xterm", "NO_COLOR": "1"}
            os.execve(sys.executable, [sys.executable, "-m", "rushhour", *words], env)
        self.resize(*size)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.hang_up()
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)

    def type(self, keys: str) -> None:
        os.write(self.terminal, keys.encode())

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def mode(self) -> list[object]:
        """What the terminal does with keys."""
        return termios.tcgetattr(self.terminal)

    def flags(self) -> int:
        """Its local modes."""
        return int(termios.tcgetattr(self.terminal)[3])

    def until(self, word: str) -> str:
        """What was printed up to this word, since the last time."""
        end = time.monotonic() + PATIENCE_S
        while word not in self._said:
            assert time.monotonic() < end, f"no {word!r}: {self._said[-800:]!r}"
            assert self._read(), f"ended without {word!r}: {self._said[-800:]!r}"
        before, found, self._said = self._said.partition(word)
        return before + found

    def ends(self) -> tuple[str, int]:
        """What it still prints, and its exit code."""
        end = time.monotonic() + PATIENCE_S
        while self._read():
            assert time.monotonic() < end, f"does not end: {self._said[-800:]!r}"
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return self._said, os.waitstatus_to_exitcode(status)

    def hang_up(self) -> None:
        """The terminal is gone."""
        if self.terminal >= 0:
            os.close(self.terminal)
            self.terminal = -1

    def _read(self) -> bool:
        ready, _, _ = select.select([self.terminal], [], [], 0.1)
        if not ready:
            return True
        try:
            piece = os.read(self.terminal, 65536)
        except OSError:  # nobody has the other end any more
            return False
        self._said += piece.decode(errors="replace")
        return bool(piece)

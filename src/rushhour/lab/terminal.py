"""The terminal of whoever gave the command, for a program in a virtual kernel (`rushhour shell`).

The launcher reads its keys and writes what the program prints (`agent/src/launch/terminal.rs`); here it is
lent, and put back as it was whatever happens.
"""

from __future__ import annotations

import os
import sys
import termios
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.lab import clock

if TYPE_CHECKING:
    from collections.abc import Iterator

_KINDS = ("/etc/terminfo", "/lib/terminfo", "/usr/lib/terminfo", "/usr/share/terminfo")
NOTE = "a person typed at a terminal, and time was held to the clock on the wall: this run cannot be repeated"
"""What a record of such a run says of itself."""


@dataclass(frozen=True)
class Terminal:
    """A terminal that is lent to a guest.

    `keys` and `screen` are the numbers of its open files; `speed` is how much faster than the clock on the
    wall virtual time goes on, at most; `moment` tells this session from every other one.
    """

    keys: int
    screen: int
    speed: float
    moment: str

    @property
    def words(self) -> list[str]:
        """What the launcher is told."""
        return ["--terminal", f"{self.keys},{self.screen},{self.speed!r}"]


def kind() -> tuple[str, Path | None]:
    """What kind of terminal it is, as programs are told, and the file that describes it to them."""
    name = os.environ.get("TERM", "")
    for one in (name, "xterm") if name and "/" not in name else ():
        for folder in _KINDS:
            if (place := Path(folder, one[0], one)).is_file():
                return one, place
    return name or "dumb", None


def is_there() -> bool:
    """Whether somebody types: the standard input is a terminal."""
    return os.isatty(0)


@contextmanager
def lent(speed: float) -> Iterator[Terminal]:
    """The terminal of this process, which does as before afterwards."""
    before = termios.tcgetattr(0)
    # Who is in the background is stopped here, as everybody who changes a terminal: the keys are another's.
    termios.tcsetattr(0, termios.TCSADRAIN, before)
    sys.stdout.flush()
    keys, screen = os.dup(0), os.dup(1)
    try:
        yield Terminal(keys, screen, speed, f"{clock.stamped()} {os.getpid()}")
    finally:
        # The launcher has done so, unless it was killed. A terminal that is gone needs nothing.
        with suppress(termios.error):
            termios.tcsetattr(0, termios.TCSADRAIN, before)
        os.close(keys)
        os.close(screen)

"""How a bisection or a check goes on, on standard error: lines that stay, and one that changes."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

from rich.console import Console

from rushhour.cli.interrupted import notes_of
from rushhour.cli.screen import say
from rushhour.cli.waiting import one_line

if TYPE_CHECKING:
    from types import TracebackType


class Screen:
    """What stays is printed; what goes on at the moment is shown on a terminal only.

    An interrupted one is told with the words that it was given; before it told anything they may not hold.
    """

    def __init__(self, interrupted: str) -> None:
        self._interrupted, self._told = interrupted, False
        self._console = Console(stderr=True, highlight=False)
        self._stack = ExitStack()
        self._status = None if not self._console.is_terminal else self._console.status("")

    def __enter__(self) -> Self:
        if self._status is not None:
            self._stack.enter_context(self._status)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        if isinstance(error, KeyboardInterrupt) and self._told and not notes_of(error):
            error.add_note(self._interrupted)

    def tell(self, text: str) -> None:
        """What goes on now."""
        self._told = True
        if self._status is not None:
            self._status.update(one_line(self._console, text))

    def note(self, text: str) -> None:
        """What is worth keeping."""
        self._told = True
        say(self._console, text)

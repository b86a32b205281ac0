"""Control-C: a command ends with one sentence, which is said in one place (`rushhour.cli.main`)."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SAME = "To go on: the same command"


@contextmanager
def interruption(words: str) -> Iterator[None]:
    """Control-C in this block is told with these words, unless a block inside has its own.

    A command has it around all that it does, as a decorator: the sentence is the same while its modules are
    loaded, while runs go on, and while the page is written.
    """
    try:
        yield
    except KeyboardInterrupt as error:
        if not notes_of(error):
            error.add_note(words)
        raise


def sentence(error: BaseException) -> str:
    """What is said of a Control-C, also of one that click has caught."""
    caught = error if isinstance(error, KeyboardInterrupt) else error.__cause__
    return "; ".join(["interrupted", *notes_of(caught)[:1]])


def notes_of(error: BaseException | None) -> list[str]:
    """What blocks said of it, the innermost first."""
    return list(getattr(error, "__notes__", ()))

"""What is going on, for people who wait: one line that changes on a terminal, lines elsewhere."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console

    from rushhour.record.result_set import ResultSet

_SPINNER = 3


@contextmanager
def waiting(console: Console) -> Iterator[Callable[[str], None]]:
    """Gives a function that prints what is being done, on standard error."""
    if not console.is_terminal:
        yield lambda text: console.print(Text(text), soft_wrap=True)
        return
    with console.status("") as status:
        yield lambda text: status.update(one_line(console, text))


def one_line(console: Console, text: str) -> Text:
    """What goes on, cut off where the terminal ends: else it flickers over several lines."""
    line = Text(text)
    line.truncate(console.width - _SPINNER, overflow="ellipsis")
    return line


@contextmanager
def watched(console: Console) -> Iterator[Callable[[str], None]]:
    """Gives a function that says on a terminal what is being done; elsewhere it says nothing."""
    if not console.is_terminal:
        yield lambda _: None
        return
    with waiting(console) as tell:
        yield tell


@contextmanager
def read_by(console: Console, sets: Sequence[ResultSet]) -> Iterator[None]:
    """Says on a terminal which runs of these sets are read and what is drawn; elsewhere nothing."""
    from rushhour.record.result_set import all_heard

    before = [one.tell for one in sets]
    try:
        with watched(console) as tell:
            all_heard(sets, tell)
            yield
    finally:
        for one, told in zip(sets, before, strict=True):
            one.tell = told

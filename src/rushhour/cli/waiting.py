"""What is going on, for people who wait: one line that changes on a terminal, lines elsewhere."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console


@contextmanager
def waiting(console: Console) -> Iterator[Callable[[str], None]]:
    """Gives a function that prints what is being done, on standard error."""
    if not console.is_terminal:
        yield lambda text: console.print(Text(text), soft_wrap=True)
        return
    with console.status("") as status:
        yield lambda text: status.update(Text(text))

"""Control-C stays the command's own."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def kept() -> Iterator[None]:
    """Whatever is imported in this block, an interrupt means what it meant before.

    dask-jobqueue takes it as it is imported: a command would end without a word, and as if all were well.
    """
    ours = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is not ours:
            signal.signal(signal.SIGINT, ours)

"""Waiting for what other processes do; a minute, for a busy machine."""

import time
from collections.abc import Callable

_LOOK_S = 0.02


def until(holds: Callable[[], object], patience_s: float = 60.0) -> bool:
    """Whether something is so before patience ends."""
    deadline = time.monotonic() + patience_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(_LOOK_S)
    return True

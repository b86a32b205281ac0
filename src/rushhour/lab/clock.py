"""The clocks of this machine: what a run takes of real time, and when it was."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def now() -> datetime:
    """The time of day, in UTC."""
    return datetime.now(UTC)


def monotonic() -> float:
    """Seconds since some instant of the past; nothing sets them back."""
    return time.monotonic()


def sleep(seconds: float) -> None:
    """Wait."""
    time.sleep(seconds)

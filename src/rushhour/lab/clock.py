"""The clocks of this machine: what a run takes of real time, and when it was."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def now() -> datetime:
    """The time of day, in UTC."""
    return datetime.now(UTC)


def stamped(moment: datetime | None = None) -> str:
    """An instant as documents have it, now if none is given: "2026-03-01T09:05:00Z"."""
    return (moment or now()).strftime("%Y-%m-%dT%H:%M:%SZ")


def folder_stamp(moment: datetime | None = None) -> str:
    """An instant as folders are named, now if none is given: "20260301-090500"."""
    return (moment or now()).strftime("%Y%m%d-%H%M%S")


def monotonic() -> float:
    """Seconds since some instant of the past; nothing sets them back."""
    return time.monotonic()


def sleep(seconds: float) -> None:
    """Wait."""
    time.sleep(seconds)

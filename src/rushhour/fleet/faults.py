"""Errors that travel: what a worker says went wrong, and whose fault it may be."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

from rushhour import errors
from rushhour.errors import GuestError, LabError, RushHourError
from rushhour.lab.base import CancelledError

if TYPE_CHECKING:
    from collections.abc import Mapping

# What a machine cannot do now, it will not do for the next run either.
_BROKEN = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ESTALE),
    *(errno.EMFILE, errno.ENFILE, errno.ENOMEM),
)


def document(error: BaseException) -> dict[str, Any]:
    """An error as a message has it."""
    cause = error if isinstance(error, OSError) else error.__cause__
    number = cause.errno if isinstance(cause, OSError) else None
    if isinstance(error, MemoryError):
        number = errno.ENOMEM
    known = isinstance(error, RushHourError)
    return {
        "kind": type(error).__name__,
        "message": error.message if isinstance(error, RushHourError) else f"{type(error).__name__}: {error}",
        "where": error.where if isinstance(error, RushHourError) else None,
        "hint": error.hint if isinstance(error, RushHourError) else None,
        "errno": number,
        "machine": error.machine if isinstance(error, RushHourError) else False,
        "hangs": error.hangs if isinstance(error, GuestError) else False,
        "known": known,
    }


def error_of(told: Mapping[str, Any]) -> RushHourError:
    """The error that a message tells of."""
    kind = CancelledError if told["kind"] == "CancelledError" else getattr(errors, told["kind"], LabError)
    if not (isinstance(kind, type) and issubclass(kind, RushHourError)) or kind is errors.ScenarioError:
        kind = LabError
    error: RushHourError = kind(told["message"], where=told["where"], hint=told["hint"])
    error.machine = bool(told["machine"])
    if isinstance(error, GuestError):
        error.hangs = bool(told["hangs"])
    return error


def is_broken(told: Mapping[str, Any]) -> bool:
    """Whether the machine itself cannot go on: a full disk, no memory, a file system that is read-only."""
    return told["errno"] in _BROKEN or not told["known"]


def is_doubtful(told: Mapping[str, Any]) -> bool:
    """Whether the machine may be at fault: another one has to try before anything is said of the kernel."""
    return bool(told["machine"]) or told["kind"] in (
        "GuestError",
        "LabError",
        "RecordError",
        "CancelledError",
    )

"""Writing a finished file: whole or not at all, with an error that says what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.errors import ReportError
from rushhour.files import rooms

if TYPE_CHECKING:
    from pathlib import Path


def put(content: str | bytes, path: Path) -> None:
    """Write a file under a temporary name and rename it.

    Raises:
        ReportError: the file cannot be written; nothing is left behind.
    """
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    try:
        rooms.put(path, data)
    except OSError as error:
        raise ReportError(
            f"cannot write the file: {error.strerror}",
            where=str(path),
            hint="choose another place with --out",
        ) from error

"""Writing a finished file: whole or not at all, with an error that says what to do."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from rushhour.errors import ReportError


def put(content: str | bytes, path: Path) -> None:
    """Write a file under a temporary name and rename it.

    Raises:
        ReportError: the file cannot be written; nothing is left behind.
    """
    data = content.encode() if isinstance(content, str) else content
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            temporary = Path(file.name)
            file.write(data)
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise ReportError(
            f"cannot write the file: {error.strerror}",
            where=str(path),
            hint="choose another place with --out",
        ) from error

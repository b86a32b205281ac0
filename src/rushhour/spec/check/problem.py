"""One thing wrong: the path of the key, what was found, what is allowed."""

from __future__ import annotations

from typing import NamedTuple

Path = tuple[str | int, ...]


class Problem(NamedTuple):
    """A fault before it is known where in a file it stands."""

    path: Path
    message: str
    hint: str | None = None

"""One thing wrong: the path of the key, what was found, what is allowed."""

from __future__ import annotations

from typing import NamedTuple

Path = tuple[str | int, ...]

_LABS = 'labs = ["netns", "hosts"]'
# Which lab a command names is not known where a scenario is read: it stands in records without its command.
REAL_TIME_ONLY = f"say that it is for real time only: {_LABS}; for one command: --set '{_LABS}'"
"""The remedy of what makes no sense in virtual time, also where another lab is asked for."""


class Problem(NamedTuple):
    """A fault before it is known where in a file it stands."""

    path: Path
    message: str
    hint: str | None = None

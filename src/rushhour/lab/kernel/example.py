"""Files of C to begin with: a congestion control and a queue discipline, small and whole."""

from __future__ import annotations

import re
from importlib import resources

from rushhour.errors import UsageError

_FILE = re.compile(r"(tcp|sch)_([a-z][a-z0-9_]{0,14})\.c")


def text(file: str) -> str:
    """What a file to begin with says; names in it are after the file's: `tcp_NAME.c`, `sch_NAME.c`.

    Raises:
        UsageError: the file's name is no such name.
    """
    found = _FILE.fullmatch(file)
    if found is None:
        raise UsageError(
            "its name does not say what it is to be",
            where=file,
            hint="tcp_NAME.c is a congestion control, sch_NAME.c a queue discipline; NAME has at most 15 "
            "lower-case letters, digits and _",
        )
    whole = resources.files(__package__).joinpath("examples", f"{found[1]}_mine.c")
    return re.sub(r"\bmine(?=\b|_)", found[2], whole.read_text(encoding="utf-8"))

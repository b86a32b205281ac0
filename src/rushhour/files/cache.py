"""The cache: what can be made again, below `$XDG_CACHE_HOME/rushhour`."""

from __future__ import annotations

import os
from pathlib import Path

from rushhour.errors import LabError

HINT = "make room there, or set XDG_CACHE_HOME to a folder of yours"


def folder(*parts: str) -> Path:
    """A path below `$XDG_CACHE_HOME/rushhour` or `~/.cache/rushhour`; the folder above it exists."""
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        path = (Path(base) if base else Path.home() / ".cache").joinpath("rushhour", *parts)
        if not os.path.isdir(path.parent):  # noqa: PTH112 - asked for several times a run
            path.parent.mkdir(parents=True, exist_ok=True)
    except RuntimeError as error:  # a user whom the machine does not know
        raise LabError(f"there is no folder for the cache: {error}", hint=HINT, machine=True) from error
    except OSError as error:
        raise LabError(
            f"the cache cannot be written: {error.strerror}", where=str(path.parent), hint=HINT, machine=True
        ) from error
    return path

"""Where lasting data lies: baselines and the results database. What can be made again is in the cache."""

from __future__ import annotations

import os
from pathlib import Path


def data(*parts: str) -> Path:
    """A path below `$XDG_DATA_HOME/rushhour` or `~/.local/share/rushhour`; nothing is made."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share").joinpath("rushhour", *parts)

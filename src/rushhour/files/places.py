"""Where lasting data lies: baselines, the results database, fleets; what can be made again is in the cache.

And whether there is a screen, which the environment says, too.
"""

from __future__ import annotations

import os
from pathlib import Path


def data(*parts: str) -> Path:
    """A path below `$XDG_DATA_HOME/rushhour` or `~/.local/share/rushhour`; nothing is made."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share").joinpath("rushhour", *parts)


def config(*parts: str) -> Path:
    """A path below `$XDG_CONFIG_HOME/rushhour` or `~/.config/rushhour`; nothing is made."""
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config").joinpath("rushhour", *parts)


def has_screen() -> bool:
    """Whether a browser has a screen to appear on."""
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def database() -> str:
    """The results database that is used when none is named: `RUSHHOUR_DB`, or a file of the user's."""
    return os.environ.get("RUSHHOUR_DB") or str(data("results.db"))


def asked_database() -> str | None:
    """`RUSHHOUR_DB`, if it is set: then `rushhour run` and `rushhour compare` store what they did."""
    return os.environ.get("RUSHHOUR_DB") or None

"""What a command of a test finds in its folder: two scenarios, and a cache with the kernels built here."""

from __future__ import annotations

import os
from pathlib import Path

SHORT = """
title = "Short"
duration = "300ms"
topology = { preset = "dumbbell", rate = "10mbit", rtt = "10ms" }
flow = [{ name = "long" }]
sweep = { cc = ["cubic", "reno"] }
"""
LONG = SHORT.replace("300ms", "1000s").replace("10mbit", "1gbit")
# As this user has them: a test may have a cache of its own by the time it asks.
KERNELS = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rushhour/kernels"


def furnish(folder: Path) -> Path:
    """`short.toml`, `long.toml` and the cache; which is given."""
    cache = folder / "cache"
    (cache / "rushhour").mkdir(parents=True, exist_ok=True)
    (cache / "rushhour/kernels").symlink_to(KERNELS)
    (folder / "short.toml").write_text(SHORT)
    (folder / "long.toml").write_text(LONG)
    return cache

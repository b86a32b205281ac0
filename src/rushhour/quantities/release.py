"""The order of kernels' releases, as kernel people count."""

from __future__ import annotations

import re

_RELEASE = re.compile(r"v?(\d+(?:\.\d+)*)(?:-rc(\d+))?(.*)", re.DOTALL)
# What `git describe` and the kernel's own setlocalversion append: commits since the tag.
_COMMITS = re.compile(r"-(\d+)-g[0-9a-f]{4,}")
_FINAL = 1 << 30

Order = tuple[tuple[int, ...], int, int]


def release_order(release: str) -> Order:
    """What releases are sorted by: numbers, `-rcN` before the release itself, then commits since the tag.

    `6.12.9` < `6.12.10` < `6.13.0-rc1` < `6.13.0-rc1-00042-gabcdef` < `6.13.0`; first what has no number.
    """
    found = _RELEASE.match(release)
    if found is None:
        return ((), 0, 0)
    numbers = [int(part) for part in found[1].split(".")]
    # 6.13 is 6.13.0.
    while numbers and numbers[-1] == 0:
        numbers.pop()
    commits = _COMMITS.search(found[3])
    return (tuple(numbers), int(found[2]) if found[2] else _FINAL, int(commits[1]) if commits else 0)

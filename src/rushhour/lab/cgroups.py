"""Control groups of both versions, by what files say: where a process's own are, what time they allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SELF, MOUNTS = "/proc/self/cgroup", "/proc/self/mountinfo"
ROOT = "/sys/fs/cgroup"
MAX, QUOTA, PERIOD = "cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us"
"""The files that limit processors' time: of version 2, and two of version 1."""
# What version 1 takes where nobody says (kernel/sched/core.c).
_PERIOD_US = 100_000


def folders(own: str, mountinfo: str) -> list[str]:
    """The groups of a process and those above, every one of which limits, by its `SELF` and `MOUNTS`."""
    places: list[str] = []
    mounts = _mounts(mountinfo)
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        mount = mounts.get(controllers)
        if mount is None or not mount.startswith(ROOT):
            continue
        parts = [part for part in path.split("/") if part not in {"", ".."}]
        places += [mount + "".join(f"/{part}" for part in parts[:depth]) for depth in range(len(parts) + 1)]
    return [*dict.fromkeys(places)]


def _mounts(mountinfo: str) -> dict[str, str]:
    """Where each hierarchy of control groups is mounted, by its controllers; version 2 has none (`""`)."""
    found: dict[str, str] = {}
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        words, kind = left.split(), right.split()
        if len(words) < 5 or len(kind) < 3:
            continue
        if kind[0] == "cgroup2":
            found.setdefault("", words[4])
        elif kind[0] == "cgroup":
            options = kind[2].split(",")
            for controller in ("cpu", "cpu,cpuacct", "memory"):
                if set(controller.split(",")) <= set(options):
                    found[controller] = words[4]
    return found


def processors(files: Mapping[str, str]) -> Iterator[float]:
    """Processors' worth of time, of each group among these files (by path) that has a limit."""
    for path, text in files.items():
        if not path.startswith(f"{ROOT}/"):
            continue
        folder, _, name = path.rpartition("/")
        words = text.split()
        if name == MAX and len(words) == 2 and words[0] != "max":
            yield int(words[0]) / int(words[1])
        elif name == QUOTA and text.strip().isdecimal():  # -1: no limit
            told = files.get(f"{folder}/{PERIOD}", "").strip()
            period = int(told) if told.isdecimal() else _PERIOD_US
            if int(text) and period:
                yield int(text) / period

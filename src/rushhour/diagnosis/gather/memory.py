"""Memory, swap, and the limits of the control groups that the agent runs under. Sizes in bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.diagnosis.gather.cpu import pressures
from rushhour.diagnosis.gather.text import number, pairs
from rushhour.lab import cgroups

if TYPE_CHECKING:
    from rushhour.diagnosis.gather.reading import Reading

_KIB = 1024
PAGE = 4096
# Above this version 1 says "no limit" (PAGE_COUNTER_MAX pages, mm/memcontrol.c).
_UNLIMITED = 1 << 62


def section(reading: Reading) -> dict[str, Any]:
    """What there is, what is free, what is swapped out; limits of the control groups."""
    told = pairs(reading.text("/proc/meminfo"))
    found: dict[str, Any] = {}
    for key, name in (
        ("total", "MemTotal"),
        ("available", "MemAvailable"),
        ("swap_total", "SwapTotal"),
        ("swap_free", "SwapFree"),
    ):
        if (kib := number(told.get(name))) is not None:
            found[key] = kib * _KIB
    if "swap_total" in found and "swap_free" in found:
        found["swap_used"] = found["swap_total"] - found["swap_free"]
    vmstat = pairs(reading.text("/proc/vmstat"), " ")
    found |= {
        name: count
        for name in ("pswpin", "pswpout", "oom_kill")
        if (count := number(vmstat.get(name))) is not None
    }
    if pressure := pressures(reading.text("/proc/pressure/memory")):
        found["pressure_pct"] = pressure
    if limits := cgroup(reading):
        found["cgroup"] = limits
    return found


def cgroup(reading: Reading) -> dict[str, Any]:
    """The tightest limit of all groups from the root down: processors' worth of time, and bytes of memory."""
    cpus = [*cgroups.processors(reading.files)]
    sizes: list[int] = []
    throttled = 0
    for path, text in reading.files.items():
        if not path.startswith(f"{cgroups.ROOT}/"):
            continue
        name = path.rpartition("/")[2]
        if name in {"memory.max", "memory.high", "memory.limit_in_bytes"}:
            size = number(text)
            sizes += [size] if size is not None and size < _UNLIMITED else []
        elif name == "cpu.stat":
            throttled += number(pairs(text, " ").get("nr_throttled")) or 0
    found: dict[str, Any] = {}
    if cpus:
        found["cpus"] = round(min(cpus), 3)
        found["throttled"] = throttled
    if sizes:
        found["memory"] = min(sizes)
    return found

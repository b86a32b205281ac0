"""How busy the processors of an end were while something ran."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from rushhour.diagnosis.gather import cpu
from rushhour.diagnosis.gather.reading import Reading, cpu_stat_files
from rushhour.diagnosis.measured import Cpu
from rushhour.lab import cgroups
from rushhour.lab.host import answers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rushhour.diagnosis.gather.reading import Asked

STAT = "/proc/stat"
_IDLE = ("idle", "iowait")


@dataclass(frozen=True)
class Moment:
    """What an end's files said at one instant.

    Ticks by processor, those of the agents on that machine, microseconds for which a quota stopped them.
    """

    ticks: Mapping[str, Mapping[str, int]]
    own: int
    throttled_us: int | None


class Watch:
    """Looks at an end before and after something; `agents` are the process numbers of the agents there."""

    def __init__(self, session: Asked, agents: Sequence[int]) -> None:
        self.session = session
        self.agents = [f"/proc/{pid}/stat" for pid in agents]
        known = answers.files(session, [cgroups.SELF, cgroups.MOUNTS])
        self.quotas = cpu_stat_files(Reading(files=dict(known)))

    def look(self) -> Moment:
        """The state now."""
        files = answers.files(self.session, [STAT, *self.agents, *self.quotas])
        own = sum(_ticks(files[path]) for path in self.agents if path in files)
        stopped = [_throttled(files[path]) for path in self.quotas if path in files]
        return Moment(
            cpu.ticks(files.get(STAT)), own, max((one for one in stopped if one is not None), default=None)
        )


def _ticks(text: str) -> int:
    """Utime and stime of a process (proc_pid_stat(5)); its name, in parentheses, may hold blanks."""
    words = text.rpartition(")")[2].split()
    return int(words[11]) + int(words[12]) if len(words) > 12 else 0


def _throttled(text: str) -> int | None:
    """µs that a group's tasks were stopped: `throttled_usec` of version 2, `throttled_time` (ns) of 1."""
    words = dict(line.split(maxsplit=1) for line in text.splitlines() if " " in line)
    if "throttled_usec" in words:
        return int(words["throttled_usec"])
    return int(words["throttled_time"]) // 1000 if "throttled_time" in words else None


def between(before: Moment, after: Moment, seconds: float) -> Cpu | None:
    """What happened between two looks; `seconds` is how long the experiment in between lasted."""
    shares = [share for name in after.ticks if (share := _shares(before, after, name))]
    if not shares:
        return None
    hottest = max(shares, key=lambda share: share["busy"])
    stopped = None
    if before.throttled_us is not None and after.throttled_us is not None:
        stopped = min(1.0, (after.throttled_us - before.throttled_us) * 1e-6 / seconds)
    return Cpu(
        count=len(shares),
        busiest=hottest["busy"],
        mean=fmean(share["busy"] for share in shares),
        softirq=hottest["softirq"],
        steal=max(share["steal"] for share in shares),
        throttled=stopped,
        others=_others(before, after),
    )


def _others(before: Moment, after: Moment) -> float | None:
    """Processors' worth of time that programs other than the agents had; soft interrupts are the path's."""
    whole, programs = 0, 0
    for name, now in after.ticks.items():
        risen = {kind: now[kind] - before.ticks.get(name, {}).get(kind, 0) for kind in now}
        whole += sum(risen.values())
        programs += sum(risen.get(kind, 0) for kind in ("user", "nice", "system"))
    spent = programs - (after.own - before.own)
    return max(0.0, spent / whole * len(after.ticks)) if whole > 0 else None


def _shares(before: Moment, after: Moment, name: str) -> dict[str, float]:
    first, last = before.ticks.get(name, {}), after.ticks[name]
    risen = {kind: last[kind] - first.get(kind, 0) for kind in last}
    whole = sum(risen.values())
    if whole <= 0 or min(risen.values()) < 0:
        return {}
    idle = sum(risen.get(kind, 0) for kind in _IDLE)
    soft = risen.get("softirq", 0) + risen.get("irq", 0)
    return {"busy": 1 - idle / whole, "softirq": soft / whole, "steal": risen.get("steal", 0) / whole}

"""100 000 runs in one command: 10 000 cells on workers whose runs cost nothing, killed half-way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from .cells import EMPTY
from .fleet import machines, template
from .measure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .workshop import Workshop

SIDE, FEW, REPEAT = 100, 10, 10
"""Levels of two factors each, of a quick look, and repetitions."""
STEPS = 10
"""How often the controller is looked at meanwhile."""
TINY = EMPTY.replace("100ms", "10ms")
SWEEP = """
[sweep]
"topology.rate" = {rates}
"topology.rtt" = {rtts}
"""


@dataclass
class _Watched:
    """A command, and what it was when so many of its runs were done: CPU seconds, resident MB."""

    process: subprocess.Popen[str]
    known: int = 0
    made: int = 0
    steps: list[tuple[int, float, float]] = field(default_factory=list)

    def look(self) -> None:
        """Note what it is now."""
        home = Path("/proc", str(self.process.pid))
        words = (home / "stat").read_text(encoding="ascii").rpartition(")")[2].split()
        cpu = (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
        pages = int((home / "statm").read_text(encoding="ascii").split()[1])
        self.steps.append((self.known + self.made, cpu, pages * os.sysconf("SC_PAGE_SIZE") / 1e6))

    def until(self, count: int, every: int) -> None:
        """Read lines of progress until so many runs are done."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.known += line.endswith(": known\n")
            self.made += line.endswith(": done\n")
            done = self.known + self.made
            if done % every == 1:
                self.look()
            if done == count:
                self.look()
                return


def one_command(shop: Workshop) -> Iterator[Figure]:
    """What the controller takes for a run while runs are made, at the end, and what of it grows."""
    side = FEW if shop.quick else SIDE
    runs = side * side * REPEAT
    file, out = shop.place().with_suffix(".toml"), shop.place()
    rates = json.dumps([f"{10 + number}mbit" for number in range(side)])
    rtts = json.dumps([f"{10 + number}ms" for number in range(side)])
    file.write_text(TINY + SWEEP.format(rates=rates, rtts=rtts), encoding="utf-8")
    cpus = sorted(os.sched_getaffinity(0))[:2]
    with machines(shop, cpus, template(shop, TINY)) as address:
        words = ["run", str(file), "--repeat", str(REPEAT), "--on", address, "--out", str(out)]
        first = _begun(words)
        first.until(runs // 2, runs // STEPS)
        first.process.kill()
        first.process.communicate()
        there = len([*(out / "runs").glob("[!.]*")])
        second = _begun(words)
        second.until(runs, runs // STEPS)
        peak, cpu = _ended(second)
    yield Figure("runs that were there and made again", "", [runs - there - second.made], target=0)
    yield Figure(f"controller's CPU for a run, {runs} runs", "s", [_each(first.steps)], target=0.003)
    known = [step for step in second.steps if step[0] < there]
    yield Figure("… for one that is there", "s", [_each(known)])
    at_end = (cpu - second.steps[-1][1]) / runs
    yield Figure("… at the end: index, report, table", "s", [at_end])
    yield Figure("its memory grows by, a run", "kB", [_grows(first.steps)])
    yield Figure("its greatest memory", "MB", [peak], target=2000)
    yield Figure("the set on disk, a run", "kB", [_on_disk(out) / 1000 / runs])


def _begun(words: list[str]) -> _Watched:
    command = [sys.executable, "-m", "rushhour", *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return _Watched(process)


def _ended(watched: _Watched) -> tuple[float, float]:
    """Peak memory in MB and CPU seconds of a command, when it has ended well."""
    _, status, usage = os.wait4(watched.process.pid, 0)
    watched.process.returncode = os.waitstatus_to_exitcode(status)
    # Copies of one record under other links are not valid, and that is all that is wrong.
    assert watched.process.returncode in (0, 4), watched.process.returncode
    return usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def _each(steps: list[tuple[int, float, float]]) -> float:
    (first, before, _), (last, after, _) = steps[0], steps[-1]
    return (after - before) / (last - first)


def _grows(steps: list[tuple[int, float, float]]) -> float:
    (first, _, before), (last, _, after) = steps[1], steps[-1]
    return (after - before) * 1000 / (last - first)


def _on_disk(folder: Path) -> int:
    """Bytes that the files of a folder take."""
    return sum(
        os.lstat(os.path.join(at, name)).st_blocks * 512  # noqa: PTH118 - a million times
        for at, _, names in os.walk(folder)
        for name in names
    )

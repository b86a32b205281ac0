"""What whole studies cost: the matrix of the five theses to a finished report; the controller's memory."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour import runner
from rushhour.report import html

from .measure import Figure, cost

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.runner import Batch

    from .workshop import Workshop

MATRIX = """
title = "Algorithms, losses, delays"
duration = "10s"
[topology]
preset = "dumbbell"
rate = "10mbit"
rtt = "20ms"
[[flow]]
name = "flow"
[sweep]
cc = [{algorithms}]
"topology.loss" = [{losses}]
"topology.rtt" = [{delays}]
"""
ALGORITHMS = ("cubic", "reno", "bbr", "vegas", "westwood", "htcp")
LOSSES = ("0%", "0.01%", "0.1%", "0.5%", "1%", "2%")
DELAYS = ("2ms", "10ms", "20ms", "50ms", "100ms")

SMALL = """
title = "Many small cells"
duration = "100ms"
repeat = {repeat}
[topology]
preset = "dumbbell"
rate = "10mbit"
rtt = "10ms"
[[flow]]
bytes = "1kB"
"""


def matrix(shop: Workshop) -> Iterator[Figure]:
    """6 algorithms, 6 losses, 5 delays, each 10 s at 10 Mbit/s, traced per ACK, to a finished report."""
    step = 2 if shop.quick else 1
    words = [", ".join(f'"{one}"' for one in values[::step]) for values in (ALGORITHMS, LOSSES, DELAYS)]
    study = shop.study(MATRIX.format(algorithms=words[0], losses=words[1], delays=words[2]))
    cells, cpus = len(study), len(os.sched_getaffinity(0))
    running = cost(lambda: _finish(study))
    page = shop.place()
    reports = [cost(lambda: html.write(study.results(), page)) for _ in range(1 if shop.quick else 3)]
    walls, cpu = [one.wall for one in reports], [one.cpu for one in reports]
    yield Figure(
        f"matrix of {cells} cells to a report",
        "s",
        [running.wall + walls[0]],
        [(running.cpu / cpus + cpu[0])],
        target=30 * cells / 180,
        note=f"{running.cpu:.1f} CPU s for the runs",
    )
    yield Figure(f"report of {cells} cells", "s", walls, cpu, target=3.0)
    yield Figure("its size", "MB", [page.stat().st_size / 1e6], target=5.0)


def memory(shop: Workshop) -> Iterator[Figure]:
    """The controller's greatest memory with ten times as many cells, against that with a few."""
    few, many = (4, 40) if shop.quick else (20, 200)
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        peaks = [pool.apply(_peak_mb, (shop.study(SMALL.format(repeat=n)),)) for n in (few, many)]
    yield Figure(
        f"controller's memory, {many} cells against {few}",
        "x",
        [peaks[1] / peaks[0]],
        target=1.1,
        note=f"{peaks[1]:.0f} MB against {peaks[0]:.0f} MB",
    )


def _finish(study: Batch) -> None:
    failed = [outcome.error for outcome in runner.carry_out([study], runner.make_lab("uml")) if outcome.error]
    if failed:
        raise failed[0]


def _peak_mb(study: Batch) -> float:
    _finish(study)
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024

"""What whole studies cost: a matrix of 180 cells from the command to its report; the controller's memory."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.record.result_set import ResultSet
from rushhour.report import html
from rushhour.running import runner
from rushhour.summary.measured import metrics_of

from .cells import EMPTY
from .measure import Figure, cost

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.running.runner import Batch

    from .workshop import Workshop

MATRIX = "mendicino/matrix"
GUESTS = "boot, set-up, calibration, sealing"
VIRTUAL = "virtual time of the cells"

CPU = min(os.sched_getaffinity(0))


def matrix(shop: Workshop) -> Iterator[Figure]:
    """6 algorithms, 6 losses, 5 delays, 10 s at 10 Mbit/s, traced per ACK: from the command to the report."""
    folder, page = shop.place(), shop.place()
    command = [sys.executable, "-m", "rushhour", "run", MATRIX, "--kernel", shop.kernel, "--out", str(folder)]
    whole = cost(lambda: _carried_out(command + ["--quick"] * shop.quick))
    results = ResultSet.open(folder)
    cells, cpus = len(results), len(os.sched_getaffinity(0))
    stages = _stages(shop, results, whole.cpu)
    side_by_side = sum(seconds for name, seconds in stages.items() if name in (GUESTS, VIRTUAL))
    yield Figure(
        f"{MATRIX}, {cells} cells, to the report",
        "s",
        [whole.wall],
        [side_by_side / cpus + whole.cpu - side_by_side],
        target=30 * cells / 180,
        note=f"{whole.cpu:.1f} CPU s",
    )
    for name, seconds in stages.items():
        yield Figure(f"  {name}", "CPU s", [seconds], note=f"{100 * seconds / whole.cpu:.0f} % of them")
    reports = [cost(lambda: html.write(results, page)) for _ in range(1 if shop.quick else 3)]
    walls, cpu = [one.wall for one in reports], [one.cpu for one in reports]
    yield Figure(f"report of {cells} cells", "s", walls, cpu, target=3.0)
    yield Figure("its size", "MB", [page.stat().st_size / 1e6], target=5.0)


def _stages(shop: Workshop, results: ResultSet, whole_s: float) -> dict[str, float]:
    """Where the CPU seconds go; the virtual time of the cells is what nothing else takes."""
    batch, lab = shop.study(EMPTY), runner.make_lab("uml")
    job = batch.job(next(batch.runs()))
    stages = {
        "start of the command": cost(lambda: _carried_out([sys.executable, "-m", "rushhour", "list"])).cpu,
        GUESTS: min(cost(lambda: lab.run(job, shop.place(), CPU)).cpu for _ in range(shop.times))
        * len(results),
        VIRTUAL: 0.0,
        "metrics and index": cost(lambda: _measured(results)).cpu,
        "report": cost(lambda: html.write(results, shop.place())).cpu,
    }
    stages[VIRTUAL] = whole_s - sum(stages.values())
    return stages | {"decoding, as part of both": cost(lambda: _decode(results)).cpu}


def _measured(results: ResultSet) -> None:
    for record in results:
        metrics_of(record, fresh=True)
    results.write_index()


def _decode(results: ResultSet) -> None:
    for record in results:
        for name in record.tables():
            record.table(name)


def _carried_out(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def memory(shop: Workshop) -> Iterator[Figure]:
    """The controller's greatest memory with ten times as many cells, against that with a few."""
    few, many = (4, 40) if shop.quick else (20, 200)
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        peaks = [pool.apply(_peak_mb, (replace(shop.study(EMPTY), repeat=n),)) for n in (few, many)]
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

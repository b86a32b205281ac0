"""What a fleet costs: two workers against one, and the controller's part of a run."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.fleet.use import fleet as joined
from rushhour.running import runner

from .cells import EMPTY
from .measure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rushhour.running.batch import Batch

    from .workshop import Workshop

_DASK = [sys.executable, "-m"]


@contextmanager
def machines(
    shop: Workshop, cpus: list[int], template: Path | None = None, stubs: Sequence[str] = ()
) -> Iterator[str]:
    """A scheduler, and a worker on each of these processors; gives the address.

    With a `template` the runs are copies of that record; `stubs` are further words for `stub_worker`.
    """
    file = shop.place() / "scheduler.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    words = ["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
    started = [_start([*_DASK, *words, "--scheduler-file", str(file)], file.parent)]
    try:
        while not file.is_file() or not file.read_text():
            time.sleep(0.05)
        address = file.read_text().partition('"address": "')[2].partition('"')[0]
        for number, cpu in enumerate(cpus):
            cache = file.parent / f"cache-{number}"
            cache.mkdir()
            if template is not None:
                command = ["benchmarks.stub_worker", address, str(cache), str(template), *stubs]
            else:
                command = ["distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
                command += ["--no-nanny", "--local-directory", str(cache)]
            started.append(_start(["taskset", "-c", str(cpu), *_DASK, *command], cache))
        yield address
    finally:
        for process in started:
            process.kill()
            process.wait()


def _start(words: list[str], cache: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)


def fleet(shop: Workshop) -> Iterator[Figure]:
    """Two workers of one processor each against one; the controller's part with workers that do nothing."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) > 1:
        runs = 60 if shop.quick else 300
        one, two = (_seconds(shop, cpus[:count], runs) for count in (1, 2))
        name = f"{runs} cells, two workers of one processor against one"
        yield Figure(name, "x", [one / two], target=1.9, at_least=True)
    small, large = (200, 1000) if shop.quick else (1000, 10_000)
    spent, (before, after) = _cpu(shop, cpus[:2], small, large)
    yield Figure(f"the controller's CPU for a run, {large} runs", "s", [spent / large], target=0.003)
    yield Figure(f"its memory after {large} runs against {small}", "x", [after / before], target=1.2)


def template(shop: Workshop, text: str = EMPTY) -> Path:
    """A record that stub runs are copies of: that of a scenario."""
    batch = shop.study(text)
    return next(runner.carry_out([batch], runner.make_lab("uml"), jobs=1)).record


def _study(shop: Workshop, runs: int) -> Batch:
    return replace(shop.study(EMPTY), repeat=runs)


def _seconds(shop: Workshop, cpus: list[int], runs: int) -> float:
    """How long a sweep takes, without the start of workers."""
    with machines(shop, cpus) as address:
        begin = 0.0
        lab = runner.make_lab("uml")
        with joined(address, lab, audit=0) as executor:
            for count in (2 * len(cpus), runs):  # a few first: the kernel's image is on its way
                begin = time.monotonic()
                study = _study(shop, count)
                with closing(runner.carry_out([study], lab, executor=executor, fresh=True)) as outcomes:
                    assert sum(outcome.error is None for outcome in outcomes) == count
        return time.monotonic() - begin


def _cpu(shop: Workshop, cpus: list[int], *looks: int) -> tuple[float, list[float]]:
    """CPU seconds of this process for a sweep of as many runs as the last of `looks`, and its memory in MB.

    The memory is that at each of these runs, before the index: what that needed once stays with the process.
    """
    lab, study = runner.make_lab("uml"), _study(shop, looks[-1])
    with machines(shop, cpus, template(shop)) as address, joined(address, lab, audit=0) as executor:
        begin = time.process_time()
        memory = []
        with closing(runner.carry_out([study], lab, executor=executor, fresh=True)) as outcomes:
            for done, outcome in enumerate(outcomes, 1):
                assert outcome.error is None
                if done in looks:
                    memory.append(_resident_mb())
        spent = time.process_time() - begin
    return spent, memory


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

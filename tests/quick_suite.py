"""The runs of the quick suite one by one, for tests that hold their bytes against each other."""

from __future__ import annotations

import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from known_runs import record_of

from rushhour.errors import UnsupportedError
from rushhour.lab.uml import UmlLab
from rushhour.record.json_file import read_json
from rushhour.running.prepare import prepare

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rushhour.lab.base import Job

    # The hash of each file of a record.
    Bytes = Mapping[str, str]


def jobs(kernel: str, *, every: int = 1, first: int = 0) -> dict[str, Job]:
    """The quick suite's runs on a kernel by number and cell; one of `every`, from the `first` on."""
    found = {}
    batches = prepare(["suite"], kernels=[kernel], quick=True, out=Path(tempfile.gettempdir(), "nowhere"))
    runs = [(batch, run) for batch in batches for run in batch.runs()]
    for number, (batch, run) in enumerate(runs):
        if number % every == first:
            factors = " ".join(f"{key}={value}" for key, value in run.cell.factors.items())
            found[f"{number} {batch.name} {factors}"] = batch.job(run)
    return found


def carried_out(runs: Mapping[str, Job], lab: UmlLab | None = None) -> dict[str, Bytes]:
    """What each run left, on all CPUs; of one for which the kernel is too old, the words that say so.

    Without a lab the agent is the usual one, and what is known need not be run again.
    """
    known = UmlLab()
    cpus: SimpleQueue[int] = SimpleQueue()
    for cpu in sorted(os.sched_getaffinity(0)):
        cpus.put(cpu)

    def one(job: Job) -> Bytes:
        cpu = cpus.get()
        try:
            with tempfile.TemporaryDirectory() as folder:
                place = Path(folder) / "run"
                return _bytes(lab.run(job, place, cpu) if lab else record_of(known, job, place, cpu).path)
        except UnsupportedError as error:
            return {"unsupported": str(error)}
        finally:
            cpus.put(cpu)

    with ThreadPoolExecutor(cpus.qsize()) as pool:
        return dict(zip(runs, pool.map(one, runs.values()), strict=True))


def different(some: Mapping[str, Bytes], others: Mapping[str, Bytes]) -> dict[str, list[str]]:
    """The runs that are not equal to the byte, with the files in which they differ."""
    assert some.keys() == others.keys()
    parted = {name: _parted(some[name], others[name]) for name in some}
    return {name: files for name, files in parted.items() if files}


def _parted(one: Bytes, other: Bytes) -> list[str]:
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def _bytes(record: Path) -> Bytes:
    result = dict(read_json(record / "result.json"))
    result.pop("calibration", None)
    files: Iterable[Path] = sorted((record / "raw").iterdir())
    found = {path.name: sha256(path.read_bytes()).hexdigest() for path in files}
    return found | {"result.json": sha256(repr(result).encode()).hexdigest()}

"""What the benchmarks share: a place with a kernel and a cache of its own, scenarios, runs."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.files import cache
from rushhour.lab import kernel
from rushhour.record.record import Record
from rushhour.running import runner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.lab.base import Job, Lab
    from rushhour.running.runner import Batch


@dataclass(frozen=True)
class Workshop:
    """A place for measurements, removed afterwards; `times` is how often each is repeated."""

    folder: Path
    kernel: str
    times: int
    quick: bool
    numbers: Iterator[int]

    def place(self) -> Path:
        """A new name below the folder."""
        return self.folder / f"{next(self.numbers):04d}"

    def study(self, text: str) -> Batch:
        """A scenario's text, ready to run; all have one name, as runs that are compared must."""
        file = self.place() / "scenario.toml"
        file.parent.mkdir(parents=True)
        file.write_text(text, encoding="utf-8")
        return runner.prepare([file], kernels=[self.kernel], out=self.place())[0]

    def job(self, text: str) -> Job:
        """The first run of a scenario."""
        study = self.study(text)
        return study.job(next(study.runs()))

    def run(self, lab: Lab, job: Job) -> Record:
        """Carry a run out on one CPU; the record is sealed, decoded and measured when this returns."""
        record = Record.open(lab.run(job, self.place(), cpu=min(os.sched_getaffinity(0))))
        record.metrics()
        return record


@contextmanager
def workshop(name: str | None, *, quick: bool) -> Iterator[Workshop]:
    """A cache of its own: nothing of the user's is used but the kernels, and nothing is left behind."""
    chosen = kernel.find(name) if name else kernel.default()
    kernels = chosen.image.resolve().parent.parent
    with tempfile.TemporaryDirectory(prefix="rushhour-bench-") as temporary:
        os.environ["XDG_CACHE_HOME"] = temporary
        cache.folder("kernels").symlink_to(kernels)
        yield Workshop(Path(temporary), chosen.name, 3 if quick else 5, quick, count())

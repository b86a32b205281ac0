"""Schedulers and workers for tests: processes of Dask's, each with a cache of its own, some of them odd.

They are forked from a process that has Dask imported, which saves a second each. An odd worker is changed in
its own process before it begins: nothing in the program asks whether it is tested.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import logging
import multiprocessing
import os
import socket
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import fakes

from rushhour.errors import GuestError, LabError
from rushhour.lab import agent, clock
from rushhour.lab import kernel as kernels
from rushhour.lab.kernel import Kernel
from rushhour.lab.uml import UmlLab

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pytest

    from rushhour.lab.base import Job

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["distributed", "fleets", "rushhour.fleet.worker"])
_WAIT_S = 60


def settle(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test live in a folder: its cache there, a kernel that needs no build, `fake.toml` to run."""
    monkeypatch.chdir(place)
    monkeypatch.setenv("XDG_CACHE_HOME", str(place / "cache"))
    one = kernel(place)
    monkeypatch.setattr(kernels, "find", lambda _: one)
    monkeypatch.setattr(kernels, "default", lambda: one)
    (place / "fake.toml").write_text(fakes.SCENARIO)


class Stub(UmlLab):
    """The lab, but for the guests: a record is written at once, a function of the job alone."""

    def run(self, job: Job, destination: Path, cpu: int | None = None) -> Path:
        return written(job, destination, self.key(job), self.truth)

    truth = 50.0


def written(job: Job, destination: Path, key: str, mbit: float) -> Path:
    return fakes.write(destination, job, mbit + job.plan.seed % 7, key)


@dataclass(frozen=True)
class Odd:
    """What is odd about a worker: `what` is the name of a function below, `how` what it is given."""

    what: str = "sound"
    how: Any = None


def sound(_: Any) -> None:
    """Makes stub runs."""
    _stub(lambda *_: None)


def slow(seconds: float) -> None:
    """Makes them slowly."""
    _stub(lambda *_: time.sleep(seconds))


def waits(file: str) -> None:
    """Makes none as long as this file is there."""

    def wait(*_: object) -> None:
        while os.path.exists(file):  # noqa: PTH110 - a worker is told a text
            time.sleep(0.05)

    _stub(wait)


def lies(after: int) -> None:
    """Gives other bytes, after so many that are right."""
    _stub(lambda *_: None)
    made = iter(range(1 << 30))
    Stub.truth = property(lambda _: 50.0 if next(made) < after else 60.0)  # type: ignore[assignment]


def alien(machine: str) -> None:
    """Is of another architecture."""
    import platform  # noqa: PLC0415

    sound(None)
    platform.machine = lambda: machine


def old(version: str) -> None:
    """Has an older wheel."""
    from rushhour.fleet import worker  # noqa: PLC0415

    sound(None)
    vars(worker)["__version__"] = version


def late(seconds: float) -> None:
    """Has a wrong clock."""
    sound(None)
    now = clock.now
    clock.now = lambda: now() - timedelta(seconds=seconds)


def poor(_: Any) -> None:
    """Has too little memory."""
    from rushhour.lab.doctor import machine  # noqa: PLC0415

    sound(None)
    machine._LITTLE = 1 << 60


def full(_: Any) -> None:
    """Has no room for a run."""

    def fail(job: Job, destination: Path) -> None:
        raise LabError("the run cannot be written: No space left on device") from OSError(errno.ENOSPC, "No")

    _stub(fail)


def boasts(_: Any) -> None:
    """Gives the right tables, and other metrics."""
    from rushhour.summary import measured  # noqa: PLC0415

    sound(None)
    text = measured._text
    vars(measured)["_text"] = lambda values: text(
        [one if one.value is None else replace(one, value=1e9) for one in values]
    )


def measures(_: Any) -> None:
    """Has another numpy."""
    from rushhour.summary import measured  # noqa: PLC0415

    sound(None)
    vars(measured)["code"] = lambda: "other"


def storeless(_: Any) -> None:
    """Does not reach the store."""
    from rushhour.files import storage  # noqa: PLC0415

    sound(None)

    def fail(_: str) -> Any:
        raise PermissionError(13, "Permission denied")

    vars(storage)["Path"] = fail


def unable(_: Any) -> None:
    """Has a CPU on which the kernel does not start."""

    def fail(job: Job, destination: Path) -> None:
        raise GuestError("the virtual kernel did not start; its last console lines:\n    (nothing)")

    _stub(fail)


def _stub(before: Callable[[Job, Path], None]) -> None:
    from rushhour.lab import uml  # noqa: PLC0415

    class Here(Stub):
        def run(self, job: Job, destination: Path, cpu: int | None = None) -> Path:
            before(job, destination)
            return written(job, destination, self.key(job), Stub.truth if not isinstance(Stub.truth, property)
                           else Stub.truth.fget(self))  # fmt: skip

    uml.UmlLab = Here  # type: ignore[misc]


@dataclass
class Bed:
    """A scheduler and its workers; all are killed at the end."""

    folder: Path
    port: int = 0
    processes: dict[str, Any] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def scheduler(self) -> None:
        """Start the scheduler, or a new one at the same port."""
        self.port = self.port or _free_port()
        self._start("scheduler", _scheduler, self.port)

    def worker(self, name: str, odd: Odd | None = None, threads: int = 1, cache: Path | None = None) -> None:
        place = cache or self.folder / f"cache-{name}"
        place.mkdir(exist_ok=True)
        self._start(name, _worker, self.address, name, str(place), odd, threads)

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        process.kill()
        process.join()

    def _start(self, name: str, what: Callable[..., None], *how: Any) -> None:
        ready = _context.Event()
        words = (ready, str(self.folder / f"{name}.log"), *how)
        process = _context.Process(target=what, args=words, daemon=True)
        process.start()
        self.processes[name] = process
        assert ready.wait(_WAIT_S), (self.folder / f"{name}.log").read_text()


@contextmanager
def bed(folder: Path, *workers: Odd | None) -> Iterator[Bed]:
    """A scheduler and workers named w0, w1 …; None is one that is not odd, and starts kernels."""
    folder.mkdir(parents=True, exist_ok=True)
    one = Bed(folder)
    try:
        one.scheduler()
        for number, odd in enumerate(workers):
            one.worker(f"w{number}", odd)
        yield one
    finally:
        for name in [*one.processes]:
            one.kill(name)


def kernel(folder: Path) -> Kernel:
    """A kernel whose image nobody starts."""
    image = folder / "linux"
    image.write_bytes(b"no kernel" * 100)
    identity = {
        "name": "k", "release": "6.12.1", "hz": 1000, "host_sha256": "0" * 64,
        "image_sha256": hashlib.sha256(image.read_bytes()).hexdigest(),
    }  # fmt: skip
    return Kernel("k", image, "6.12.1", identity, folder / "config", source="debian:6.12")


def lab() -> Stub:
    """The controller's lab."""
    return Stub(given=agent.find())


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _quiet(log: str) -> None:
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    logging.basicConfig(level=logging.WARNING)


def _scheduler(ready: Any, log: str, port: int) -> None:
    from distributed import Scheduler  # noqa: PLC0415

    _quiet(log)

    async def go() -> None:
        async with Scheduler(host="127.0.0.1", port=port, dashboard=False) as one:
            ready.set()
            await one.finished()

    asyncio.run(go())


def _worker(  # noqa: PLR0917 - a process is given words in their order
    ready: Any, log: str, scheduler: str, name: str, cache: str, odd: Odd | None, threads: int
) -> None:
    from distributed import Worker  # noqa: PLC0415

    _quiet(log)
    os.environ["XDG_CACHE_HOME"] = cache
    if odd is not None:
        globals()[odd.what](odd.how)

    async def go() -> None:
        async with Worker(scheduler, name=name, nthreads=threads, local_directory=cache) as one:
            ready.set()
            await one.finished()

    with suppress(asyncio.CancelledError, KeyboardInterrupt):
        asyncio.run(go())

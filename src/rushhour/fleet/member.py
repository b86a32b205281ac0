"""A member of a fleet: `python -m rushhour.fleet.member FOLDER` is its scheduler, or one host's workers.

FOLDER has `member.json` and the certificates, and takes scratch and `ready.json`; it is removed at an orderly
end. Nothing listens but the scheduler, the workers and their nannies, on the one address that was asked for,
by TLS with both sides' certificates; the servers of Dask's web pages are never started.
"""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from distributed import Nanny, Scheduler, Worker

from rushhour.fleet.state import SCHEDULER
from rushhour.fleet.status import SAID
from rushhour.fleet.there import READY
from rushhour.fleet.tls import Certificates, security
from rushhour.version import __version__

if TYPE_CHECKING:
    from distributed.security import Security

# A worker that does not reach its scheduler for so long gives up, and its host with it.
_GIVE_UP_S = 60
_LOOK_S = 60


def _quiet() -> None:
    """Let no stranger who calls our ports fill the log, and with it the disk."""
    for name in ("distributed.comm.tcp", "distributed.comm.core", "tornado.application", "tornado.general"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


class QuietScheduler(Scheduler):  # type: ignore[misc] # Dask has no types
    """A scheduler without a web server."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Start none: its pages need no certificate."""


class FleetWorker(Worker):  # type: ignore[misc] # Dask has no types
    """A worker with one thread on one CPU, without a web server, that says what it is able to do."""

    def __init__(
        self, *words: Any, cpu: int | None = None, able: dict[str, Any] | None = None, **options: Any
    ) -> None:
        _quiet()
        if cpu is not None:
            os.sched_setaffinity(0, {cpu})
        super().__init__(*words, **options)
        # Dask sends the first with the registration, the second with every heartbeat.
        self.startup_information[SAID] = lambda _worker: able or {}
        self.metrics["tasks"] = lambda worker: worker.state.executed_count

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Start none: its pages need no certificate."""


def _security(folder: Path, role: Literal["scheduler", "worker"]) -> Security:
    return security(Certificates(folder / "ca.pem", folder / "cert.pem", folder / "key.pem"), role)


def main(folder: Path) -> None:
    """Be what `member.json` says until a signal, or until the scheduler is gone."""
    _quiet()
    config = json.loads((folder / "member.json").read_text(encoding="utf-8"))
    try:
        asyncio.run(_scheduler(folder, config) if config["role"] == SCHEDULER else _workers(folder, config))
    except (OSError, RuntimeError) as error:
        if (fault := _fault(error)) is None:
            raise
        taken = fault.errno == errno.EADDRINUSE and "port" in config
        port = f" port {config['port']}" if taken else ""
        sys.exit(f"{config['host']}{port}: {os.strerror(fault.errno) if fault.errno else fault}")
    shutil.rmtree(folder, ignore_errors=True)


async def _scheduler(folder: Path, config: dict[str, Any]) -> None:
    ports = [config["port"]] if config["asked"] else [config["port"], 0]
    for port in ports:
        scheduler = QuietScheduler(
            host=_written(config["host"]),
            port=port,
            protocol="tls",
            security=_security(folder, "scheduler"),
            dashboard=False,
        )
        try:
            await scheduler
        except (OSError, RuntimeError) as error:
            fault = _fault(error)
            if fault is None or fault.errno != errno.EADDRINUSE or port == ports[-1]:
                raise
            continue
        break
    _tell(folder, {"address": scheduler.address})
    await _until_signal(Scheduler.finished(scheduler))
    await scheduler.close()


async def _workers(folder: Path, config: dict[str, Any]) -> None:
    _require_shared_memory()
    able = _able() | {"member": config["name"]}
    cpus = sorted(os.sched_getaffinity(0))[: config["cpus"]]
    nannies = [
        Nanny(
            config["scheduler"],
            nthreads=1,
            name=f"{config['name']}-{number}",
            memory_limit=config["memory"],
            host=_written(config["host"]),
            protocol="tls",
            security=_security(folder, "worker"),
            death_timeout=_GIVE_UP_S,
            local_directory=str(folder / "scratch"),
            worker_class=FleetWorker,
            cpu=cpu,
            able=able,
        )
        for number, cpu in enumerate(cpus)
    ]
    try:
        await asyncio.gather(*nannies)
        _tell(folder, {"workers": len(nannies), "address": config["host"], "able": able})
        await _until_signal(asyncio.gather(*(nanny.finished() for nanny in nannies)))
    finally:
        await asyncio.gather(*(nanny.close(timeout=5) for nanny in nannies), return_exceptions=True)


def _require_shared_memory() -> None:
    """Say what Dask would only show by a stack: its processes share locks, which are files there."""
    try:
        multiprocessing.Lock()
    except OSError as error:
        told = f"no shared memory in /dev/shm: {error.strerror or error}"
        sys.exit(f"{told}: mount a tmpfs there that everybody may write to")


def _written(host: str) -> str:
    """An address as Dask takes it."""
    return f"[{host}]" if ":" in host else host


def _fault(error: BaseException | None) -> OSError | None:
    """What the system refused: Dask wraps it."""
    while error is not None and not isinstance(error, OSError):
        error = error.__cause__
    return error


async def _until_signal(end: Any) -> None:
    """Wait for an end, or for a signal that asks for it."""
    asked = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, asked.set)
    waiting = [asyncio.ensure_future(end), asyncio.ensure_future(asked.wait())]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for one in waiting:
        one.cancel()


def _able() -> dict[str, Any]:
    """Version, Python and whether virtual runs can be made here, as `rushhour doctor` sees it."""
    # A process of its own: doctor tries system calls in copies of a process that has one thread only.
    words = [sys.executable, "-P", "-m", "rushhour", "doctor", "--json"]
    lacks = []
    try:
        done = subprocess.run(words, capture_output=True, timeout=_LOOK_S, check=False)
        checks = json.loads(done.stdout)["checks"]
        # A host without a kernel is sent one: what else it lacks counts.
        lacks = [
            f"{one['name']}: {one['says']}"
            for one in checks
            if one["name"] in _NEEDED and one["state"] == "bad"
        ]
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError) as error:
        lacks.append(f"doctor: it could not look at this machine: {error}")
    python = ".".join(map(str, sys.version_info[:3]))
    return {"version": __version__, "python": python, "lacks": lacks}


_NEEDED = ("cpu", "memory", "files", "python", "agent")


def _tell(folder: Path, about: dict[str, Any]) -> None:
    """Say that all is ready: whole or not at all."""
    (folder / "new").write_text(json.dumps(about), encoding="utf-8")
    (folder / "new").rename(folder / READY)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""What a worker does: it says what it is, takes files, and carries out runs.

`serve` is all that Dask calls here, and all it carries are bytes (`message`). A run that nobody waits for any
more (the command was stopped, its machine is gone, another worker was faster) is ended.
"""

from __future__ import annotations

import hashlib
import platform
import threading
from contextlib import contextmanager
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushhour.errors import LabError, RushHourError
from rushhour.files import cache as store
from rushhour.files import rooms, storage
from rushhour.fleet import blobs, cpus, faults, message, packing, parts
from rushhour.lab import clock
from rushhour.lab.base import CancelledError
from rushhour.lab.doctor import machine
from rushhour.lab.doctor.check import State
from rushhour.lab.manifest import host
from rushhour.record import afar
from rushhour.record.record import Record
from rushhour.record.slim import archive_of
from rushhour.running.executor import execute
from rushhour.summary import measured
from rushhour.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rushhour.lab.uml import UmlLab

    Answer = tuple[dict[str, Any], list[bytes]]

# How often a worker looks whether its task is still wanted, in seconds.
_LOOK_S = 0.25


def serve(request: bytes) -> bytes:
    """Do what a message asks, and answer with another; errors are told in it, too."""
    try:
        header, pieces = message.unpack(request)
        answer, made = _OPERATIONS[header["do"]](header, pieces)
    except (RushHourError, OSError, MemoryError) as error:
        return message.pack({"error": faults.document(error)})
    return message.pack(answer, made)


@cache
def code() -> str:
    """A hash of this program's source: what a worker measures and writes depends on it."""
    root = resources.files("rushhour")
    assert isinstance(root, Path)
    files = sorted(path for path in root.rglob("*.py"))
    told = [f"{path.relative_to(root)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n" for path in files]
    return hashlib.sha256("".join(told).encode()).hexdigest()


def _examine(header: Mapping[str, Any], _: list[bytes]) -> Answer:
    """What this machine is, and which of the files it lacks."""
    lacks = [digest for digest in header["files"] if not blobs.has(digest)]
    memory = machine.memory()
    return {
        "version": __version__,
        "code": code(),
        "machine": platform.machine(),
        "clock": clock.now().timestamp(),
        "host": platform.node(),
        "cpu": host()["cpu_model"],
        "memory": None if memory.state is State.OK else memory.says,
        "measures": measured.code(),
        "lacks": lacks,
    }, []


def _take(header: Mapping[str, Any], pieces: list[bytes]) -> Answer:
    """Keep files."""
    for digest, piece in zip(header["files"], pieces, strict=True):
        blobs.put(digest, piece)
    return {}, []


def _run(header: Mapping[str, Any], _: list[bytes]) -> Answer:
    """Carry out runs, one after the other; each has its record or its error."""
    made: list[bytes] = []
    told: list[dict[str, Any]] = []
    wanted = {file for one in header["runs"] for file in parts.digests(one, header["lab"], header["needs"])}
    if lacks := [digest for digest in wanted if not blobs.has(digest)]:
        return {"lacks": lacks}, []
    with _lab(header) as lab:
        for one in header["runs"]:
            begin = clock.monotonic()
            try:
                entry = _made(lab, one, header, made)
            except (RushHourError, OSError, MemoryError) as error:
                entry = {"error": faults.document(error)}
            told.append({"key": one["key"], "took_s": clock.monotonic() - begin, **entry})
    return {"runs": told}, made


def _made(
    lab: UmlLab, one: Mapping[str, Any], header: Mapping[str, Any], made: list[bytes]
) -> dict[str, Any]:
    job = parts.put_together(one, header["needs"])
    if lab.key(job) != one["key"]:
        raise LabError(
            "this worker understands the run otherwise", hint="give it the same version", machine=True
        )
    parent = store.folder("fleet", "work", "run").parent
    with rooms.room(parent) as room, cpus.free() as cpu:
        folder = execute(lab, job, room / "record", cpu)
        if (where := header["storage"]) is not None:
            storage.put(where, archive_of(Record.open(folder).manifest), afar.archived(folder))
        names, pieces = packing.packed(folder, tables=header["tables"])
        # Measured here, where there is time: it is as much work as a short run.
        values = measured.written(Record.open(folder).metrics())
    made.extend([*pieces, values])
    return {"names": names}


@contextmanager
def _lab(header: Mapping[str, Any]) -> Iterator[UmlLab]:
    """The lab of a task; it ends its guests when nobody wants the task any more."""
    wanted = _wanted()
    if not wanted():
        raise CancelledError("stopped before it began")
    lab = parts.lab_of(header["lab"], header["needs"])
    done = threading.Event()

    def look() -> None:
        while not done.wait(_LOOK_S):
            if not wanted():
                lab.cancel()
                return

    watch = threading.Thread(target=look, name="fleet-watch", daemon=True)
    watch.start()
    try:
        yield lab
    finally:
        done.set()
        watch.join()


def _wanted() -> Callable[[], bool]:
    """Asks Dask's worker whether the task that calls this is still to be carried out."""
    from distributed import get_worker  # noqa: PLC0415 - only workers have it

    try:
        worker = get_worker()
    except ValueError:  # no worker of Dask's called this
        return lambda: True
    key = worker.get_current_task()
    tasks = worker.state.tasks

    def wanted() -> bool:
        task = tasks.get(key)
        return task is not None and task.state == "executing"

    return wanted


_OPERATIONS: Mapping[str, Callable[[Mapping[str, Any], list[bytes]], Answer]] = {
    "examine": _examine,
    "take": _take,
    "run": _run,
}

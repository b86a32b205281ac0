"""What labs in real time share: the running kernel as the one under test, and how runs are kept apart.

On a machine as it is a run happens once. So it is never taken from the cache, its key holds the moment it was
made, and a sweep goes through all its cells before any of them comes again.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import platform
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import AF_UNIX, SOCK_DGRAM, socket
from time import sleep, time_ns
from typing import TYPE_CHECKING

from rushhour.errors import UnsupportedError
from rushhour.lab.base import CancelledError, canonical, sha256
from rushhour.record.plan_file import planned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rushhour.lab.base import Job
    from rushhour.record.plan_file import PlanFile, PlanFlow

_TURN = "\0rushhour-experiment"
_LOOK_S = 0.05
RUN_IN_NS = 500_000_000
"""Length of the run that is thrown away before each block."""


@dataclass(frozen=True)
class RunningKernel:
    """The kernel that a machine runs; see `rushhour.lab.base.Tested`."""

    name: str
    release: str
    identity: dict[str, object]


def running_kernel() -> RunningKernel:
    """The kernel of this machine: its release, its version and, where it can be read, its configuration."""
    return described(platform.release(), platform.version(), platform.machine(), configuration())


@contextmanager
def alone(stopped: Callable[[], bool], waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Keep other experiments on this machine's kernel out, of whatever process; waits for its turn.

    Two would measure each other, and flows of equal ports and addresses would be one in the kernel's trace.
    The sign is a name without a file; it ends with the process that holds it.

    Args:
        stopped: Whether nobody wants the turn any more.
        waiting: Is called once if there is something to wait for.

    Raises:
        CancelledError: nobody does.
    """
    with socket(AF_UNIX, SOCK_DGRAM) as sign:
        told = False
        while True:
            try:
                sign.bind(_TURN)
                break
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
            if not told:
                told = True
                waiting()
            if stopped():
                raise CancelledError("stopped before its turn came")
            sleep(_LOOK_S)
        yield


def described(release: str, version: str, machine: str, configuration: bytes | None) -> RunningKernel:
    """A running kernel by what `uname` and its configuration say."""
    name = f"running-{release}"
    identity: dict[str, object] = {
        "name": name,
        "release": release,
        "version": version,
        "machine": machine,
        "source": {"kind": "running"},
    }
    if configuration is not None:
        identity["config_sha256"] = hashlib.sha256(configuration).hexdigest()
    return RunningKernel(name, release, identity)


def moment() -> str:
    """What tells this execution of a run from every other."""
    return f"{time_ns()}-{os.getpid()}"


def key(lab: str, job: Job, agent_sha256: str, *more: str) -> str:
    """The key of a run in real time: what was asked, of which kernel, and when."""
    return sha256(lab, canonical(job.kernel.identity), agent_sha256, canonical(job.plan), job.moment, *more)


def shuffled(numbers: Iterable[int], seed: int, block: int) -> list[int]:
    """The numbers of one block in an order that the seed decides, the same on every machine."""
    return sorted(numbers, key=lambda number: hashlib.sha256(f"{seed} {block} {number}".encode()).digest())


def of_virtual_time(plan: PlanFile) -> UnsupportedError | None:
    """The error of a run that no real time can carry out; None of any other."""
    if not plan.pauses:
        return None
    return UnsupportedError(
        "pause of a link: no scheduler can look at a queue once in each frame's time",
        hint="run it in virtual time: rushhour run … --lab uml",
    )


def run_in(plan: PlanFile, length_ns: int = RUN_IN_NS) -> PlanFile:
    """The first moments of a plan, without calibration and readings: what a machine is warmed up with."""
    length = min(plan.duration_ns, length_ns)
    short = {key: value for key, value in plan.items() if key not in ("loads", "found", "programs")} | {
        "duration_ns": length,
        "flows": [_clipped(flow, length) for flow in plan.flows if flow.start_ns < length],
        "readings": dict.fromkeys(plan.readings, False),
        "calibration": {"paths": [], "trains": []},
    }
    changes = [change for change in plan.changes if change.t_ns < length]
    return planned(short | ({"changes": changes} if plan.changes else {}))


def _clipped(flow: PlanFlow, length: int) -> dict[str, object]:
    short: dict[str, object] = dict(flow)
    if flow.stop_ns is not None:
        short["stop_ns"] = min(flow.stop_ns, length)
    if flow.on:
        short["on"] = [[begin, min(end, length)] for begin, end in flow.on if begin < length]
    return short


def configuration(places: Sequence[Path] | None = None) -> bytes | None:
    """The running kernel's configuration as text, from the kernel itself or from beside its image."""
    for path in places or (Path("/proc/config.gz"), Path(f"/boot/config-{platform.release()}")):
        try:
            data = path.read_bytes()
            return gzip.decompress(data) if path.suffix == ".gz" else data
        except OSError:
            continue
    return None

"""Workers in Slurm's queue: jobs of dask-jobqueue, and a scheduler here that no web page listens beside.

Needs the extra `fleet-slurm`; imported where `--on slurm` is asked for.
"""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import dask
from dask_jobqueue import SLURMCluster
from dask_jobqueue.slurm import SLURMJob
from distributed.core import Status

from rushhour.errors import FleetError
from rushhour.fleet.member import QuietScheduler
from rushhour.fleet.roll import awaited, late
from rushhour.lab import clock
from rushhour.plain import harmless

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from distributed.security import Security

    from rushhour.fleet.address import Address

_LOOK_S = 0.1
_ASK_S = 1.0  # Slurm, which others ask, too
_ANSWER_S = 300.0  # sbatch tries again by itself for two minutes where Slurm has no time
_LEAVE_S, _CANCEL_S = 5.0, 60.0


class _Job(SLURMJob):  # type: ignore[misc] # Dask has no types
    """A job that says what came of its submission: Dask would wait for one that was refused.

    And for a command of Slurm's that never ends.
    """

    found: ClassVar[list[Exception | None]]
    jobs: ClassVar[list[Any]]
    under_way: ClassVar[set[Process]]
    answer_s: ClassVar[float]

    async def start(self) -> None:
        try:
            await super().start()
        except Exception as error:
            self.status = Status.failed
            self.found.append(error)
            raise
        self.jobs.append(self)
        self.found.append(None)

    async def close(self) -> None:
        with suppress(RuntimeError):  # it has ended, so there is nothing to cancel
            await super().close()
        self.status = Status.closed

    @classmethod
    async def _call(cls, cmd: Sequence[str]) -> str:
        """What a command of Slurm's prints.

        Raises:
            RuntimeError: it failed, or gave no answer for so long.
        """
        process = await asyncio.create_subprocess_exec(*cmd, stdout=PIPE, stderr=PIPE)
        cls.under_way.add(process)
        try:
            out, err = await asyncio.wait_for(process.communicate(), cls.answer_s)
        except TimeoutError:
            raise RuntimeError(f"{cmd[0]} has not answered for {cls.answer_s:.0f} s") from None
        finally:
            cls.under_way.discard(process)
            _end(process)
        if process.returncode:
            raise RuntimeError(err.decode(errors="replace").strip() or f"{cmd[0]} failed")
        return out.decode(errors="replace")

    async def is_there(self) -> bool:
        """Whether it waits or runs."""
        try:
            return bool((await self._call(["squeue", "-h", "-o", "%i", "-j", str(self.job_id)])).strip())
        except RuntimeError as error:
            return "Invalid job id" not in str(error)  # it has ended, and is forgotten


@contextmanager
def submitted(
    address: Address, security: Security, home: Path, tell: Callable[[str], None]
) -> Iterator[SLURMCluster]:
    """A scheduler here, so many jobs in the queue, and a first worker; what a job asks for is the site's.

    Args:
        address: How many jobs, and how patient.
        security: For scheduler, workers and client.
        home: A folder of the command, for what jobs print.
        tell: Told once if Slurm has not answered, or no job has begun, for some seconds.

    Raises:
        FleetError: every job has ended, and none became a worker; or none began for as long as one waits.
        Exception: of Dask's: the configuration makes no sense; the queue refuses the jobs, or says nothing.
    """
    found: list[Exception | None] = []
    jobs: list[Any] = []
    job = type("Job", (_Job,), {"found": found, "jobs": jobs, "under_way": set(), "answer_s": _ANSWER_S})
    asked = {name: value for name, value in _JOB.items() if dask.config.get(f"jobqueue.slurm.{name}") is None}
    asked |= {} if dask.config.get("jobqueue.slurm.log-directory") else {"log_directory": str(home)}
    made = SLURMCluster(
        **asked, job_cls=job, security=security, scheduler_cls=QuietScheduler, silence_logs="critical",
        worker_extra_args=[*dask.config.get("jobqueue.slurm.worker-extra-args"), "--no-dashboard"],
    )  # fmt: skip
    try:
        made.scale(jobs=address.count)
        _taken(found, address, tell)
        awaited(lambda: made.scheduler.workers, address, tell, lambda: _not_all_ended(made, jobs), _ASK_S)
        yield made
    finally:
        _leave(job)
        made.close()


def _taken(found: Sequence[Exception | None], address: Address, tell: Callable[[str], None]) -> None:
    """Wait until the queue has every job; `found` grows by what came of each."""
    say = late(tell, f"{address.word}: Slurm has not taken all jobs yet; waiting for it")
    while len(found) < address.count:
        say()
        clock.sleep(_LOOK_S)
    errors = [error for error in found if error is not None]
    if errors:
        raise errors[0]


def _leave(job: type[_Job]) -> None:
    """Let commands that are under way end as long as Slurm answers any; what else would cancel their jobs?

    A job whose number is not known finds no scheduler, and ends by itself.
    """
    job.answer_s = _CANCEL_S
    left, since = 0, 0.0
    while job.under_way:
        if len(job.under_way) != left:
            left, since = len(job.under_way), clock.monotonic()
        elif clock.monotonic() - since > _LEAVE_S:
            break
        clock.sleep(_LOOK_S)
    for process in [*job.under_way]:
        _end(process)


def _end(process: Process) -> None:
    with suppress(ProcessLookupError):
        if process.returncode is None:
            process.kill()


def _not_all_ended(made: SLURMCluster, jobs: Sequence[Any]) -> None:
    there = [made.sync(job.is_there) for job in jobs]
    if not any(there) and not made.scheduler.workers:
        told = f"the jobs of slurm:{len(jobs)} have ended, and none was a worker"
        raise FleetError(": ".join(filter(None, (told, _said(jobs)))))


def _said(jobs: Sequence[Any]) -> str:
    """The last line that a job wrote to its standard error."""
    for job in jobs:
        with suppress(OSError):
            text = Path(job.log_directory, f"{job.job_name}-{job.job_id}.err").read_text(errors="replace")
            if lines := [line.strip() for line in text.splitlines() if line.strip()]:
                return str(harmless(lines[-1]))
    return ""


# Where the site's configuration says nothing.
_JOB: Mapping[str, Any] = {"cores": 1, "memory": "2GiB", "processes": 1}

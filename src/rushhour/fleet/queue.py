"""Workers in Slurm's queue: jobs of dask-jobqueue, and a scheduler here that no web page listens beside.

Needs the extra `fleet-slurm`; imported where `--on slurm` is asked for.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import dask
from dask_jobqueue import SLURMCluster
from dask_jobqueue.slurm import SLURMJob
from distributed.core import Status

from rushhour.errors import FleetError
from rushhour.fleet.member import QuietScheduler
from rushhour.fleet.roll import awaited
from rushhour.lab import clock
from rushhour.plain import harmless

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from distributed.security import Security

    from rushhour.fleet.address import Address

_LOOK_S = 0.1
_ASK_S = 1.0  # Slurm, which others ask, too


class _Job(SLURMJob):  # type: ignore[misc] # Dask has no types
    """A job that says what came of its submission: Dask would wait for one that was refused."""

    found: ClassVar[list[Exception | None]]
    jobs: ClassVar[list[Any]]

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
        tell: Told once if no job has begun for some seconds.

    Raises:
        FleetError: every job has ended, and none became a worker; or none began for as long as one waits.
        Exception: of Dask's: the configuration makes no sense, or the queue refuses the jobs.
    """
    found: list[Exception | None] = []
    jobs: list[Any] = []
    job = type("Job", (_Job,), {"found": found, "jobs": jobs})
    asked = {name: value for name, value in _JOB.items() if dask.config.get(f"jobqueue.slurm.{name}") is None}
    asked |= {} if dask.config.get("jobqueue.slurm.log-directory") else {"log_directory": str(home)}
    made = SLURMCluster(
        **asked, job_cls=job, security=security, scheduler_cls=QuietScheduler, silence_logs="critical",
        worker_extra_args=[*dask.config.get("jobqueue.slurm.worker-extra-args"), "--no-dashboard"],
    )  # fmt: skip
    try:
        made.scale(jobs=address.count)
        while len(found) < address.count:
            clock.sleep(_LOOK_S)
        errors = [error for error in found if error is not None]
        if errors:
            raise errors[0]
        awaited(lambda: made.scheduler.workers, address, tell, lambda: _not_all_ended(made, jobs), _ASK_S)
        yield made
    finally:
        made.close()


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

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
from rushhour.lab import clock
from rushhour.plain import harmless

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from distributed.security import Security

_LOOK_S = 0.1
_ASK_S = 1.0  # Slurm, which others ask, too
_SAY_S = 5.0


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
    count: int, security: Security, home: Path, tell: Callable[[str], None]
) -> Iterator[SLURMCluster]:
    """A scheduler here, so many jobs in the queue, and a first worker; what a job asks for is the site's.

    Args:
        count: Of jobs.
        security: For scheduler, workers and client.
        home: A folder of the command, for what jobs print.
        tell: Told once if no job has begun for some seconds.

    Raises:
        FleetError: every job has ended, and none became a worker.
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
        made.scale(jobs=count)
        while len(found) < count:
            clock.sleep(_LOOK_S)
        errors = [error for error in found if error is not None]
        if errors:
            raise errors[0]
        _meet(made, jobs, tell)
        yield made
    finally:
        made.close()


def _meet(made: SLURMCluster, jobs: Sequence[Any], tell: Callable[[str], None]) -> None:
    """Wait for the first worker, as long as there are jobs."""
    begin, told = clock.monotonic(), False
    while not made.scheduler.workers:
        there = [made.sync(job.is_there) for job in jobs]
        if not any(there) and not made.scheduler.workers:
            raise FleetError(
                ": ".join(filter(None, ("their jobs have ended, and none was a worker", _said(jobs))))
            )
        if not told and clock.monotonic() - begin > _SAY_S:
            tell(f"slurm:{len(jobs)} has no workers yet; waiting for one")
            told = True
        clock.sleep(_ASK_S)


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

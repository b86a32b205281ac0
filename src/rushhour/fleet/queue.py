"""Workers in Slurm's queue: jobs of dask-jobqueue, and a scheduler here that no web page listens beside.

Needs the extra `fleet-slurm`; imported where `--on slurm` is asked for.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import dask
from dask_jobqueue import SLURMCluster
from dask_jobqueue.slurm import SLURMJob
from distributed.core import Status

from rushhour.fleet.member import QuietScheduler
from rushhour.lab import clock

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from distributed.security import Security

_LOOK_S = 0.1


@contextmanager
def submitted(count: int, security: Security, home: Path) -> Iterator[SLURMCluster]:
    """A scheduler here, and so many jobs in the queue; what a job asks for is the site's configuration.

    Args:
        count: Of jobs.
        security: For scheduler, workers and client.
        home: A folder of the command, for what jobs print.

    Raises:
        Exception: of Dask's: the configuration makes no sense, or the queue refuses the jobs.
    """
    found: list[Exception | None] = []

    class Job(SLURMJob):  # type: ignore[misc] # Dask has no types
        """A job that says what came of its submission: Dask would wait for one that was refused."""

        async def start(self) -> None:
            try:
                await super().start()
            except Exception as error:
                self.status = Status.failed
                found.append(error)
                raise
            found.append(None)

    asked = {name: value for name, value in _JOB.items() if dask.config.get(f"jobqueue.slurm.{name}") is None}
    asked |= {} if dask.config.get("jobqueue.slurm.log-directory") else {"log_directory": str(home)}
    made = SLURMCluster(
        **asked, job_cls=Job, security=security, scheduler_cls=QuietScheduler, silence_logs="critical",
        worker_extra_args=[*dask.config.get("jobqueue.slurm.worker-extra-args"), "--no-dashboard"],
    )  # fmt: skip
    made.scale(jobs=count)
    while len(found) < count:
        clock.sleep(_LOOK_S)
    try:
        errors = [error for error in found if error is not None]
        if errors:
            raise errors[0]
        yield made
    finally:
        made.close()


# Where the site's configuration says nothing.
_JOB: Mapping[str, Any] = {"cores": 1, "memory": "2GiB", "processes": 1}

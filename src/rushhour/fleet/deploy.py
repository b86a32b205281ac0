"""Workers started for one command by Dask's own deployers: over ssh, in Slurm's queue, in Kubernetes."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rushhour.errors import FleetError, RushHourError, UsageError
from rushhour.extras import need
from rushhour.lab.host.inventory import load_inventory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rushhour.fleet.address import Address


@contextmanager
def cluster(address: Address) -> Iterator[Any]:
    """A cluster of Dask's for a while; its scheduler is on this machine, or where the deployer puts it.

    Raises:
        ExtraError: the deployer is not installed.
        UsageError: what it needs is not named.
        FleetError: it could not start.
    """
    need(f"fleet-{address.kind}", f"--on {address.word}")
    start = {"ssh": _ssh, "slurm": _slurm, "k8s": _k8s}[address.kind]
    try:
        made = start(address)
    except RushHourError:
        raise
    except Exception as error:
        raise FleetError(
            f"the workers of {address.word} cannot be started: {error}",
            hint=_HINTS[address.kind],
        ) from error
    try:
        yield made
    finally:
        made.close()


_HINTS: Mapping[str, str] = {
    "ssh": "does `ssh HOST true` work for each of them, without a question?",
    "slurm": "what a job asks for stands in ~/.config/dask/jobqueue.yaml, under jobqueue.slurm",
    "k8s": "the cluster needs dask-kubernetes' operator; ~/.config/dask/kubernetes.yaml names the image",
}


def _ssh(address: Address) -> Any:
    from distributed import SSHCluster  # noqa: PLC0415 - an extra

    assert address.inventory is not None
    hosts = load_inventory(address.inventory).host.values()
    names = list(dict.fromkeys(host.at for host in hosts))
    odd = [name for name in names if name == "local" or name.startswith("netns:")]
    if odd or not names:
        raise UsageError(
            f"{odd[0]} is not reached by ssh" if odd else "it names no host", where=str(address.inventory)
        )
    # One thread for each CPU, in one process: what takes time are the guests, and they are processes.
    return SSHCluster([names[0], *names], worker_options={"n_workers": 1}, remote_python=sys.executable)


def _slurm(address: Address) -> Any:
    from dask_jobqueue import SLURMCluster  # noqa: PLC0415 - an extra

    made = SLURMCluster()
    made.scale(jobs=address.count)
    return made


def _k8s(address: Address) -> Any:
    from dask_kubernetes.operator import KubeCluster  # noqa: PLC0415 - an extra

    return KubeCluster(n_workers=address.count)

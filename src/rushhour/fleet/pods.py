"""Workers in Kubernetes: a cluster of dask-kubernetes' operator, which says why a pod of it does not start.

Needs the extra `fleet-k8s`; imported where `--on k8s` is asked for.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import dask
import kr8s.asyncio
from dask_kubernetes.operator import KubeCluster
from distributed.utils import LoopRunner

from rushhour.errors import FleetError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    Tell = Callable[[str], None]

SETTINGS = "~/.config/dask/kubernetes.yaml"
# What dask-kubernetes takes where nothing is said: it has no Rush Hour in it.
_PLAIN = "ghcr.io/dask/dask"
# A container that waits for one of these does not start by waiting longer.
_HOPELESS = frozenset(
    {"CrashLoopBackOff", "CreateContainerConfigError", "CreateContainerError", "ErrImageNeverPull",
     "ImagePullBackOff", "InvalidImageName", "RunContainerError"}
)  # fmt: skip
_CLUSTERS = "daskclusters.kubernetes.dask.org"
_LOOK_S = 1.0
_LAST_LINES = 5
_LOGS_S = 10
_GONE_S = 5
# A cluster whose command was killed has nothing to do; after so long its operator takes it away.
_IDLE_S = 900


@contextmanager
def started(count: int, tell: Tell) -> Iterator[str]:
    """A scheduler and so many workers, each a pod; its address here.

    Args:
        count: Of pods with a worker.
        tell: Is told why a pod waits, where it may still start.

    Raises:
        UsageError: no image is named.
        FleetError: the scheduler's pod cannot start.
        Exception: of Dask's: no Kubernetes answers, or its operator is not there.
    """
    _look_at_the_image()
    runner = LoopRunner()
    runner.start()
    loop = runner.loop.asyncio_loop

    def there(work: Coroutine[Any, Any, Any]) -> Any:
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return future.result()
        finally:
            future.cancel()  # where an interrupt came first

    made: list[KubeCluster] = []
    try:
        yield there(_begin(made, count, runner.loop, tell))
    finally:
        for cluster in made:
            there(_end(cluster))
        runner.stop()


def _look_at_the_image() -> None:
    known = dask.config.get("kubernetes", {})
    image = str(known.get("image") or _PLAIN)
    if known.get("custom-cluster-spec") is None and image.partition(":")[0] == _PLAIN:
        raise UsageError(
            f"no image is named whose pods have Rush Hour; {_PLAIN} has none",
            where=SETTINGS,
            hint="`kubernetes: { image: REGISTRY/NAME }` there names one; docs/fleet.md has its Dockerfile",
        )


async def _begin(made: list[KubeCluster], count: int, loop: Any, tell: Tell) -> str:
    idle_s = dask.config.get("kubernetes.idle-timeout") or _IDLE_S
    cluster = KubeCluster(n_workers=count, idle_timeout=idle_s, asynchronous=True, loop=loop, quiet=True)
    made.append(cluster)
    starting = asyncio.ensure_future(cluster)
    try:
        await _until(starting, cluster, tell)
    finally:
        starting.cancel()
    await starting
    return str(cluster.scheduler_address)


async def _until(starting: asyncio.Future[Any], cluster: KubeCluster, tell: Tell) -> None:
    """Wait for a cluster's start.

    Raises:
        FleetError: it is of no use.
    """
    told: set[str] = set()
    taken = FleetError(f"somebody took the cluster {cluster.name} away while it started")
    made_there = False
    while not (await asyncio.wait([starting], timeout=_LOOK_S))[0]:
        there = await _is_there(cluster)
        if made_there and not there:
            raise taken
        made_there = there
        for reason in await _waiting(cluster) - told:
            told.add(reason)
            tell(reason)
    # The start, too, may be the first to miss it.
    if (error := starting.exception()) is not None and made_there and not await _is_there(cluster):
        raise taken from error


async def _is_there(cluster: KubeCluster) -> bool:
    """Whether Kubernetes has the cluster's own object, which its start only waits for."""
    namespace = cluster.namespace or kr8s.ALL
    return any([one.name == cluster.name async for one in kr8s.asyncio.get(_CLUSTERS, namespace=namespace)])


async def _waiting(cluster: KubeCluster) -> set[str]:
    """Why pods of a cluster wait.

    Raises:
        FleetError: waiting longer is of no use.
    """
    reasons = set()
    namespace, mine = cluster.namespace or kr8s.ALL, f"dask.org/cluster-name={cluster.name}"
    async for pod in kr8s.asyncio.get("pods", namespace=namespace, label_selector=mine):
        status = pod.raw.get("status", {})
        for one in status.get("containerStatuses", []):
            waiting = one.get("state", {}).get("waiting") or {}
            if waiting.get("reason") in _HOPELESS:
                crashed = waiting["reason"] == "CrashLoopBackOff"
                said = await _last_line(pod) if crashed else waiting.get("message")
                raise FleetError(": ".join(filter(None, (f"pod {pod.name}", waiting["reason"], said))))
            if waiting:
                reasons.add(f"pod {pod.name} waits: {waiting.get('reason', 'no reason is given')}")
        reasons |= {
            f"pod {pod.name} waits: {one.get('message') or one['reason']}"
            for one in status.get("conditions", [])
            if one.get("type") == "PodScheduled" and one.get("reason") == "Unschedulable"
        }
    return reasons


async def _last_line(pod: Any) -> str:
    """What its program said before it ended."""
    try:
        async with asyncio.timeout(_LOGS_S):
            lines = [line async for line in pod.logs(tail_lines=_LAST_LINES)]
    except Exception:  # noqa: BLE001 - of whatever kind: the reason is told without it
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


async def _end(cluster: KubeCluster) -> None:
    """Have the cluster taken away, also one whose start did not come to an end.

    The operator may take a minute for it, which nobody needs to wait for.
    """
    with suppress(TimeoutError):
        await cluster.close(timeout=_GONE_S)

"""`python -m beds.kube FOLDER`: served until it is told to end; `ready` in the folder: it answers."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dask_kubernetes.operator
import yaml
from aiohttp import web

from beds.kube import PORT
from beds.kube.api import BUILT_IN, Api, Store
from beds.kube.node import Node, forward

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIG = """\
apiVersion: v1
kind: Config
clusters: [{{name: bed, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: bed, user: {{token: bed}}}}]
contexts: [{{name: bed, context: {{cluster: bed, user: bed, namespace: default}}}}]
current-context: bed
"""


def definitions() -> Iterator[dict[str, Any]]:
    """Of the operator's own resources, as its package brings them."""
    for path in sorted(Path(dask_kubernetes.operator.__file__).parent.glob("customresources/dask*.yaml")):
        if not path.name.endswith(".patch.yaml"):
            yield yaml.safe_load(path.read_text())


def operate(folder: Path) -> subprocess.Popen[bytes]:
    """The operator of dask-kubernetes, as it is shipped."""
    with (folder / "operator.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "kopf", "run", "--standalone", "-n", "default",
             "-m", "dask_kubernetes.operator.controller", "-m", "beds.kube.hurry"],
            env=os.environ | {"KUBECONFIG": str(folder / "config")}, stdout=log, stderr=log,
        )  # fmt: skip


async def serve(folder: Path) -> None:
    own = [*definitions()]
    named = [(one["spec"], one["spec"]["names"]) for one in own]
    kinds = [(f"{spec['group']}/v1", names["kind"], names["plural"], True) for spec, names in named]
    store = Store([*BUILT_IN, *kinds])
    for one in own:
        await store.create("customresourcedefinitions", "", one)
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}
    await store.create("namespaces", "", space)
    node = Node(store, folder)
    application = web.Application()
    application.router.add_route("*", "/{tail:.*}", Api(store, forward, node.said).answer)
    runner = web.AppRunner(application, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", PORT).start()
    (folder / "config").write_text(CONFIG.format(port=PORT))
    work = [asyncio.create_task(one) for one in (node.deployments(), node.services(), node.pods())]
    operator = operate(folder)
    end = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, end.set)
    (folder / "ready").touch()
    await end.wait()
    operator.terminate()
    operator.wait(20)
    for task in work:
        task.cancel()
    await node.end()
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))

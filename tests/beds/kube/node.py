"""What a cluster does by itself: Deployments become pods, pods processes with ports for those outside."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import urllib.request
from contextlib import suppress
from typing import TYPE_CHECKING

from aiohttp import WSMsgType, web

if TYPE_CHECKING:
    from pathlib import Path

    from beds.kube.api import Object, Store

# One that is being pulled, for ever.
SLOW = "registry.example/slow"
# What an image brings: the programs of Dask, by their modules.
PROGRAMS = {"dask-scheduler": "distributed.cli.dask_scheduler", "dask-worker": "distributed.cli.dask_worker"}
_AGAIN_S = 1.0
_LATE_S = 2.0


class Node:
    """One machine: its processes, each a pod's only container."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store, self.folder = store, folder
        self.running: dict[str, asyncio.Task[None]] = {}

    async def deployments(self) -> None:
        """One pod for each Deployment; with its owner it goes."""
        async for what, made in self.store.watch("deployments"):
            if what != "ADDED":
                continue
            about, template = made["metadata"], made["spec"]["template"]
            owner = {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "name": about["name"],
                "uid": about["uid"],
            }
            metadata = {
                "generateName": f"{about['name']}-",
                "labels": template["metadata"]["labels"],
                "ownerReferences": [owner],
            }
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
            await self.store.create("pods", about["namespace"], pod | {"status": {"phase": "Pending"}})

    async def services(self) -> None:
        """An address, which is this node's, as every pod's is.

        Late, for the operator's own sake: it notes `Pending` when it has made all, and so overwrites the
        `Running` that it notes when it sees a service's status before.
        """
        async for what, made in self.store.watch("services"):
            if what == "ADDED":
                await asyncio.sleep(_LATE_S)
                about = made["metadata"]
                name = f"{about['name']}.{about['namespace']}"
                with (self.folder / "hosts").open("a") as hosts:
                    hosts.write(f"127.0.0.1 {name} {name}.svc.cluster.local\n")
                patch = {"spec": {"clusterIP": "127.0.0.1"}, "status": {"loadBalancer": {}}}
                await self.store.merge("services", about["namespace"], about["name"], patch)

    async def pods(self) -> None:
        async for what, pod in self.store.watch("pods"):
            uid = pod["metadata"]["uid"]
            if what == "ADDED":
                self.running[uid] = asyncio.create_task(self._life(pod))
            elif what == "DELETED":
                self.running.pop(uid).cancel()

    async def _life(self, pod: Object) -> None:
        """A pod from its image to its end; started again when its process ends."""
        (container,) = pod["spec"]["containers"]
        if container["image"] == SLOW:
            await self._say(pod, "Pending", waiting="ContainerCreating")
            return
        if container["image"] not in (self.folder / "images.txt").read_text().split():
            await self._say(pod, "Pending", waiting="ImagePullBackOff")
            return
        for count in range(100):
            process = self._start(pod, container, count)
            try:
                await self._say(pod, "Running", count=count)
                while process.poll() is None:
                    if await asyncio.to_thread(_healthy, container):
                        await self._say(pod, "Running", ready=True, count=count)
                        break
                    await asyncio.sleep(0.2)
                await asyncio.to_thread(_ended, process)
                await self._say(pod, "Running", waiting="CrashLoopBackOff", count=count + 1)
                await asyncio.sleep(_AGAIN_S)
            finally:
                with suppress(ProcessLookupError):
                    process.terminate()
                try:
                    process.wait(5)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def _start(self, pod: Object, container: Object, count: int) -> subprocess.Popen[bytes]:
        given = {one["name"]: one["value"] for one in container.get("env") or []}
        words = [re.sub(r"\$\((\w+)\)", lambda name: given[name[1]], one) for one in container["args"]]
        with (self.folder / f"{pod['metadata']['name']}-{count}.log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", PROGRAMS[words[0]], *words[1:]],
                env=os.environ | given, stdout=log, stderr=log, cwd=self.folder,
            )  # fmt: skip

    def said(self, pod: Object) -> str:
        """What its program has printed since it was last started."""
        logs = sorted(
            self.folder.glob(f"{pod['metadata']['name']}-*.log"), key=lambda path: path.stat().st_mtime
        )
        return logs[-1].read_text() if logs else ""

    async def _say(
        self, pod: Object, phase: str, *, ready: bool = False, waiting: str = "", count: int = 0
    ) -> None:
        state: Object = {"waiting": {"reason": waiting}} if waiting else {"running": {}}
        (container,) = pod["spec"]["containers"]
        status = {
            "phase": phase,
            "podIP": "127.0.0.1",
            "conditions": [{"type": one, "status": str(ready)} for one in ("Ready", "ContainersReady")],
            "containerStatuses": [
                {"name": container["name"], "ready": ready, "restartCount": count, "state": state}
            ],
        }
        about = pod["metadata"]
        await self.store.merge("pods", about["namespace"], about["name"], {"status": status})

    async def end(self) -> None:
        for task in self.running.values():
            task.cancel()
        await asyncio.gather(*self.running.values(), return_exceptions=True)


def _ended(process: subprocess.Popen[bytes]) -> None:
    with suppress(subprocess.TimeoutExpired):
        process.wait()


def _healthy(container: Object) -> bool:
    """What a readiness probe finds; a container without one is ready when it runs."""
    probe = container.get("readinessProbe")
    if probe is None:
        return True
    wanted = probe["httpGet"]
    (port,) = (one["containerPort"] for one in container["ports"] if one["name"] == wanted["port"])
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{wanted['path']}", timeout=5) as said:
            return bool(said.status == 200)
    except OSError:
        return False


async def forward(request: web.Request, pod: Object) -> web.StreamResponse:
    """A pod's port through the API, as `v4.channel.k8s.io` has it.

    Each message begins with a byte, its channel (0 data, 1 errors); the first on each is the port's number.
    """
    port = int(request.query["ports"])
    socket = web.WebSocketResponse(protocols=("v4.channel.k8s.io",))
    await socket.prepare(request)
    for channel in (0, 1):
        await socket.send_bytes(bytes([channel]) + port.to_bytes(2, "little"))
    reader, writer = await asyncio.open_connection(pod["status"]["podIP"], port)

    async def back() -> None:
        while data := await reader.read(1 << 16):
            await socket.send_bytes(b"\0" + data)
        await socket.close()

    task = asyncio.create_task(back())
    try:
        async for message in socket:
            if message.type == WSMsgType.BINARY and message.data[:1] == b"\0":
                writer.write(message.data[1:])
                await writer.drain()
    finally:
        task.cancel()
        writer.close()
    return socket

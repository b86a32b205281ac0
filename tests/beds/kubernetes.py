"""A Kubernetes of one node for a test (`beds.kube`), in a network namespace with nothing but its loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from beds.kube import PORT
from beds.net import Namespace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

IMAGE = "registry.example/rushhour"
# Names of services are answered inside alone, as a cluster's own resolver does.
OWN_HOSTS = 'mount --bind "$1/hosts" /etc/hosts && exec "$0" -m beds.kube "$1"'
_PATIENCE_S = 120


@dataclass(frozen=True)
class Cluster:
    """Attributes:
    folder: With what its pods and its operator printed.
    at: Where its API, and whoever asks it, is.
    environment: By which commands find it.
    """

    folder: Path
    at: Namespace
    environment: Mapping[str, str]

    def names(self, path: str) -> list[str]:
        """Of the objects below a path of its API."""
        said = json.loads(self.at.run("curl", "-sf", f"http://127.0.0.1:{PORT}/{path}"))
        return [one["metadata"]["name"] for one in said["items"]]

    def remove(self, path: str) -> None:
        """Take an object of its API away."""
        self.at.run("curl", "-sf", "-X", "DELETE", f"http://127.0.0.1:{PORT}/{path}")


@contextmanager
def kubernetes(folder: Path, own: Mapping[str, str], *images: str) -> Iterator[Cluster]:
    """One whose API answers.

    Args:
        folder: Of its own, to be made.
        own: What its pods have in their environment, and those who use it.
        images: Those that can be pulled; each has the Python and the packages of this process.
    """
    folder.mkdir(parents=True)
    (folder / "images.txt").write_text("\n".join(images))
    (folder / "hosts").write_text("127.0.0.1 localhost\n")
    at = Namespace("kubernetes")
    environment = os.environ | own
    try:
        with (
            (folder / "api.log").open("wb") as log,
            subprocess.Popen(
                at.words("unshare", "--mount", "sh", "-c", OWN_HOSTS, sys.executable, str(folder)),
                env=environment,
                stdout=log,
                stderr=log,
            ) as process,
        ):
            try:
                end = time.monotonic() + _PATIENCE_S
                while not (folder / "ready").exists():
                    assert process.poll() is None, (folder / "api.log").read_text()
                    assert time.monotonic() < end, "no Kubernetes"
                    time.sleep(0.05)
                yield Cluster(folder, at, environment | {"KUBECONFIG": str(folder / "config")})
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(60)
    finally:
        at.close()

"""`--on k8s:N`: workers that Dask's real operator starts in a Kubernetes of one node, and ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import kills
import pytest
from beds.kube.node import SLOW
from beds.kubernetes import IMAGE, Cluster, kubernetes
from furnished import furnish
from waiting import until

from rushhour.lab import agent
from rushhour.record.result_set import ResultSet

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.virtual, pytest.mark.host]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pods")
    furnish(folder)
    return folder


@pytest.fixture(scope="module")
def cluster(place: Path) -> Iterator[Cluster]:
    own = {
        "XDG_CONFIG_HOME": str(place / "config"), "XDG_CACHE_HOME": str(place / "cache"),
        "RUSHHOUR_AGENT": str(agent.find().binary), "PYTHONPATH": os.pathsep.join(sys.path),
    }  # fmt: skip
    with kubernetes(place / "kubernetes", own, IMAGE) as found:
        yield found


@contextmanager
def begin(
    cluster: Cluster, place: Path, scenario: str, out: str, **settings: str
) -> Iterator[subprocess.Popen[str]]:
    """A command of somebody outside of the cluster, who reaches its scheduler through its API."""
    dask = {"PORT_FORWARD_CLUSTER_IP": "true", "IMAGE": IMAGE} | settings
    own = {f"DASK_KUBERNETES__{name}": value for name, value in dask.items()}
    words = ["run", scenario, "--no-report", "--on", "k8s:2", "--out", out]
    with kills.at_the_end(subprocess.Popen(
        cluster.at.words(sys.executable, "-m", "rushhour", *words),
        env={**cluster.environment, **own}, cwd=place, text=True,
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
    )) as command:  # fmt: skip
        yield command


def nothing_is_left(cluster: Cluster) -> bool:
    kinds = ("kubernetes.dask.org/v1/daskclusters", "apps/v1/deployments")
    return not any(cluster.names(f"apis/{kind}") for kind in kinds) and not cluster.names("api/v1/pods")


def test_runs_are_made_in_pods_that_end_with_the_command(cluster: Cluster, place: Path) -> None:
    with begin(cluster, place, "short.toml", "short") as command:
        _, said = command.communicate(timeout=300)
    assert command.returncode == 0, said
    assert "set aside" not in said
    assert "Warning" not in said
    assert len(ResultSet.open(place / "short")) == 2
    assert [*(place / "kubernetes").glob("*worker*.log")]
    assert until(lambda: nothing_is_left(cluster), 120)


def test_an_interrupt_ends_them(cluster: Cluster, place: Path) -> None:
    with begin(cluster, place, "long.toml", "long") as command:
        assert until(lambda: [*place.glob("long/set.json")] or command.poll() is not None, 120)
        command.send_signal(signal.SIGINT)
        _, said = command.communicate(timeout=120)
    assert command.returncode == 130, said
    assert until(lambda: nothing_is_left(cluster), 120)


def test_those_of_a_command_that_was_killed_end_by_themselves(cluster: Cluster, place: Path) -> None:
    """The operator takes a cluster away whose scheduler has had nothing to do for a while."""
    with begin(cluster, place, "long.toml", "killed", IDLE_TIMEOUT="10") as command:
        assert until(lambda: [*place.glob("killed/set.json")] or command.poll() is not None, 120)
        command.kill()
    assert cluster.names("api/v1/pods")
    assert until(lambda: nothing_is_left(cluster), 120)


def test_no_image_is_named(cluster: Cluster, place: Path) -> None:
    with begin(cluster, place, "short.toml", "plain", IMAGE="ghcr.io/dask/dask:latest") as command:
        _, said = command.communicate(timeout=120)
    assert command.returncode == 2
    assert "error: ~/.config/dask/kubernetes.yaml: no image is named whose pods have Rush Hour" in said
    assert nothing_is_left(cluster)


def test_an_image_that_cannot_be_pulled_is_told_and_not_waited_for(cluster: Cluster, place: Path) -> None:
    with begin(cluster, place, "short.toml", "unpulled", IMAGE="registry.example/mistyped") as command:
        _, said = command.communicate(timeout=120)
    assert command.returncode == 2, said
    assert "ImagePullBackOff" in said
    assert "Traceback" not in said
    assert "never awaited" not in said
    assert until(lambda: nothing_is_left(cluster), 120)


@contextmanager
def waits(cluster: Cluster, place: Path, out: str) -> Iterator[subprocess.Popen[str]]:
    """A command that waits for a pod whose image comes slowly, and has said so."""
    with begin(cluster, place, "short.toml", out, IMAGE=SLOW) as command:
        said = iter(command.stderr or ())
        assert any("waits: ContainerCreating" in line for line in said)
        yield command


def test_an_interrupt_ends_pods_that_have_not_started(cluster: Cluster, place: Path) -> None:
    with waits(cluster, place, "slow") as command:
        command.send_signal(signal.SIGINT)
        _, said = command.communicate(timeout=120)
    assert command.returncode == 130, said
    assert "Traceback" not in said
    assert until(lambda: nothing_is_left(cluster), 120)


def test_a_cluster_that_somebody_takes_away_while_it_starts_is_not_waited_for(
    cluster: Cluster, place: Path
) -> None:
    with waits(cluster, place, "taken") as command:
        (name,) = cluster.names("apis/kubernetes.dask.org/v1/daskclusters")
        cluster.remove(f"apis/kubernetes.dask.org/v1/namespaces/default/daskclusters/{name}")
        _, said = command.communicate(timeout=120)
    assert command.returncode == 2, said
    assert f"somebody took the cluster {name} away while it started" in said
    assert "Traceback" not in said
    assert until(lambda: nothing_is_left(cluster), 120)


def test_a_program_that_ends_at_once_is_told_with_what_it_said(cluster: Cluster, place: Path) -> None:
    env = '{"DASK_DISTRIBUTED__SCHEDULER__PRELOAD": "nowhere"}'
    with begin(cluster, place, "short.toml", "crashing", ENV=env) as command:
        _, said = command.communicate(timeout=120)
    assert command.returncode == 2, said
    assert re.search(r"pod \S+-scheduler-\S+: CrashLoopBackOff: .*nowhere", said), said
    assert until(lambda: nothing_is_left(cluster), 120)


def test_no_kubernetes_answers(cluster: Cluster, place: Path) -> None:
    (place / "away").write_text((cluster.folder / "config").read_text().replace(":8001", ":8002"))
    here = Cluster(
        place / "kubernetes", cluster.at, {**cluster.environment, "KUBECONFIG": str(place / "away")}
    )
    with begin(here, place, "short.toml", "away-out") as command:
        _, said = command.communicate(timeout=120)
    assert command.returncode == 2, said
    assert "Traceback" not in said
    assert "the workers of k8s:2 cannot be started: " in said

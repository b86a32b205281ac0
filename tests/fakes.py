"""A laboratory whose kernels behave as a test says: records are true in format, goodput is as asked."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import builders
import numpy as np

from rushhour.lab.base import CancelledError, Job, canonical, sha256
from rushhour.lab.kernel import Kernel
from rushhour.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SCENARIO = """
title = "Fake"
question = "What does the fake say?"
guards = "{cc} would be slower"
duration = "10s"
[topology]
preset = "dumbbell"
rate = "100mbit"
rtt = "20ms"
[[flow]]
name = "long"
[sweep]
cc = ["cubic", "reno", "vegas", "bbr"]
[[judge]]
metric = "goodput_bps"
flow = "long"
"""

AGENT = "a" * 64

Behaviour = "Callable[[str, str, int], float]"
"""Kernel, algorithm and seed → goodput in Mbit/s; raises what the run raises."""


class FakeLab:
    """Writes a small record at once: what it holds follows from the behaviour alone."""

    name = "uml"
    agent = SimpleNamespace(sha256=AGENT)

    def __init__(self, behaviour: Callable[[str, str, int], float]) -> None:
        self.behaviour = behaviour
        self.ran: list[tuple[str, str, int]] = []
        self.cancelled = threading.Event()

    def key(self, job: Job) -> str:
        return sha256(str(job.kernel.identity["image_sha256"]), canonical(job.plan))

    def run(self, job: Job, destination: Path, cpu: int | None = None) -> Path:
        if self.cancelled.is_set():
            raise CancelledError("stopped")
        cc = job.labels["cell"]["factors"].get("cc", job.labels["scenario"]["name"])
        about = (job.kernel.name, str(cc), int(job.plan["seed"]))
        self.ran.append(about)
        mbit = self.behaviour(*about)
        return write(destination, job, mbit, self.key(job))

    def cancel(self) -> None:
        self.cancelled.set()


def write(destination: Path, job: Job, mbit: float, key: str = "") -> Path:
    """A record in which the flow moved so much; its trace is a function of that alone."""
    received = int(mbit * 1e6 / 8 * 10)
    trace = builders.rows(builders.TCP_PROBE, t_ns=np.arange(4) * 1_000_000_000, snd_cwnd=received % 99_991)
    manifest: dict[str, Any] = {
        **job.labels, "key": key or destination.name, "context": job.context, "kernel": job.kernel.identity,
        "agent": {"sha256": AGENT}, "host": {}, "elapsed_s": 0.0, "virtual_s": 11.0,
        "seed": job.plan["seed"], "rushhour": __version__,
    }  # fmt: skip
    outcomes = [builders.outcome(flow["id"], bytes_received=received) for flow in job.plan["flows"]]
    return builders.record(
        destination, {"tcp_probe": trace}, flows=[], outcomes=outcomes, plan=job.plan, manifest=manifest
    ).path


def kernel(name: str, folder: Path) -> Kernel:
    """A kernel by name; its image has the name for a hash."""
    identity = {"name": name, "image_sha256": name, "release": "6.12.1", "hz": 1000}
    return Kernel(name, folder / name, "6.12.1", identity, folder / "config")

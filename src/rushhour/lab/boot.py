"""Does a built kernel start on this machine? The smallest experiment there is says it."""

from __future__ import annotations

import json
import math
import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import KernelError
from rushhour.lab import agent as agents
from rushhour.lab import splats, uml
from rushhour.lab.confine import Guest, Limits, Sandbox
from rushhour.lab.ending import result_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.lab.agent import Agent
    from rushhour.lab.kernel import Kernel

# Generous: a machine that is busy with other things is not one that cannot run.
_LIMITS = Limits(timeout_s=60, stall_s=30)
_MEMORY_MB = 256


@dataclass(frozen=True)
class Booted:
    """A kernel that started here: seconds of wall-clock time, and what the launcher warned of."""

    seconds: float
    warnings: list[str]


def boot(kernel: Kernel, agent: Agent | None = None) -> Booted:
    """Start a kernel, send a megabyte over a link of two nodes, switch it off.

    Raises:
        GuestError: it starts, and fails by itself, or complains.
        LabError: it does not start here, with the reason as far as its words tell.
        KernelError: it starts without what was compiled into it.
    """
    uml.require()
    image = uml.built(kernel).image.resolve()
    agent = agent or agents.find()
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="rushhour-boot-") as folder,
        Sandbox(Path(folder), image, agent.root) as sandbox,
    ):
        (sandbox.out / "plan.json").write_text(json.dumps(PLAN), encoding="utf-8")
        words = uml.command(image, _MEMORY_MB, seed=1)
        ending = Guest(agent.binary, sandbox, words, limits=_LIMITS).wait()
        report = result_of(ending, sandbox, kernel.name)
        _check(kernel, report, sandbox.console)
        splats.check(sandbox.console, kernel.name, math.inf)
    return Booted(time.monotonic() - began, [*ending.warnings])


def _check(kernel: Kernel, report: Mapping[str, object], console: Path) -> None:
    """Refuse a kernel that starts without the algorithms that were compiled in.

    Raises:
        KernelError: one is not there, with what the kernel said of it.
    """
    about = report.get("kernel")
    there = about.get("congestion_controls", []) if isinstance(about, dict) else []
    for name in kernel.identity.get("brings", {}).get("congestion_controls", []):
        if name not in there:
            lines = console.read_text(errors="replace").splitlines() if console.is_file() else []
            said = [line.strip() for line in lines if re.search(rf"\b{re.escape(name)}\b", line)][:3]
            raise KernelError(
                "\n  ".join([f'it starts without "{name}": the kernel refused to register it', *said]),
                where=kernel.name,
                hint="tcp_register_congestion_control wants a name of its own, ssthresh, undo_cwnd, and "
                "cong_avoid or cong_control; its answer has to be returned",
            )


def _end(node: str, dev: str, number: int) -> dict[str, object]:
    return {
        "node": node, "dev": dev, "mac": f"02:00:00:00:00:0{number}", "mtu": 1500,
        "addresses": [f"10.0.0.{number}/30"], "offload": False, "qdiscs": [], "wire": None, "filters": [],
    }  # fmt: skip


PLAN: dict[str, object] = {
    "format": "rushhour-plan/1",
    "seed": 1,
    "duration_ns": 20_000_000,
    "sample_ns": 10_000_000,
    "nodes": [{"name": name, "forward": False, "sysctl": [], "addresses": []} for name in ("a", "b")],
    "links": [{"name": "a-b", "ends": [_end("a", "b", 1), _end("b", "a", 2)]}],
    "routes": [],
    "neighbours": [
        {"node": "a", "dev": "b", "address": "10.0.0.2", "mac": "02:00:00:00:00:02"},
        {"node": "b", "dev": "a", "address": "10.0.0.1", "mac": "02:00:00:00:00:01"},
    ],
    "flows": [
        {
            "id": 0, "name": "boot", "kind": "tcp", "from": "a", "to": "b", "src": "10.0.0.1",
            "dst": "10.0.0.2", "sport": 33000, "dport": 5001, "start_ns": 0, "stop_ns": None,
            "bytes": 1_000_000,
        }
    ],
    "readings": dict.fromkeys(("tcp_probe", "events", "tcp_info", "qdisc", "interface", "sojourn"), False),
    "calibration": {"paths": [], "trains": []},
}  # fmt: skip

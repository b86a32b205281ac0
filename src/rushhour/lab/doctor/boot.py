"""Whether a built kernel boots here: the smallest experiment there is, through the lab's own launcher."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushhour.errors import RushHourError
from rushhour.lab import uml
from rushhour.lab.confine import Guest, Limits, Sandbox
from rushhour.lab.ending import result_of

if TYPE_CHECKING:
    from rushhour.lab.agent import Agent
    from rushhour.lab.kernel import Kernel

# Generous: a machine that is busy with other things is not one that cannot run.
_LIMITS = Limits(timeout_s=60, stall_s=30)
_MEMORY_MB = 256


def boot(kernel: Kernel, agent: Agent) -> dict[str, Any]:
    """Boot it, send a megabyte over a link of two nodes, switch off.

    Gives `boots`, the wall-clock `seconds`, the launcher's `warnings`, and where it does not boot `why`.
    """
    began = time.monotonic()
    found: dict[str, Any] = {"name": kernel.name, "id": kernel.id, "release": kernel.release}
    try:
        uml.require()
        with tempfile.TemporaryDirectory(prefix="rushhour-doctor-") as folder:
            warnings = _run(kernel, agent, Path(folder))
    except RushHourError as error:
        return found | {"boots": False, "why": error.message, "hint": error.hint}
    return found | {"boots": True, "seconds": round(time.monotonic() - began, 2), "warnings": warnings}


def _run(kernel: Kernel, agent: Agent, folder: Path) -> list[str]:
    with Sandbox(folder, kernel.image.resolve(), agent.root) as sandbox:
        (sandbox.out / "plan.json").write_text(json.dumps(PLAN), encoding="utf-8")
        words = uml.command(kernel.image, _MEMORY_MB, seed=1)
        ending = Guest(agent.binary, sandbox, words, limits=_LIMITS).wait()
        result_of(ending, sandbox, kernel.name)
        return [*ending.warnings]


def _end(node: str, dev: str, number: int) -> dict[str, Any]:
    return {
        "node": node, "dev": dev, "mac": f"02:00:00:00:00:0{number}", "mtu": 1500,
        "addresses": [f"10.0.0.{number}/30"], "offload": False, "qdiscs": [], "wire": None, "filters": [],
    }  # fmt: skip


PLAN: dict[str, Any] = {
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
            "id": 0, "name": "doctor", "kind": "tcp", "from": "a", "to": "b", "src": "10.0.0.1",
            "dst": "10.0.0.2", "sport": 33000, "dport": 5001, "start_ns": 0, "stop_ns": None,
            "bytes": 1_000_000,
        }
    ],
    "readings": dict.fromkeys(("tcp_probe", "events", "tcp_info", "qdisc", "interface", "sojourn"), False),
    "calibration": {"paths": [], "trains": []},
}  # fmt: skip

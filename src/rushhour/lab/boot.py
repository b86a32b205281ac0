"""Does a built kernel start on this machine? The shortest of all experiments says it."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.lab.base import Job
from rushhour.lab.confine import Limits
from rushhour.lab.uml import UmlLab

if TYPE_CHECKING:
    from rushhour.lab.kernel import Kernel

# No node, no flow: the kernel boots, its first process finds everything it needs, and switches it off.
PLAN = {
    "format": "rushhour-plan/1",
    "seed": 1,
    "duration_ns": 1_000_000,
    "sample_ns": 1_000_000,
    "nodes": [],
    "links": [],
    "flows": [],
    "readings": dict.fromkeys(("tcp_probe", "events", "tcp_info", "qdisc", "interface"), False),
}
CONTEXT = {"flows": [], "ends": [], "duration_ns": 1_000_000, "warmup_ns": 0}


def boot(kernel: Kernel) -> float:
    """Start a kernel, let its first process work, switch it off; gives how long that took, in seconds.

    Raises:
        GuestError: it starts, and fails by itself.
        LabError: it does not start here, with the reason as far as its words tell.
    """
    lab = UmlLab(Limits(timeout_s=60, stall_s=30))
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rushhour-boot-") as folder:
        lab.run(Job(PLAN, CONTEXT, kernel, {}), Path(folder) / "run")
    return time.monotonic() - begun

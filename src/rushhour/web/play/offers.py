"""What a kernel offers: its congestion controls and the queue disciplines that work alone.

The kernel is asked. Algorithms are what it lists in a short run (`tcp_available_congestion_control`), which
the cache keeps; disciplines are those of its configuration that the plan knows to give a limit.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from rushhour.lab import kernel as kernels
from rushhour.lab.base import Job
from rushhour.plan.kinds import BYTE_LIMITED, NEEDS, PACKET_LIMITED
from rushhour.plan.probe import probe
from rushhour.record import kept
from rushhour.record.record import Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from rushhour.lab.base import Lab
    from rushhour.lab.kernel import Kernel

# Parts of others, impairments, or nothing without more words: nothing one would choose as a queue.
_NO_QUEUE = frozenset({"pfifo", "bfifo", "pfifo_head_drop", "netem", "gred"})
_SCHEDULER = re.compile(r"^CONFIG_NET_SCH_([A-Z0-9_]+)=y$", re.MULTILINE)


@dataclass(frozen=True)
class Offer:
    """A built kernel and what it offers."""

    name: str
    id: str
    release: str
    congestion_controls: tuple[str, ...]
    default: str
    qdiscs: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """The offer as JSON."""
        return {
            "name": self.name,
            "id": self.id,
            "release": self.release,
            "congestion_controls": list(self.congestion_controls),
            "default_congestion_control": self.default,
            "qdiscs": list(self.qdiscs),
        }


class Offers:
    """The offers of built kernels, each asked once."""

    def __init__(self, make_lab: Callable[[], Lab]) -> None:
        self._make_lab = make_lab
        self._known: dict[str, Offer] = {}
        self._lock = Lock()

    def of(self, name: str | None) -> Offer:
        """What the kernel of this name offers (None: the one built last); takes a short run at first.

        Raises:
            KernelError: there is no such kernel.
            LabError: it does not run.
        """
        kernel = kernels.default() if name is None else kernels.find(name)
        with self._lock:
            if kernel.folder.name not in self._known:
                self._known[kernel.folder.name] = self._ask(kernel)
            return self._known[kernel.folder.name]

    def _ask(self, kernel: Kernel) -> Offer:
        lab = self._make_lab()
        lowered = probe()
        job = Job(lowered.plan, lowered.context, kernel, {})
        key = lab.key(job)
        known = kept.find(key)
        if known is not None:
            return _offer(kernel, Record.open(known))
        with tempfile.TemporaryDirectory(prefix="rushhour-") as folder:
            record = lab.run(job, Path(folder) / "run")
            kept.keep(key, record)
            return _offer(kernel, Record.open(record))


def _offer(kernel: Kernel, record: Record) -> Offer:
    listed = record.result.get("kernel", {}).get("congestion_controls", [])
    config = kernel.config.read_text(encoding="utf-8", errors="replace")
    default = re.search(r'^CONFIG_DEFAULT_TCP_CONG="(\w+)"$', config, re.MULTILINE)
    built_in = {word.lower() for word in _SCHEDULER.findall(config)}
    limited = built_in & (PACKET_LIMITED.keys() | BYTE_LIMITED.keys()) - _NO_QUEUE - NEEDS.keys()
    queues = sorted(limited)
    return Offer(
        kernel.name,
        kernel.id,
        kernel.release,
        tuple(sorted(str(name) for name in listed)),
        default[1] if default else "cubic",
        ("fifo", *queues),
    )

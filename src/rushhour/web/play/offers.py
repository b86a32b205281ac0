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
from typing import TYPE_CHECKING

from rushhour.lab import kernel as kernels
from rushhour.plan.probe import probe
from rushhour.record.record import Record
from rushhour.running.batch import of_one
from rushhour.running.conductor import Conductor
from rushhour.running.executor import Threads
from rushhour.tc.kinds import BYTE_LIMITED, NEEDS, NOT_OFFERED, PACKET_LIMITED

if TYPE_CHECKING:
    from collections.abc import Callable

    from rushhour.lab.base import Lab
    from rushhour.lab.kernel import Kernel
    from rushhour.running.conductor import Watch
    from rushhour.running.executor import Pool

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

    def document(self) -> dict[str, object]:
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
    """The offers of built kernels, each asked once, in a pool that others run in, too."""

    def __init__(self, make_lab: Callable[[], Lab], pool: Pool, watch: Watch | None = None) -> None:
        self._make_lab, self._pool, self._watch = make_lab, pool, watch
        self._going: Conductor | None = None
        self._closed = False
        self._known: dict[str, Offer] = {}
        self._lock = Lock()

    def of(self, name: str | None) -> Offer:
        """The algorithms and disciplines of a kernel (None: the default one); the first call runs it.

        Raises:
            KernelError: there is no such kernel.
            LabError: it does not run.
        """
        kernel = kernels.default() if name is None else kernels.find(name)
        with self._lock:
            if kernel.folder.name not in self._known:
                self._known[kernel.folder.name] = self._ask(kernel)
            return self._known[kernel.folder.name]

    def stop(self) -> None:
        """End the run that goes on, and begin no other; does not wait."""
        self._closed = True
        if (going := self._going) is not None:
            going.cancel()

    def _ask(self, kernel: Kernel) -> Offer:
        lab = self._make_lab()
        conductor = Conductor(lab, executor=Threads(lab, self._pool), watch=self._watch)
        self._going = conductor
        if self._closed:
            conductor.cancel()
        with conductor, tempfile.TemporaryDirectory(prefix="rushhour-") as folder:
            outcome = conductor.one(*of_one("offer", probe(), kernel, Path(folder)))
            return _offer(kernel, Record.open(outcome.record))


def _offer(kernel: Kernel, record: Record) -> Offer:
    listed = record.result.kernel.congestion_controls
    config = kernel.config.read_text(encoding="utf-8", errors="replace")
    default = re.search(r'^CONFIG_DEFAULT_TCP_CONG="(\w+)"$', config, re.MULTILINE)
    built_in = {word.lower() for word in _SCHEDULER.findall(config)}
    limited = built_in & (PACKET_LIMITED.keys() | BYTE_LIMITED.keys()) - NOT_OFFERED - NEEDS.keys()
    queues = sorted(limited)
    return Offer(
        kernel.name,
        kernel.id,
        kernel.release,
        tuple(sorted(listed)),
        default[1] if default else "cubic",
        ("fifo", *queues),
    )

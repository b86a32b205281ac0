"""Commands in a virtual kernel, instead of an experiment: one after the other, each in an empty network.

The guest is a lab's guest in all else: the same confinement, seed and virtual time. Each system call of its
programs has a price (`lab/kernel/host/calls.c`), so a program that polls comes to an end.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from rushhour.lab import agent as agents
from rushhour.lab import uml
from rushhour.lab.base import CancelledError
from rushhour.lab.confine import Guest, Guests, Limits, Sandbox, told_limits
from rushhour.lab.ending import result_of, spinning
from rushhour.plain import harmless

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rushhour.lab.base import Tested
    from rushhour.lab.tools import Tool

_MEMORY_MB = 1024
_OUTPUT_BYTES = 16 << 20


@dataclass(frozen=True)
class Order:
    """A command: its words (the first is a path in the guest), where it works, what it finds.

    `limit_s` is when it is killed, in seconds of virtual time; `packets` whether its network's are kept,
    `apart` whether what it writes to standard error stands behind the rest, not in between.
    """

    words: Sequence[str]
    folder: str
    environment: Mapping[str, str]
    limit_s: float
    packets: bool = False
    apart: bool = False


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    `exit` or `signal`, and whether its time was up; `took_s` in virtual time; `output` is what it wrote to
    standard output and error, with U+FFFD for what is no text; `packets`, where asked for, are a capture
    (pcap, times in ns) of what passed its network's devices but the loopback.
    """

    exit: int | None
    signal: int | None
    late: bool
    took_s: float
    output: str
    packets: bytes = b""


class Commands:
    """Runs commands in guests of one kernel; several threads may use it."""

    def __init__(self, kernel: Tested, userland: Tool, limits: Limits | None = None) -> None:
        """Guests of a kernel.

        Args:
            kernel: a virtual kernel.
            userland: the programs that there are.
            limits: when a guest is ended, as far as the environment does not say otherwise.

        Raises:
            LabError: this is no machine for virtual kernels, there is no agent, or the userland cannot be
                laid out.
        """
        uml.require()
        self.kernel = uml.built(kernel)
        self._limits = told_limits(limits or Limits(timeout_s=600, stall_s=60))
        self._agent = agents.find()
        self._root = self._agent.root_with([userland])
        self._guests = Guests()
        self._cpus: SimpleQueue[int] = SimpleQueue()
        for cpu in cpus():
            self._cpus.put(cpu)

    def carry_out(self, orders: Sequence[Order], where: str, folder: Path) -> list[Ended]:
        """Run commands in one guest.

        Args:
            orders: the commands.
            where: what they are for, in errors.
            folder: where the guest's own folder is made for the time being.

        Raises:
            CancelledError: it was stopped.
            LabError: the guest ended without a result.
        """
        # On a CPU of its own, as long as there are some: a guest is several processes that take turns.
        try:
            cpu = self._cpus.get_nowait()
        except Empty:
            cpu = None
        try:
            return self._run(orders, where, folder, cpu)
        finally:
            if cpu is not None:
                self._cpus.put(cpu)

    def _run(self, orders: Sequence[Order], where: str, folder: Path, cpu: int | None) -> list[Ended]:
        with Sandbox(folder, self.kernel.image.resolve(), self._root) as sandbox:
            (sandbox.out / "commands.json").write_text(json.dumps(_document(orders)), encoding="utf-8")
            words = [*uml.command(self.kernel.image, _MEMORY_MB, seed=1), "commands"]
            ending = self._guests.run(
                lambda: Guest(self._agent.binary, sandbox, words, limits=self._limits, cpu=cpu)
            )
            if self._guests.cancelled:
                raise CancelledError("stopped", where=where)
            if ending.reason == "stall":
                raise spinning([orders[0].words[0]], where)
            report = result_of(ending, sandbox, where)
            told = report["commands"]
            assert isinstance(told, list)
            return [_ended(one, sandbox.out / str(number)) for number, one in enumerate(told)]

    @property
    def cancelled(self) -> bool:
        """Whether they were asked to end."""
        return self._guests.cancelled

    def cancel(self) -> None:
        """End all guests."""
        self._guests.cancel()


def cpus() -> list[int]:
    """The CPUs of this machine that this process may use."""
    return sorted(os.sched_getaffinity(0))


def _document(orders: Sequence[Order]) -> dict[str, object]:
    commands = [
        {
            "words": [*order.words],
            "folder": order.folder,
            "environment": dict(order.environment),
            "limit_ns": round(order.limit_s * 1e9),
            "packets": order.packets,
            "apart": order.apart,
        }
        for order in orders
    ]
    return {"format": "rushhour-commands/2", "orders": commands}


def _text(place: Path) -> str:
    with place.open("rb") as file:
        return file.read(_OUTPUT_BYTES).decode("utf-8", errors="replace")


def _ended(told: Mapping[str, object], place: Path) -> Ended:
    written = [one for one in (place.with_suffix(end) for end in (".txt", ".err")) if one.exists()]
    output = "".join(_text(one) for one in written)
    captured = place.with_suffix(".pcap")
    packets = captured.read_bytes() if captured.exists() else b""
    code, signal, took_ns = told["exit"], told["signal"], told["took_ns"]
    assert isinstance(took_ns, int)
    return Ended(
        code if isinstance(code, int) else None,
        signal if isinstance(signal, int) else None,
        told["late"] is True,
        took_ns / 1e9,
        harmless(output),
        packets,
    )

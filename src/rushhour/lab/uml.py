"""The `uml` lab: a User-Mode-Linux kernel in virtual time, one process tree, unprivileged.

Everything the guest could learn about this machine is the same in every run: its command line, its folders,
its environment, its clock. What differs from run to run is the plan, and the seed on the command line.
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from rushhour.errors import AgentError, LabError, UnsupportedError, UsageError
from rushhour.lab import agent, console, tools
from rushhour.lab.base import CancelledError, Job, canonical, sha256
from rushhour.lab.confine import Ending, Guest, Limits, Sandbox
from rushhour.lab.manifest import Facts, host, seal_run
from rushhour.record import read_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# Counts up with every change of how a guest is started that could change its records.
VERSION = 2
START_NS = 1_700_000_000_000_000_000
# What the kernel chooses for 1 GB.
SOCKETS = 8192
MIN_MEMORY_MB, MAX_MEMORY_MB = 1024, 16384


class UmlLab:
    """Runs plans on virtual kernels; see `rushhour.lab.base.Lab`."""

    name = "uml"

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = _limits(limits or Limits())
        self.agent = agent.find()
        self._guests: set[Guest] = set()
        self._lock = Lock()
        self._cancelled = False

    def key(self, job: Job) -> str:
        """The hash of kernel, agent, programs, plan, and the way they are run."""
        how = f"uml/{VERSION} {memory(job.plan, job.context)} MB"
        what = [str(job.kernel.identity["image_sha256"]), self.agent.sha256, canonical(job.plan)]
        return sha256(how, *what, *(tool.sha256 for tool in _tools(job)))

    def run(self, job: Job, destination: Path, cpu: int | None = None) -> Path:
        """Run a plan; see `Lab.run`."""
        try:
            needed = _tools(job)
            root = self.agent.root_with(needed)
            with Sandbox(destination.parent, job.kernel.image.resolve(), root) as sandbox:
                (sandbox.out / "plan.json").write_text(canonical(job.plan) + "\n", encoding="utf-8")
                ending = self._launch(job, sandbox, cpu)
                self._check(ending, sandbox, job)
                sandbox.console.rename(sandbox.out / "console.log")
                (sandbox.out / "progress").unlink(missing_ok=True)
                about = {"version": self.agent.version, "sha256": self.agent.sha256}
                programs = {tool.name: tool.identity() for tool in needed}
                facts = Facts(
                    self.key(job), self.name, about, programs, host(), ending.elapsed_s, ending.warnings
                )
                return seal_run(sandbox.out, destination, job, facts)
        except OSError as error:
            raise LabError(
                f"the run cannot be written: {error.strerror}",
                where=str(error.filename2 or error.filename or destination),
                hint="check that the folder is writable and that there is space left",
            ) from error

    def cancel(self) -> None:
        """End every run; see `Lab.cancel`."""
        with self._lock:
            self._cancelled = True
            for guest in self._guests:
                guest.cancel()

    def _launch(self, job: Job, sandbox: Sandbox, cpu: int | None) -> Ending:
        sockets = hash_entries(job.plan)
        words = command(
            job.kernel.image, memory(job.plan, job.context), int(job.plan["seed"]), sockets=sockets
        )
        with self._lock:
            if self._cancelled:
                raise CancelledError("stopped before it began")
            guest = Guest(self.agent.binary, sandbox, words, limits=self.limits, cpu=cpu)
            self._guests.add(guest)
        try:
            return guest.wait()
        finally:
            guest.cancel()
            with self._lock:
                self._guests.discard(guest)

    def _check(self, ending: Ending, sandbox: Sandbox, job: Job) -> None:
        where = f"{job.kernel.name}, seed {job.plan['seed']}"
        if self._cancelled or ending.reason == "cancelled":
            raise CancelledError("stopped", where=where)
        result = sandbox.out / "result.json"
        if ending.reason != "done" or result.is_symlink() or not result.is_file():
            console.check_room(sandbox.out)
            raise console.explain(ending, sandbox.console, where)
        report = read_json(result)
        if report.get("ok") is not True:
            console.check_room(sandbox.out)
            raise _agent_error(report.get("error"), where)


def command(image: Path, memory_mb: int, seed: int, *, sockets: int = SOCKETS) -> list[str]:
    """The kernel's command line.

    It is the seed: the kernel's own randomness starts from it, so nothing but the seed and what the plan
    needs may vary in it, and no path.
    """
    words = ["./linux", f"mem={memory_mb}M", "root=none", "rootfstype=hostfs", "ro", "init=/init"]
    # Relative paths fail on newer kernels (statx without a directory); this one is constant and absolute.
    words += ["hostfs=/proc/self/cwd", "rootflags=root/."]
    # The console goes to a regular file: a pipe or terminal would interrupt at moments of the host's.
    words += ["con=null", "con0=null,fd:1", "norandmaps"]
    words += ["time-travel=inf-cpu", f"time-travel-start={START_NS}", "umid=lab", "uml_dir=mem/"]
    words += ["seccomp=on"] if _has_seccomp(image) else []
    # Tables of files need no room; those of sockets are gone through whole at each sample.
    words += ["dhash_entries=1024", "ihash_entries=1024", f"thash_entries={sockets}"]
    return [*words, f"RUSHHOUR_SEED={seed}"]


def memory(plan: Mapping[str, Any], context: Mapping[str, Any]) -> int:
    """The guest's memory in MB: a power of two that holds what can be under way at once.

    A queued packet takes up to four times its bytes in the kernel, a flow two socket buffers of some MB in
    the worst case but seldom more than its share of the path. It is a function of the cell alone, for the
    kernel scales its buffers by it; and it is sparse: what is not touched costs nothing.
    """
    queued = sum(end["buffer_bytes"] or 1514 * (end["buffer_packets"] or 0) for end in context["ends"])
    flying = sum((end["rate_bps"] or 0) / 8 * end["delay_ns"] * 1e-9 for end in context["ends"])
    rates = max((end["rate_bps"] or 0 for end in context["ends"]), default=0)
    longest = max((flow["base_rtt_ns"] for flow in context["flows"]), default=0)
    flying += rates / 8 * longest * 1e-9
    need = 256e6 + 4 * (queued + flying) + 1e6 * len(plan["flows"]) + 1e6 * len(plan["nodes"])
    size = MIN_MEMORY_MB
    while size < need / 2**20 and size < MAX_MEMORY_MB:
        size *= 2
    return size


def hash_entries(plan: Mapping[str, Any]) -> int:
    """Size of the kernel's table of TCP connections.

    The kernel would choose by its memory and allows half as many sockets in `TIME_WAIT` and
    half as many orphans. A plan that opens a connection for each transaction gets that; one whose connections
    are counted gets four for each flow, so that neither limit is in reach and chains are short.
    """
    least = SOCKETS if any(flow["kind"] == "crr" for flow in plan["flows"]) else 1024
    return max(least, 1 << (4 * len(plan["flows"]) - 1).bit_length())


def _tools(job: Job) -> list[tools.Tool]:
    return [tools.find(name) for name in job.plan.get("tools", ())]


@cache
def _has_seccomp(image: Path) -> bool:
    # The option's name is in every image that knows it.
    return b"seccomp=" in image.read_bytes()


def _agent_error(error: Any, where: str) -> AgentError:
    if not isinstance(error, dict):
        return AgentError("the agent failed without a reason", where=where, hint="look at console.log")
    place = f"{where}: {error['where']}" if error.get("where") else where
    kind = UnsupportedError if error.get("kind") == "unsupported" else AgentError
    return kind(str(error.get("message")), where=place, hint=error.get("hint"))


def _limits(usual: Limits) -> Limits:
    given: dict[str, float] = {}
    for name, variable in (("timeout_s", "RUSHHOUR_TIMEOUT"), ("stall_s", "RUSHHOUR_STALL")):
        text = os.environ.get(variable)
        if text is None:
            continue
        try:
            given[name] = float(text)
        except ValueError:
            raise UsageError(f"{variable} is {text!r}; it takes a number of seconds") from None
    return replace(usual, **given)  # type: ignore[arg-type]

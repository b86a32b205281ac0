"""The `uml` lab: a User-Mode-Linux kernel in virtual time, one process tree, unprivileged.

Everything the guest could learn about this machine is the same in every run: its command line, its folders,
its environment, its clock. What differs from run to run is the plan, and the seed on the command line.
"""

from __future__ import annotations

import math
import platform
from dataclasses import replace
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

from rushhour.errors import LabError, UnsupportedError, UsageError
from rushhour.files.sums import sum_of
from rushhour.lab import agent, loading, programs, root, splats, tools
from rushhour.lab.base import CancelledError, Job, sha256
from rushhour.lab.confine import Ending, Guest, Guests, Limits, Sandbox, told_limits
from rushhour.lab.ending import result_of, spinning
from rushhour.lab.kernel import Kernel, building, elsewhere
from rushhour.lab.manifest import Facts, host, seal_run
from rushhour.lab.terminal import NOTE
from rushhour.plan.programs import ROOT
from rushhour.record import counts
from rushhour.record.seal import unwritten
from rushhour.traffic import kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rushhour.lab.base import Tested
    from rushhour.lab.terminal import Terminal
    from rushhour.record.context_file import ContextFile
    from rushhour.record.plan_file import PlanFile

# Counts up with every change of how a guest is started that could change its records.
VERSION = 3
# The guest finds its files by its working directory, under the one name that is the same everywhere.
_WORKING = "/proc/self/cwd"
START_NS = 1_700_000_000_000_000_000
# What the kernel chooses for 1 GB.
SOCKETS = 8192
MIN_MEMORY_MB, MAX_MEMORY_MB = 1024, 16384


class UmlLab:
    """Runs plans on virtual kernels; see `rushhour.lab.base.Lab`."""

    name = "uml"

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        given: agent.Agent | None = None,
        find: Callable[[str], tools.Tool] = programs.find,
        terminal: Terminal | None = None,
        durable: bool = True,
    ) -> None:
        """A lab on this machine.

        Args:
            limits: When a guest is ended, as far as the environment does not say otherwise.
            given: The agent, instead of the one that is found here.
            find: Finds a program for guests by its name. What it was when it was first asked for, it stays
                for this lab: all runs of a sweep have the same.
            terminal: At which a person sits: the last program has it, and runs are like no other.
            durable: Whether records are on the disk when a run ends: those that are taken away at once need
                not be.

        Raises:
            LabError: this is no machine for virtual kernels, or there is no agent.
        """
        require()
        self.limits = told_limits(limits or Limits())
        self.agent = given or agent.find()
        self.terminal = terminal
        self.durable = durable
        self._find = find
        self._found: dict[str, tools.Tool] = {}
        self._finding = Lock()
        self._guests = Guests()

    @property
    def is_plain(self) -> bool:
        """Whether `limits`, `agent` and `durable` say all that makes it another lab than `UmlLab()`."""
        return self._find is programs.find and self.terminal is None

    def key(self, job: Job) -> str:
        """The hash of kernel, agent, programs, plan, and the way they are run."""
        how = f"uml/{VERSION} {memory(job.plan, job.context)} MB"
        how += f" {self.terminal.moment}" if self.terminal is not None else ""
        what = [str(job.kernel.identity["image_sha256"]), self.agent.sha256, job.plan_text]
        return sha256(how, *what, *(tool.sha256 for tool in self.programs(job)))

    def run(self, job: Job, destination: Path, cpu: int | None = None) -> Path:
        """Run a plan; see `Lab.run`."""
        try:
            needed = self.programs(job)
            image = built(job.kernel).image
            base = self.agent.root_with(needed)
            roots = [root.laid_out(tool) for tool in needed if root.is_root(tool)]
            _require_programs(job.plan, roots)
            with Sandbox(destination.parent, image.resolve(), base, roots) as sandbox:
                (sandbox.out / "plan.json").write_text(job.plan_text + "\n", encoding="utf-8")
                ending = self._launch(job, image, sandbox, cpu)
                where = f"{job.kernel.name}, seed {job.plan.seed}"
                if self._guests.cancelled:
                    raise CancelledError("stopped", where=where)
                if ending.reason == "stall" and job.plan.programs and sandbox.begun:
                    raise spinning([program.name for program in job.plan.programs], where)
                begun_s = _result(ending, sandbox, where, job.kernel)
                splats.check(sandbox.console, where, begun_s)
                counts.pack(sandbox.out)
                sandbox.console.rename(sandbox.out / "console.log")
                (sandbox.out / "progress").unlink(missing_ok=True)
                about = {"version": self.agent.version, "sha256": self.agent.sha256}
                programs = {tool.name: tool.identity() for tool in needed}
                warnings = (*ending.warnings, *([NOTE] if self.terminal is not None else []))
                facts = Facts(self.key(job), self.name, about, programs, host(), ending.elapsed_s, warnings)
                return seal_run(sandbox.out, destination, job, facts, durable=self.durable)
        except OSError as error:
            raise unwritten(error, destination) from error

    def programs(self, job: Job) -> list[tools.Tool]:
        """The programs that the guest needs; refuses first what no guest can do.

        A lab takes each as it was when it was first asked for: its runs have one and the same.

        Raises:
            UnsupportedError: the plan asks for what has no meaning in virtual time.
            LabError: a program is not installed.
        """
        if job.plan.loads:
            raise UnsupportedError(
                "[[load]]: computing takes no virtual time, so a load would change nothing",
                where=job.kernel.name,
                hint="run it in real time: rushhour run … --lab netns",
            )
        words = {name: job.places.get(name, name) for name in job.plan.tools}
        absent: list[str] = []
        with self._finding:
            for name, word in words.items():
                try:
                    if word not in self._found:
                        self._found[word] = replace(self._find(word), name=name)
                except loading.AbsentError as fault:
                    absent += fault.needs
        if absent:
            raise loading.AbsentError(*absent)
        return [self._found[word] for word in words.values()]

    def cancel(self) -> None:
        """End every run; see `Lab.cancel`."""
        self._guests.cancel()

    def _launch(self, job: Job, image: Path, sandbox: Sandbox, cpu: int | None) -> Ending:
        sockets = hash_entries(job.plan)
        words = command(image, memory(job.plan, job.context), job.plan.seed, sockets=sockets)
        return self._guests.run(
            lambda: Guest(
                self.agent.binary, sandbox, words, limits=self.limits, cpu=cpu, terminal=self.terminal
            )
        )


def _require_programs(plan: PlanFile, roots: Sequence[Path]) -> None:
    """Refuse programs that could not start in their roots."""
    names = [name.removeprefix(ROOT) for name in plan.tools if name.startswith(ROOT)]
    for program in plan.programs:
        if program.root is not None and not program.command[0].startswith("./"):
            root.require(roots[names.index(program.root)], program.command[0], program.root)


def _result(ending: Ending, sandbox: Sandbox, where: str, kernel: Tested) -> float:
    """Raise what a run's end deserves; of what this kernel lacks, say which one has it.

    Returns:
        When the experiment began, in seconds since the kernel's start.
    """
    try:
        start_ns = result_of(ending, sandbox, where).get("start_clock_ns")
        return start_ns / 1e9 if isinstance(start_ns, int) else math.inf
    except UnsupportedError as fault:
        source = kernel.origin().get("source") if isinstance(kernel, Kernel) else None
        fault.hint = " ".join(filter(None, [fault.hint, elsewhere(fault.message, str(source or "SOURCE"))]))
        raise


def require() -> None:
    """Say early, and in words, what a virtual kernel would die of.

    Raises:
        LabError: this is no machine for virtual kernels.
    """
    if platform.machine() != "x86_64":
        raise LabError(
            f"virtual kernels run on x86-64 only, and this machine is {platform.machine()}",
            hint="in real time it can take part: rushhour run … --lab netns, or --lab hosts",
            machine=True,
        )


def command(image: Path, memory_mb: int, seed: int, *, sockets: int = SOCKETS) -> list[str]:
    """The kernel's command line.

    It is the seed: the kernel's own randomness starts from it, so nothing but the seed and what the plan
    needs may vary in it, and no path.
    """
    words = ["./linux", f"mem={memory_mb}M", "root=none", "rootfstype=hostfs", "ro", "init=/init"]
    # Relative paths fail on newer kernels (statx without a directory); this one is constant and absolute.
    words += [f"hostfs={_WORKING}", "rootflags=root/."]
    # The console goes to a regular file: a pipe or terminal would interrupt at moments of the host's.
    words += ["con=null", "con0=null,fd:1", "norandmaps"]
    words += ["time-travel=inf-cpu", f"time-travel-start={START_NS}", "umid=lab", "uml_dir=mem/"]
    words += ["seccomp=on"] if _has_seccomp(image) else []
    # Tables of files need no room; those of sockets are gone through whole at each sample.
    words += ["dhash_entries=1024", "ihash_entries=1024", f"thash_entries={sockets}"]
    return [*words, f"RUSHHOUR_SEED={seed}"]


def memory(plan: PlanFile, context: ContextFile) -> int:
    """The guest's memory in MB: a power of two that holds what can be under way at once.

    A queued packet takes up to four times its bytes in the kernel, a flow two socket buffers of some MB in
    the worst case but seldom more than its share of the path. It is a function of the cell alone, for the
    kernel scales its buffers by it; and it is sparse: what is not touched costs nothing.
    """
    queued = sum(end.buffer_bytes or 1514 * (end.buffer_packets or 0) for end in context.ends)
    flying = sum((end.rate_bps or 0) / 8 * end.delay_ns * 1e-9 for end in context.ends)
    rates = max((end.rate_bps or 0 for end in context.ends), default=0)
    longest = max((flow.base_rtt_ns or 0 for flow in context.flows), default=0)
    flying += rates / 8 * longest * 1e-9
    need = 256e6 + 4 * (queued + flying) + 1e6 * len(plan.flows) + 1e6 * len(plan.nodes)
    size = MIN_MEMORY_MB
    while size < need / 2**20 and size < MAX_MEMORY_MB:
        size *= 2
    return size


def hash_entries(plan: PlanFile) -> int:
    """Size of the kernel's table of TCP connections.

    The kernel would choose by its memory and allows half as many sockets in `TIME_WAIT` and
    half as many orphans. A plan that opens a connection for each transaction gets that; one whose connections
    are counted gets four for each flow, so that neither limit is in reach and chains are short.
    """
    many = plan.found or any(flow.kind in kinds.MANY_CONNECTIONS for flow in plan.flows)
    least = SOCKETS if many else 1024
    return max(least, 1 << (4 * len(plan.flows) - 1).bit_length())


def built(tested: Tested) -> Kernel:
    """A kernel that this lab can start.

    Raises:
        UsageError: it is none of ours.
        LabError: an older version of this program built it.
    """
    if not isinstance(tested, Kernel):
        raise UsageError(
            f"{tested.name} is not a virtual kernel", hint="to build one: rushhour kernel build SOURCE"
        )
    if "host_sha256" not in tested.identity:
        again = _building(tested)
        raise LabError(
            "this kernel was built by an older Rush Hour, and does not run on every machine",
            where=tested.name,
            hint=f"{again}  (it only has to be linked again)",
        )
    _require_same(tested)
    return tested


def _building(kernel: Kernel) -> str:
    """The command that builds a kernel again; what was sent here does not say of what it was built."""
    try:
        source = str(kernel.origin().get("source", "SOURCE"))
    except OSError:
        source = "SOURCE"
    return building(source, "--name", kernel.name)


def _require_same(kernel: Kernel) -> None:
    """That the image is the one that was built: records and baselines call it by its SHA-256."""
    if kernel.identity.get("image_sha256") != sum_of(kernel.image.resolve()):
        again = _building(kernel)
        raise LabError(
            "the kernel's image is not the one that was built",
            where=str(kernel.image),
            hint=f"rushhour kernel remove {kernel.name}, then {again}",
            machine=True,
        )


@cache
def _has_seccomp(image: Path) -> bool:
    # The option's name is in every image that knows it.
    return b"seccomp=" in image.read_bytes()

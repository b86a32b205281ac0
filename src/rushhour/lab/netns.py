"""The `netns` lab: this machine's kernel in real time, in namespaces that nothing but the agent holds.

    rushhour ──pipe──▶ launcher ─▶ keeper (pid 1 of a pid namespace) ─▶ agent ─▶ its threads, tc, iperf3

Every node is a network namespace without a name, open in the agent alone: when the agent ends, the
namespaces end with all that is in them, however it ended. What would reach beyond them is refused.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import LabError, UnsupportedError
from rushhour.files import cache
from rushhour.lab import agent, programs, realtime
from rushhour.lab.ability import Ability, machine_wide, refusal
from rushhour.lab.base import CancelledError, canonical
from rushhour.lab.confine import Guest, Guests, Limits, Sandbox, told_limits
from rushhour.lab.ending import result_of
from rushhour.lab.loading import search_path
from rushhour.lab.manifest import Facts, host, seal_run
from rushhour.lab.pins import chosen, parse, routers
from rushhour.plan import native
from rushhour.plan.needs import FOLLOWING, needs
from rushhour.record.seal import unwritten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.errors import RushHourError
    from rushhour.lab.base import Job, Tested
    from rushhour.lab.confine import Ending
    from rushhour.record.plan_file import PlanFile


_TRACES = Path("/sys/kernel/tracing/instances")
_UNFOLLOWED = (
    "connections of programs are not followed: that takes a kernel that traces (CONFIG_FTRACE) and runs BPF"
)


class NetnsLab:
    """Runs plans on this machine's kernel; see `rushhour.lab.base.RealTimeLab`."""

    name = "netns"

    def __init__(
        self, pins: Sequence[str] = (), limits: Limits | None = None, *, trust_programs: bool = False
    ) -> None:
        _may_work()
        self._trusts = trust_programs
        self._pins = parse(pins)
        self.limits = told_limits(limits or Limits())
        self.agent = agent.find()
        self._ability = Ability(self.agent.binary)
        self._guests = Guests()

    def tested(self) -> Tested:
        """The kernel of this machine; see `RealTimeLab.tested`."""
        return realtime.running_kernel()

    def key(self, job: Job) -> str:
        """The hash of what was asked, and of the moment; see `realtime.key`."""
        return realtime.key(self.name, job, self.agent.sha256)

    def refusal(self, job: Job) -> RushHourError | None:
        """Why this run cannot be carried out here; see `RealTimeLab.refusal`."""
        if (virtual := realtime.of_virtual_time(job.plan)) is not None:
            return virtual
        if job.plan.programs and not self._trusts:
            return _distrust(job.plan)
        if with_root := [program.name for program in job.plan.programs if program.root]:
            return UnsupportedError(
                f"[[program]] {', '.join(with_root)}: in this lab programs have no root of their own",
                hint="take its key `root` out, or run it in virtual time: rushhour run … --lab uml",
            )
        for name in job.plan.tools:
            programs.here(name)
        lacks = self._ability.lacks(needs(self._suited(job.plan)))
        return refusal({item: why for item, why in lacks.items() if item != "wire"})

    def warm_up(self, job: Job) -> None:
        """Carry out the run's first moments in a folder that is thrown away; see `RealTimeLab.warm_up`."""
        short = replace(job, plan=realtime.run_in(self._suited(job.plan)))
        with Sandbox(cache.folder("run-in")) as sandbox:
            self._carry_out(short, sandbox)

    def run(self, job: Job, destination: Path, cpu: int | None = None) -> Path:  # noqa: ARG002 - a Lab's
        """Run a plan; see `Lab.run`."""
        try:
            needed = [programs.here(name) for name in job.plan.tools]
            with Sandbox(destination.parent) as sandbox:
                suited = self._suited(job.plan)
                unfollowed = [_UNFOLLOWED] if "found" in job.plan and "found" not in suited else []
                job = replace(job, plan=suited)
                ending = self._carry_out(job, sandbox)
                sandbox.console.rename(sandbox.out / "console.log")
                (sandbox.out / "progress").unlink(missing_ok=True)
                about = {"version": self.agent.version, "sha256": self.agent.sha256}
                used = {tool.name: tool.identity() for tool in needed}
                warnings = (*ending.warnings, *unfollowed)
                facts = Facts(self.key(job), self.name, about, used, host(), ending.elapsed_s, warnings)
                return seal_run(sandbox.out, destination, job, facts)
        except OSError as error:
            raise unwritten(error, destination) from error

    def cancel(self) -> None:
        """End every run; see `Lab.cancel`."""
        self._guests.cancel()

    def _suited(self, plan: PlanFile) -> PlanFile:
        """The plan as it is carried out on this machine."""
        suited = native.with_path(native.wider(plan), search_path())
        wanted = needs(suited)
        lacks = self._ability.lacks(wanted)
        if not _TRACES.exists() or (suited.found and self._ability.lacks(FOLLOWING)):
            suited = native.unfollowed(suited)
        here = {name: value for name in wanted.sysctls if (value := machine_wide(name)) is not None}
        suited = native.without(
            suited,
            {name: " ".join(value.split()) for name, value in here.items() if f"sysctl {name}" in lacks},
        )
        cpus = chosen(self._pins, suited, sorted(os.sched_getaffinity(0)))
        suited = native.pinned(suited, cpus)
        return native.by_line(suited, routers(cpus, suited)) if "wire" in lacks else suited

    def _carry_out(self, job: Job, sandbox: Sandbox) -> Ending:
        (sandbox.out / "plan.json").write_text(canonical(job.plan) + "\n", encoding="utf-8")
        command = [str(self.agent.binary), "run", "out"]
        with realtime.alone(lambda: self._guests.cancelled):
            ending = self._guests.run(
                lambda: Guest(self.agent.binary, sandbox, command, limits=self.limits, native=True)
            )
        where = f"{job.kernel.name}, seed {job.plan.seed}"
        if self._guests.cancelled:
            raise CancelledError("stopped", where=where)
        result_of(ending, sandbox, where, native=True)
        return ending


def _distrust(plan: PlanFile) -> UnsupportedError:
    commands = "; ".join(shlex.join(program.command) for program in plan.programs)
    return UnsupportedError(
        f"[[program]]: this would run on this machine as root: {commands}",
        hint="if you trust the scenario: --trust-programs; or run it in virtual time, where programs reach "
        "nothing of this machine: rushhour run … --lab uml",
    )


def _may_work() -> None:
    """Say early what would fail late.

    Raises:
        LabError: a privilege is missing.
    """
    if os.geteuid() != 0:
        raise LabError(
            "the lab netns needs root: it makes network namespaces and their queues (CAP_SYS_ADMIN, "
            "CAP_NET_ADMIN), and reads the kernel's trace (tracefs is root's)",
            hint="as root: sudo rushhour run … --lab netns; or without any privilege: --lab uml",
            machine=True,
        )

"""The `hosts` lab: machines as they are, spoken to through ssh or in namespaces, in real time.

A scenario's nodes that talk become machines of an inventory (`lab.host.inventory`); the path between them is
the one that is there, or has an emulator in its middle (`plan.onto`). What each machine recorded becomes one
record (`lab.host.merge`), its stamps on one clock.

    with HostsLab(inventory) as lab:
        lab.run(job, destination)               # a run of a batch, see `RealTimeLab`
        lab.measure(lowered, destination)       # a plan of one's own: a sealed record as well
"""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from rushhour.errors import RushHourError
from rushhour.files import cache
from rushhour.lab import agent, realtime
from rushhour.lab.base import Job
from rushhour.lab.confine import Sandbox
from rushhour.lab.host.company import Company
from rushhour.lab.host.experiment import Experiments
from rushhour.lab.host.merge import merge_results, merge_tables
from rushhour.lab.host.prepared import Prepared, check_allowed, check_emulator
from rushhour.lab.host.told import base_rtts, description, kernel
from rushhour.lab.manifest import Facts, host, seal_run
from rushhour.plan.lower import Lowered
from rushhour.plan.onto import Onto, check_possible, onto, talkers
from rushhour.record.document import read
from rushhour.record.record import RecordWriter
from rushhour.record.result_file import ResultFile
from rushhour.record.seal import unwritten, write_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from types import TracebackType

    from rushhour.lab.base import Tested
    from rushhour.lab.host.inventory import Inventory
    from rushhour.lab.host.session import Session

HALVES = ".halves"


class HostsLab:
    """Runs plans on machines; see `rushhour.lab.base.RealTimeLab`. A context manager: it keeps sessions open.

    Args:
        inventory: Which machine takes which node's part.
        ssh_config: A configuration for the client instead of the user's.
        sessions: Sessions that are open already, by name of the inventory; they stay open.
    """

    name = "hosts"

    def __init__(
        self,
        inventory: Inventory,
        *,
        ssh_config: str | Path | None = None,
        sessions: Mapping[str, Session] | None = None,
    ) -> None:
        self.inventory = inventory
        self.agent = agent.find()
        self.company = Company(inventory, ssh_config=ssh_config, sessions=sessions)
        self._experiments = Experiments(self.company)
        self._prepared = Prepared(self.company)
        self._forwards: set[bool] = set()

    def __enter__(self) -> Self:
        """Use the lab; sessions open when they are first needed."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Put back what was prepared, and end the sessions."""
        self.close()

    def close(self) -> None:
        """Put back what was prepared, and end the sessions."""
        try:
            self._prepared.restore()
        finally:
            self.company.close()

    def tested(self) -> Tested:
        """The kernels of the machines, as one; see `RealTimeLab.tested`."""
        sessions = self.company.sessions()
        return kernel({name: session.hello for name, session in sessions.items()})

    def key(self, job: Job) -> str:
        """The hash of what was asked, of whom, and of the moment; see `realtime.key`."""
        places = sorted(f"{name}={host.at}" for name, host in self.inventory.host.items())
        return realtime.key(self.name, job, self.agent.sha256, *places)

    def refusal(self, job: Job) -> RushHourError | None:
        """Why this run cannot be carried out there; see `RealTimeLab.refusal`."""
        try:
            self.put(Lowered(job.plan, job.context))
        except RushHourError as error:
            return error
        return None

    def warm_up(self, job: Job) -> None:
        """Carry out a run's first moments and keep nothing; see `RealTimeLab.warm_up`."""
        made = self.put(Lowered(job.plan, job.context))
        self._prepared.prepare(made)
        with Sandbox(cache.folder("run-in")) as sandbox:
            self._experiments.carry_out(realtime.run_in(made.plan), sandbox.out)

    def _check_emulator(self, made: Onto) -> None:
        ipv6 = any(":" in flow.src for flow in made.plan.flows)
        if (found := self.inventory.emulator) is None or ipv6 in self._forwards:
            return
        name, host = found
        check_emulator(name, host, self.company.sessions([name])[name], ipv6=ipv6)
        self._forwards.add(ipv6)

    def put(self, lowered: Lowered) -> Onto:
        """A plan on these machines, with the addresses and devices that were found.

        Raises:
            PlanError: machines cannot do what it asks for.
            UsageError: a node has no machine.
            HostError: a machine cannot be reached, or not from another.
        """
        check_possible(lowered.plan)
        nodes = talkers(lowered.plan)
        named = self.inventory.seats(nodes)
        pairs = [(named[flow.from_], named[flow.to]) for flow in lowered.plan.flows]
        seats = self.company.seats(pair for pair in pairs if pair[0] != pair[1])
        made = onto(lowered, {node: seats[named[node]] for node in nodes}, self.company.emulator)
        check_allowed(self.inventory.host, made)
        self._check_emulator(made)
        return made

    def run(self, job: Job, destination: Path, cpu: int | None = None) -> Path:  # noqa: ARG002 - a Lab's
        """Run a plan; see `Lab.run`."""
        begun = time.monotonic()
        made = self.put(Lowered(job.plan, job.context))
        self._prepared.prepare(made)
        try:
            with RecordWriter(destination) as writer:
                halves = writer.folder / HALVES
                halves.mkdir()
                parts, clocks = self._experiments.carry_out(made.plan, halves)
                doubts = merge_tables(made.plan, parts, writer.raw)
                shutil.rmtree(halves)
                result = read(ResultFile, merge_results(made.plan, parts), "the result")
                write_json(writer.folder / "plan.json", made.plan)
                write_json(writer.folder / "result.json", result)
                hosts = description(self.company, self._prepared, parts, clocks)
                context = base_rtts(made, result)
                told = replace(
                    job, plan=made.plan, context=context, labels=dict(job.labels) | {"hosts": hosts}
                )
                about = {"version": self.agent.version, "sha256": self.agent.sha256}
                warnings = (*made.left_out, *doubts, *self._doubts())
                facts = Facts(self.key(job), self.name, about, {}, host(), time.monotonic() - begun, warnings)
                return seal_run(writer.folder, destination, told, facts)
        except OSError as error:
            raise unwritten(error, destination) from error

    def measure(self, lowered: Lowered, destination: Path, name: str = "measurement") -> Path:
        """Carry out a plan whose nodes have the inventory's names, and return the record's folder.

        Raises:
            LabError: it could not be carried out; nothing is left behind.
            PlanError: machines cannot do what it asks for.
        """
        labels: dict[str, Any] = {
            "scenario": {"name": name, "title": name, "sha256": "", "resolved": {}},
            "cell": {"index": 0, "factors": {}},
            "repetition": 0,
        }
        job = Job(lowered.plan, lowered.context, self.tested(), labels, realtime.moment())
        return self.run(job, destination)

    def cancel(self) -> None:
        """Stop what goes on, and refuse more; see `Lab.cancel`."""
        self._experiments.stopped.set()

    def _doubts(self) -> list[str]:
        sessions = self.company.sessions()
        releases = {session.hello["kernel"]["release"] for session in sessions.values()}
        told = [f"{name}: {text}" for name, session in sessions.items() for text in session.warnings]
        if len(releases) > 1:
            told.append(f"the machines run different kernels: {', '.join(sorted(releases))}")
        return told

"""A diagnosis' experiments on a path inside a virtual kernel: exact causes, the same in every run."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import cpus
from known_runs import record_of

from rushhour.diagnosis import measure
from rushhour.diagnosis.procedure import Procedure
from rushhour.lab import kernel as kernels
from rushhour.lab.base import Job
from rushhour.lab.uml import UmlLab
from rushhour.spec import Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rushhour.diagnosis.measure import Phase
    from rushhour.diagnosis.measured import Measured
    from rushhour.record.record import Record

HEALTHY: Mapping[str, Any] = {"rate": "100mbit", "delay": "10ms"}


class VirtualPath:
    """a - left - right - b; what is between the routers, and sysctls of both ends or of one."""

    def __init__(
        self,
        folder: Path,
        *,
        forward: Mapping[str, Any] | None = None,
        reverse: Mapping[str, Any] | None = None,
        node: Mapping[str, Mapping[str, Any]] | None = None,
        flow: Mapping[str, Any] | None = None,
        access: Mapping[str, Any] | None = None,
    ) -> None:
        self.folder, self.number = folder, count()
        self.forward = {**HEALTHY, **(forward or {})}
        self.reverse = {**HEALTHY, **(reverse or {})}
        self.node, self.flow, self.access = node or {}, flow or {}, access or {}
        self.lab = UmlLab()

    def run(self, phase: Phase) -> Record:
        document = phase.scenario.canonical()
        mtu = document["link"][0]["mtu"]
        near = {"mtu": mtu, "jitter": "0us"}
        document["node"] = [
            {"name": name, "role": "host", "sysctl": dict(self.node.get(name, {}))} for name in ("a", "b")
        ]
        document["link"] = [
            {"between": ["a", "left"], **near},
            {"between": ["left", "right"], "mtu": mtu, "forward": self.forward, "reverse": self.reverse},
            {"between": ["right", "b"], **near, "forward": dict(self.access)},
        ]
        if phase.kind in (measure.SINGLE, measure.SEVERAL, measure.BOTH):
            document["flow"] = [
                flow | (dict(self.flow) if flow.get("kind", "tcp") == "tcp" else {})
                for flow in document["flow"]
            ]
        lowered = replace(phase, scenario=Scenario.model_validate(document)).lowered()
        job = Job(lowered.plan, lowered.context, kernels.find("debian-6.12"), {})
        place = self.folder / f"{next(self.number):02}-{phase.name}"
        return record_of(self.lab, job, place, cpus.own())

    def measured(self, *, quick: bool = True) -> dict[str, Measured]:
        """All experiments, as a live diagnosis carries them out."""
        return Procedure(self, measure.Known(quick)).carry_out()

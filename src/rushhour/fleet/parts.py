"""A job as a message says it: the controller takes it apart, a worker puts it together again.

The kernel's image, the agent and the programs are named by their hashes; a worker has them as `blobs`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushhour.fleet import blobs
from rushhour.lab import agent, uml
from rushhour.lab.base import Job
from rushhour.lab.confine import Limits
from rushhour.lab.kernel import Kernel
from rushhour.lab.tools import Tool
from rushhour.record.context_file import ContextFile
from rushhour.record.document import read
from rushhour.record.plan_file import PlanFile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rushhour.lab.uml import UmlLab

# What a record keeps of a kernel does not say where its image is; a worker has it by its hash.
_NOWHERE = Path("config")


@dataclass
class Needs:
    """What jobs need beside their plans: the kernel, the programs; equal for many jobs."""

    kernels: dict[str, dict[str, Any]] = field(default_factory=dict)
    tools: dict[str, dict[str, Any]] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"kernels": self.kernels, "tools": self.tools}


def files_of(lab: UmlLab, job: Job) -> dict[str, Path]:
    """The files that a job needs, by their SHA-256.

    Raises:
        LabError: a program is missing, or the kernel is not one that this lab starts.
    """
    kernel = uml.built(job.kernel)
    found = {str(kernel.identity["image_sha256"]): kernel.image, lab.agent.sha256: lab.agent.binary}
    for tool in lab.programs(job):
        found |= {tool.sums[place]: path for place, path in tool.files.items()}
    return found


def taken_apart(lab: UmlLab, job: Job, key: str, needs: Needs) -> dict[str, Any]:
    """A job as a message has it; what it shares with others goes into `needs`."""
    kernel = uml.built(job.kernel)
    image = str(kernel.identity["image_sha256"])
    if needs.kernels.get(image, {}).get("identity") != kernel.identity:  # told, and looked up, once
        needs.kernels[image] = {
            "name": kernel.name,
            "release": kernel.release,
            "identity": kernel.identity,
            "source": str(kernel.origin().get("source", kernel.name)),
        }
    programs = lab.programs(job)
    for tool in programs:
        needs.tools[tool.sha256] = {
            "name": tool.name,
            "version": tool.version,
            "sums": dict(tool.sums),
            "environment": tool.environment,
            **({"links": dict(tool.links)} if tool.links else {}),
        }
    return {
        "key": key,
        "image": image,
        "tools": [tool.sha256 for tool in programs],
        "plan": job.plan,
        "context": job.context,
        "labels": dict(job.labels),
    }


def about_lab(lab: UmlLab) -> dict[str, Any]:
    """The lab as a message has it: its agent, and when a guest is ended."""
    limits = lab.limits
    return {
        "agent": lab.agent.sha256,
        "limits": [limits.timeout_s, limits.stall_s, limits.console_bytes],
    }


def lab_of(about: Mapping[str, Any], needs: Mapping[str, Any]) -> UmlLab:
    """The lab of a message, on this machine.

    Raises:
        LabError: this is no machine for it.
    """
    known = {digest: _tool(digest, tool) for digest, tool in needs["tools"].items()}
    limits = Limits(*about["limits"])
    given = agent.of(blobs.place(about["agent"]))
    # Its records are sent away and removed as soon as they are sealed.
    return uml.UmlLab(limits, given=given, find=known.__getitem__, durable=False)


def put_together(one: Mapping[str, Any], needs: Mapping[str, Any]) -> Job:
    """The job of a message.

    Raises:
        RecordError: plan or context make no sense.
    """
    about = needs["kernels"][one["image"]]
    kernel = Kernel(
        about["name"],
        blobs.place(one["image"]),
        about["release"],
        about["identity"],
        _NOWHERE,
        source=about["source"],
    )
    plan, context = read(PlanFile, one["plan"], "plan"), read(ContextFile, one["context"], "context")
    # What two scenarios call by one name is told apart by its hash.
    places = {needs["tools"][digest]["name"]: digest for digest in one["tools"]}
    return Job(plan, context, kernel, one["labels"], places=places)


def digests(one: Mapping[str, Any], about: Mapping[str, Any], needs: Mapping[str, Any]) -> Sequence[str]:
    """The files that a job of a message needs."""
    tools = (needs["tools"][digest]["sums"].values() for digest in one["tools"])
    return [one["image"], about["agent"], *(digest for sums in tools for digest in sums)]


def _tool(digest: str, about: Mapping[str, Any]) -> Tool:
    sums = dict(about["sums"])
    files = {place: blobs.place(one) for place, one in sums.items()}
    environment, links = tuple(about["environment"]), about.get("links", {})
    return Tool(about["name"], about["version"], digest, files, sums, environment, links)

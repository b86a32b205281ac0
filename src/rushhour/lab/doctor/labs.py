"""What each lab lacks here, and the command that mends it."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import RushHourError
from rushhour.lab import packages
from rushhour.lab.doctor import calls
from rushhour.lab.doctor.check import Check, State

if TYPE_CHECKING:
    from collections.abc import Mapping

_TRACING = Path("/sys/kernel/tracing")
# What most scenarios ask of a kernel: links, shapers, queues, impairments, algorithms.
_QDISCS = frozenset({"tbf", "bfifo", "fq_codel", "netem"})
_DEVICES = frozenset({"veth"})
_ALGORITHMS = frozenset({"cubic", "reno", "bbr"})


def uml(checks: Mapping[str, Check]) -> Check:
    """The lab of virtual kernels: ready where one boots, whatever else is missing."""
    kernels, agent = checks["kernels"], checks["agent"]
    if kernels.state in {State.OK, State.WARN}:
        less = [name for name in ("confine", "memory", "seccomp") if checks[name].state is not State.OK]
        says = f"ready; see {', '.join(less)} above" if less else "ready"
        return Check("uml", State.WARN if less else State.OK, says)
    if platform.machine() != "x86_64":
        says = f"virtual kernels run on x86-64 only, and this is {platform.machine()}"
        return Check("uml", State.BAD, says, (), {"lacks": ["x86-64"]})
    blamed = [one for one in (checks["python"], agent, checks["files"], kernels) if one.state is State.BAD]
    lacks = [one.name for one in blamed] or ["kernels"]
    mend = dict.fromkeys(command for one in blamed for command in one.mend)
    if "kernels" in lacks and not kernels.facts.get("kernels"):
        # A kernel has to be built first, and for that its tools have to be there.
        build = [packages.advice(*lacking)] if (lacking := checks["tools"].facts.get("lacking")) else []
        mend = dict.fromkeys([*build, *mend])
    says = f"not ready; lacks {', '.join(lacks)}"
    return Check("uml", State.BAD, says, tuple(mend), {"lacks": lacks})


def netns(checks: Mapping[str, Check]) -> Check:
    """The lab on this machine's kernel: root, namespaces, the kernel's own parts."""
    if os.geteuid() != 0:
        command = f"sudo {_program()} run SCENARIO --lab netns"
        mend: tuple[str, ...] = (command if shutil.which("sudo") else f"as root: {command[5:]}",)
        return Check("netns", State.BAD, "not ready: it takes root", mend, {"lacks": ["root"]})
    if lacks := _missing(checks):
        mend = tuple(command for name in lacks for command in checks[name].mend)
        return Check("netns", State.BAD, f"not ready; lacks {', '.join(lacks)}", mend, {"lacks": lacks})
    flags = calls.NEWNET | calls.NEWPID | calls.NEWIPC | calls.NEWNS
    if why := calls.refusal(lambda: calls.unshare(flags)):
        says = f"not ready: root may make no namespaces here ({why}); a container needs --privileged"
        return Check("netns", State.BAD, says, (), {"lacks": ["namespaces"]})
    try:
        lacks = _kernel_lacks()
    except RushHourError as error:
        return Check("netns", State.BAD, f"not ready: {error.message}", (), {"lacks": ["namespaces"]})
    words = [f"the kernel lacks {', '.join(lacks)}: scenarios with it are skipped"] if lacks else []
    mend = ()
    if not (_TRACING / "events").is_dir():
        words.append(f"{_TRACING} is not mounted: no events of single packets")
        mend = (f"mount -t tracefs tracefs {_TRACING}",)
    says = "; ".join(["ready", *words])
    return Check("netns", State.WARN if words else State.OK, says, mend, {"lacks": lacks})


def hosts(checks: Mapping[str, Check]) -> Check:
    """The lab between machines: an OpenSSH client here, an agent to send."""
    lacks = [] if shutil.which("ssh") else ["ssh"]
    mend = [packages.advice("ssh")] if lacks else []
    for name in _missing(checks):
        lacks.append(name)
        mend += checks[name].mend
    if lacks:
        says = f"not ready; lacks {', '.join(lacks)}"
        return Check("hosts", State.BAD, says, tuple(mend), {"lacks": lacks})
    says = "ready; `rushhour hosts check` looks at the machines of an inventory"
    return Check("hosts", State.OK, says, (), {"lacks": []})


def _missing(checks: Mapping[str, Check]) -> list[str]:
    """What no lab goes without."""
    return [name for name in ("python", "agent") if checks[name].state not in {State.OK, State.WARN}]


def _kernel_lacks() -> list[str]:
    """What this kernel lacks of what most scenarios ask for, by kind and word."""
    from rushhour.lab import agent  # noqa: PLC0415 - what is broken is said by the check of the agent
    from rushhour.lab.ability import Ability  # noqa: PLC0415
    from rushhour.plan.needs import Needs  # noqa: PLC0415

    usual = Needs(qdiscs=_QDISCS, devices=_DEVICES, congestion_controls=_ALGORITHMS)
    return sorted(Ability(agent.find().binary).lacks(usual))


def _program() -> str:
    """How this program is started, by its path: sudo does not look into a folder of the user's."""
    started = Path(sys.argv[0])
    return str(started.resolve()) if started.name == "rushhour" else f"{sys.executable} -m rushhour"

"""What this machine's kernel can do, asked before anything runs, and how to get what it lacks.

The agent tries each thing once in a namespace that ends with it; its configuration says why it is not there.
"""

from __future__ import annotations

import json
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushhour.errors import LabError, UnsupportedError
from rushhour.lab import packages
from rushhour.lab.realtime import configuration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.plan.needs import Needs

_TIMEOUT_S = 30
_SYSCTLS = Path("/proc/sys")


class Ability:
    """The abilities of this machine's kernel; what was asked once is not asked again."""

    def __init__(self, agent: Path) -> None:
        self._agent = agent
        self._known: dict[str, str | None] = {}

    def lacks(self, needs: Needs) -> dict[str, str]:
        """What of it is lacking, and why: `{"qdisc netem": "this kernel has no qdisc netem (CONFIG_…)"}`.

        The wire is lacking under that name where the kernel cannot hold packets back itself.

        Raises:
            LabError: the agent could not try, as without root.
        """
        items = [*needs.items(), *(["wire"] if needs.wire else [])]
        if not self._known.keys() >= set(items):
            answer = self._ask(needs)
            for item in items:
                found = answer.get(item)
                self._known[item] = None if found is None else str(found["message"])
        return {item: reason for item in items if (reason := self._known[item]) is not None}

    def _ask(self, needs: Needs) -> Mapping[str, Any]:
        request = json.dumps(needs.document())
        try:
            done = subprocess.run(
                [self._agent, "able"],
                input=request,
                capture_output=True,
                text=True,
                timeout=_TIMEOUT_S,
                check=False,
            )
            if done.returncode:
                raise LabError(
                    f"what this kernel can do could not be tested: {done.stderr.strip()}",
                    hint="it takes root: network namespaces are made to try it in",
                    machine=True,
                )
            lacks: Mapping[str, Any] = json.loads(done.stdout)["lacks"]
        except (OSError, ValueError, KeyError, subprocess.TimeoutExpired) as error:
            raise LabError(
                f"the agent did not say what this kernel can do: {error}",
                hint="build it again with `make agent`",
            ) from error
        return lacks


def refusal(lacks: Mapping[str, str]) -> UnsupportedError | None:
    """The error of a run on a kernel that lacks this; None where nothing is lacking."""
    if not lacks:
        return None
    reasons = [_reason(item, message) for item, message in lacks.items()]
    options = [option for reason in reasons for option in re.findall(r"CONFIG_\w+", reason)]
    hints = [provider(option) for option in dict.fromkeys(options)]
    if any(item.startswith("sysctl ") for item in lacks):
        hints.append("the lab never changes settings of the whole machine: set them before, for all of it")
    hints.append("or run it in the lab uml, on a kernel of your choice")
    return UnsupportedError("; ".join(reasons), hint="; ".join(hints))


def provider(option: str) -> str:
    """How to get what a configuration option of the kernel provides."""
    state = _configured().get(option)
    module = _MODULES.get(option) or option.removeprefix("CONFIG_NET_").removeprefix("CONFIG_").lower()
    if state == "m":
        install = packages.command("modules")
        missing = f"; where it is missing: {install}" if install else ""
        return f"{option} is a module here and could not be loaded: modprobe {module}{missing}"
    if _configured():
        return f"{option} is not in this kernel's configuration: boot one that has it ({module})"
    return f"{option} provides it: modprobe {module}"


def machine_wide(name: str) -> str | None:
    """The value of a setting of the whole machine; None where this kernel has no such setting."""
    path = _SYSCTLS / name.replace(".", "/")
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return None


def _reason(item: str, message: str) -> str:
    kind, _, word = item.partition(" ")
    if item.startswith("congestion control "):
        name = item.removeprefix("congestion control ")
        return f"{message} (CONFIG_TCP_CONG_{name.upper().replace('-', '_')})"
    if kind == "sysctl":
        if machine_wide(word) is None:
            return f"this kernel has no sysctl {word}"
        return f"{word} is a setting of the whole machine, not of a network namespace"
    return message


_MODULES = {"CONFIG_BONDING": "bonding", "CONFIG_NET_SCH_INGRESS": "sch_ingress"}


@cache
def _configured() -> Mapping[str, str]:
    text = (configuration() or b"").decode(errors="replace")
    return dict(re.findall(r"^(CONFIG_\w+)=([ym])$", text, re.MULTILINE))

"""What this machine can do, what it cannot, and the commands that mend it.

It has to work where nothing else does: it imports nothing but the standard library, what it looks at it
imports when it looks, and a look that fails is an answer.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rushhour.lab.doctor import labs, machine, software
from rushhour.lab.doctor.check import FORMAT, Check, Report, State
from rushhour.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FORMAT", "LABS", "Check", "Report", "State", "examine"]

LABS = ("uml", "netns", "hosts")


def examine(tell: Callable[[str], None] = lambda _text: None) -> Report:
    """Look at everything; nothing on the machine is changed, and nothing is raised.

    Args:
        tell: told what is being looked at.
    """
    # System calls first: they are tried in copies of this process, which has one thread only now.
    checks: dict[str, Check] = {}
    for name, look in (
        ("cpu", machine.cpu), ("memory", machine.memory), ("files", machine.files),
        ("confine", machine.apart), ("seccomp", machine.seccomp), ("python", software.python),
        ("agent", software.agent), ("tools", software.tools),
    ):  # fmt: skip
        tell(name)
        checks[name] = _looked(name, look)
    tell("kernels")
    checks["kernels"] = _looked("kernels", partial(software.kernels, checks))
    found = [
        _looked(name, partial(look, checks))
        for name, look in (("uml", labs.uml), ("netns", labs.netns), ("hosts", labs.hosts))
    ]
    return Report(_title(), __version__, tuple(checks.values()), tuple(found))


def _looked(name: str, look: Callable[[], Check]) -> Check:
    try:
        return look()
    except Exception as error:  # noqa: BLE001 - whatever it is, the other answers still count
        said = f"could not be found out: {type(error).__name__}: {error}"
        return Check(name, State.UNKNOWN, said)


def _title() -> str:
    try:
        return machine.system()
    except Exception as error:  # noqa: BLE001 - as above
        return f"a system that does not say its name ({error})"

"""The laboratory's kernel configuration, applied to a tree.

`allnoconfig` (every option that can be off is off) with the fragment `um.config`, which is what a laboratory
needs. What a kernel version does not know is dropped by Kconfig; the difference is kept in the identity.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from rushhour.errors import BuildError, KernelError

if TYPE_CHECKING:
    from pathlib import Path

HZ = 1000
# Without these there is no laboratory.
REQUIRED = (
    *(
        "UML_TIME_TRAVEL_SUPPORT",
        "HIGH_RES_TIMERS",
        "HOSTFS",
        "STATIC_LINK",
        "NULL_CHAN",
        "BINFMT_ELF",
        "PROC_FS",
    ),
    *("NET_NS", "INET", "VETH", "NET_SCHED", "NET_SCH_TBF", "NET_SCH_FQ", "NET_CLS_BPF", "BPF_SYSCALL"),
    *("FTRACE", "INET_TCP_DIAG", "TCP_CONG_CUBIC"),
)


def _data(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text()


@cache
def fragment_sha256() -> str:
    """Hash of everything of ours that decides a configuration."""
    texts = [_data(name) for name in ("um.config", "um-before-5.15.config", "hz.Kconfig")]
    return hashlib.sha256("".join(texts).encode()).hexdigest()


def fragment(tree: Path) -> str:
    """The options to switch on in this tree."""
    older = _data("um-before-5.15.config") if version(tree) < (5, 15) else ""
    return _data("um.config") + older


def version(tree: Path) -> tuple[int, int]:
    """Version and patch level, as the tree's Makefile has them."""
    found = version_in((tree / "Makefile").read_text(errors="replace"))
    if not found:
        raise KernelError(
            "its Makefile names no VERSION and PATCHLEVEL; this is not a kernel source", where=str(tree)
        )
    return found[:2]


def version_in(makefile: str) -> tuple[int, int, int] | None:
    """Version, patch level and sublevel in the text of a tree's top Makefile; nothing if it has none."""
    numbers = [
        re.search(rf"^{name} *= *(\d+)", makefile, re.MULTILINE)
        for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL")
    ]
    if not numbers[0] or not numbers[1]:
        return None
    return int(numbers[0][1]), int(numbers[1][1]), int(numbers[2][1]) if numbers[2] else 0


def asked() -> list[str]:
    """The options that every kernel is asked for, as `NAME` without `CONFIG_`, in the fragment's order."""
    return re.findall(r"^CONFIG_(\w+)=y$", _data("um.config"), re.MULTILINE)


def overlay(tree: Path) -> str:
    """The tree's top Kconfig with the timer frequency defined before anything else.

    HZ has no prompt on this architecture and a default of 100; Kconfig takes the first default that it meets.
    """
    top = (tree / "Kconfig").read_text()
    before, source, after = top.partition('\nsource "')
    if not source:
        raise KernelError("its Kconfig includes nothing; this is not a kernel source", where=str(tree))
    return f"{before}\n{_data('hz.Kconfig')}{source}{after}"


def missing(config: str) -> list[str]:
    """What was asked and did not come, given the text of the `.config` that Kconfig wrote."""
    have = set(re.findall(r"^CONFIG_(\w+)=y$", config, re.MULTILINE))
    return [option for option in asked() if option not in have]


def check(config: str, where: str) -> list[str]:
    """What this kernel lacks; refuses one that lacks what no laboratory can do without.

    Raises:
        BuildError: a required option or the timer frequency did not come.
    """
    lacking = missing(config)
    fatal = [option for option in lacking if option in REQUIRED]
    if f"\nCONFIG_HZ={HZ}\n" not in config:
        fatal.append(f"HZ={HZ}")
    if fatal:
        raise BuildError(
            f"this kernel cannot be a laboratory kernel; it lacks {', '.join(fatal)}",
            where=where,
            hint="kernels from 5.10 on work; STATIC_LINK needs the static C library",
        )
    return lacking

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
from rushhour.lab.kernel.given import FOLDER, switches
from rushhour.lab.kernel.sanitizers import options_of

if TYPE_CHECKING:
    from collections.abc import Sequence
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


# What these begin with and is none, or what depends on things that are not here.
_NOT_ASKED = (
    "TCP_CONG_ADVANCED",
    *(f"NET_SCH_{name}" for name in ("ATM", "BPF", "DEFAULT", "FIFO", "MQPRIO_LIB")),
)


def _data(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text()


@cache
def fragment_sha256() -> str:
    """Hash of everything of ours that decides a configuration."""
    texts = [_data(name) for name in ("um.config", "um-before-5.15.config", "hz.Kconfig")]
    return hashlib.sha256("".join(texts).encode()).hexdigest()


def fragment(tree: Path, sanitizers: Sequence[str] = ()) -> str:
    """The options to switch on in this tree."""
    older = _data("um-before-5.15.config") if version(tree) < (5, 15) else ""
    mine = "".join(f"CONFIG_{name}=y\n" for name in own(tree))
    return _data("um.config") + older + options_of(sanitizers) + mine


def own(tree: Path) -> list[str]:
    """Congestion controls and queue disciplines that only this tree has, and what was given to it.

    By their options: `TCP_CONG_…` and `NET_SCH_…` that no released kernel has, and all of `net/with`.
    """
    known = {*asked(), *_NOT_ASKED}
    found = []
    for folder, start in (("net/ipv4", "TCP_CONG_"), ("net/sched", "NET_SCH_"), (FOLDER, "")):
        paths = [tree / folder / "Kconfig"] if start else sorted((tree / folder).glob("*/**/Kconfig*"))
        for path in (path for path in paths if path.is_file()):
            options = switches(path.read_text(encoding="utf-8", errors="replace"))
            found += [name for name in options if name.startswith(start) and name not in known]
    return list(dict.fromkeys(found))


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
    given = f'\nsource "{FOLDER}/Kconfig"\n' if (tree / FOLDER / "Kconfig").is_file() else ""
    return f"{before}\n{_data('hz.Kconfig')}{source}{after}{given}"


def missing(config: str, more: Sequence[str] = ()) -> list[str]:
    """What was asked, and `more`, and did not come, given the text of the `.config` that Kconfig wrote."""
    have = set(re.findall(r"^CONFIG_(\w+)=y$", config, re.MULTILINE))
    return [option for option in (*asked(), *more) if option not in have]


def check(config: str, where: str, more: Sequence[str] = ()) -> list[str]:
    """What this kernel lacks of what every kernel is asked for, and of `more`.

    Refuses one that lacks what no laboratory can do without.

    Raises:
        BuildError: a required option or the timer frequency did not come.
    """
    lacking = missing(config, more)
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

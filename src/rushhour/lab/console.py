"""What a guest's console tells: the last words, and what an end means."""

from __future__ import annotations

import errno
import os
import re
from typing import TYPE_CHECKING

from rushhour.errors import GuestError, LabError

if TYPE_CHECKING:
    from pathlib import Path

    from rushhour.lab.confine import Ending

LINES = 12
# What a kernel that dies before it has a console writes at once has its level before the stamp, too.
_STAMP = re.compile(r"^(?:<\d>)?\[ *\d+\.\d+\] ")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# The stack dump of a panic is of use to nobody here.
_DUMP = re.compile(r"^\s+\S+\s+\(\s*\d+\): |^\s*\[?<[0-9a-f]+>|^\s+[0-9a-f]{8} [0-9a-f]{8} |^\s*\(\s*\d+\): ")
_NO_MEMORY = ("Out of memory", "Kernel mode signal 7", "Bus error")
_SIGBUS = 7
# How User-Mode Linux complains of its host: a call of the host's that failed, memory that it was not given.
_OF_THE_HOST = re.compile(
    r"ptrace|PTRACE|SECCOMP|seccomp filter"
    r"|(?:mmap|mapping|clone|fork|mprotect|memfd)\b.*(?:failed|errno)"
    r"|max_map_count|Too few physical memory|[Cc]ouldn't allocate|must be not mounted noexec"
)
# Ends that are the kernel's own doing, and the signals by which its process says so (SIGILL, SIGTRAP,
# SIGABRT, SIGFPE, SIGSEGV): nobody else sends them.
_OWN_ENDS = ("panic", "timeout", "stall", "flood")
_OWN_SIGNALS = (4, 5, 6, 8, 11)
_HANGS = ("timeout", "stall")


# The end: what it means, and what to do next.
_MEANINGS = {
    "memory": (
        "the virtual kernel ran out of memory",
        "fewer flows, smaller socket buffers or queues; or is the machine's memory full?",
    ),
    "panic": (
        "the virtual kernel panicked",
        "if the kernel is yours, this is its bug",
    ),
    "start": (
        "the virtual kernel did not start",
        "does another kernel start on this machine? rushhour doctor tries all that are here",
    ),
    "slow": (
        "the virtual kernel had not started after {ending.elapsed_s:.1f} s of wall-clock time",
        "is this machine very busy? rushhour doctor tries all kernels that are here",
    ),
    "host": (
        "the virtual kernel does not start on this machine: what it needs of it was refused",
        "rushhour doctor says what this machine lacks",
    ),
    "timeout": (
        "the run was not done after {ending.elapsed_s:.0f} s of wall-clock time",
        "shorten the scenario, or allow more with RUSHHOUR_TIMEOUT (seconds)",
    ),
    "stall": (
        "virtual time stood still{at}: the guest spins, or waits for nothing",
        "if the machine is very busy, allow more with RUSHHOUR_STALL (seconds)",
    ),
    "flood": ("the virtual kernel flooded its console", "see what it repeats"),
    "done": ("the guest switched off without a result", "it was killed inside, or is no agent: `make agent`"),
    "killed": (
        "the virtual kernel ended early (exit code {ending.exit}, signal {ending.signal})",
        "was it killed? run the same command again",
    ),
}


# The same of an agent that ran without a virtual kernel.
_NATIVE = {
    "memory": ("the agent ran out of memory", "fewer flows, smaller socket buffers or queues"),
    "timeout": _MEANINGS["timeout"],
    "stall": (
        "the agent stood still",
        "if the machine is very busy, allow more with RUSHHOUR_STALL (seconds)",
    ),
    "flood": ("the agent flooded its log", "see what it repeats"),
    "done": ("the agent left without a result", "it is no agent, or of another version: `make agent`"),
    "killed": (
        "the agent ended early (exit code {ending.exit}, signal {ending.signal})",
        "was it killed? run the same command again",
    ),
}


# Less than this left is nothing left: the guest writes its tables in blocks of some hundred kB.
_LEAST_ROOM = 1 << 18
_ROOM = "make room there, or choose another place with --out, and give the same command again"


def check_room(folder: Path) -> None:
    """Tell a full disk from other ends: the guest cannot, for it has nowhere to write it to.

    Raises:
        LabError: the file system that the guest writes to is full; its cause is the OSError.
    """
    try:
        there = os.statvfs(folder)
    except OSError:
        return
    if there.f_bavail * there.f_frsize < _LEAST_ROOM or (there.f_files and not there.f_favail):
        cause = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
        raise LabError("there was no room left for the run's files", where=str(folder), hint=_ROOM) from cause


def last_lines(path: Path, count: int = LINES) -> list[str]:
    """The last lines that say something, without time stamps and control characters."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 65536))
            text = file.read().decode(errors="replace")
    except OSError:
        return []
    lines = (_CONTROL.sub("", _STAMP.sub("", line)).rstrip() for line in text.splitlines())
    return [line for line in lines if line and not _DUMP.match(line)][-count:]


def explain(
    ending: Ending,
    console: Path,
    where: str,
    *,
    native: bool = False,
    begun: bool = True,
    reached_s: float | None = None,
) -> LabError:
    """The error that an end other than the orderly one deserves, with the last console lines.

    Args:
        ending: How the process ended.
        console: What it said.
        where: The run.
        native: It was the agent alone, without a virtual kernel.
        begun: The agent was at work. A kernel that ends before may be at fault, or the machine.
        reached_s: Virtual time since the start, as the agent gave its last sign of life.
    """
    lines = last_lines(console)
    said = "\n".join(f"    {line}" for line in lines) or "    (nothing)"
    no_memory = ending.signal == _SIGBUS or any(mark in line for line in lines for mark in _NO_MEMORY)
    own = ending.reason in _OWN_ENDS or ending.signal in _OWN_SIGNALS
    reason = "memory" if no_memory else ending.reason
    if own and not native and not no_memory and not begun:
        refused = any(_OF_THE_HOST.search(line) for line in lines if not line.endswith("OK"))
        late = "slow" if ending.reason in _HANGS else "start"
        reason = "host" if refused else late
    message, hint = _NATIVE.get(reason, _NATIVE["killed"]) if native else _MEANINGS[reason]
    at = "" if reached_s is None else f" {reached_s:g} s after the start"
    message = message.format(ending=ending, at=at)
    said = f"{message}; its last console lines:\n{said}"
    if native or not own or no_memory or reason == "host":
        return LabError(said, where=where, hint=hint, machine=no_memory or not native)
    error = GuestError(said, where=where, hint=hint)
    error.hangs = ending.reason in _HANGS
    return error

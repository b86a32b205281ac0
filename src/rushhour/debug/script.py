"""Where to stop: from what is asked for to gdb's commands."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from rushhour.debug.again import one_run
from rushhour.errors import UsageError
from rushhour.quantities.units import Duration, UnitError
from rushhour.verdict.divergence import first_divergence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from rushhour.debug.again import Again

    Tell = Callable[[str], None]

_FUNCTION = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*|[\w./-]+\.[ch]:\d+")
_NEVER = 2**64 - 1
# Of `lab/kernel/host/clock.c`, which is compiled without symbols.
_STOP_AT = "*(unsigned long long *)&rushhour_stop_at"


@dataclass(frozen=True)
class Asked:
    """Where to stop, and how.

    Attributes:
        at: At this instant of the experiment, before anything happens at it: `1.5s`.
        functions: At each call of these functions (or `FILE:LINE`).
        last: At the last call of any of these functions before the instant; of a divergence also at it.
        flow: Of the functions only calls for this flow: its name, or a port.
        divergence: Just before the first event that differs from this run's.
        complaint: Where the kernel complains; of a set, the first run that failed.
        script: Further commands of gdb, in their order.
        batch: End after them, instead of taking commands from the terminal.
        listen: Serve another debugger at this port instead.
        build: Build the symbols if there are none.
    """

    at: str | None = None
    functions: Sequence[str] = ()
    last: Sequence[str] = ()
    flow: str | None = None
    divergence: Path | None = None
    complaint: bool = False
    script: Sequence[str] = ()
    batch: bool = False
    listen: int | None = None
    build: bool = False


def instant(one: Again, asked: Asked, tell: Tell) -> int | None:
    """When to stop, in ns since the kernel's start.

    Raises:
        UsageError: it is no instant of the run, or what is asked for contradicts itself.
    """
    begin = one.begin_ns
    if asked.last and asked.at is None and asked.divergence is None:
        raise UsageError("--last needs an instant", hint="add --at TIME or --divergence OTHER")
    if asked.last and (asked.functions or asked.complaint):
        other = "--break" if asked.functions else "--complaint"
        raise UsageError(f"--last and {other} both say where to stop", hint="leave one of them out")
    if asked.at is not None and asked.divergence is not None:
        raise UsageError("--at and --divergence both name an instant", hint="leave one of them out")
    if asked.at is not None:
        try:
            at = Duration.parse(asked.at).seconds
        except UnitError as error:
            raise UsageError(f"--at: {error}", hint="for example --at 1.5s") from error
        end_s = one.plan.duration_ns / 1e9
        if at > end_s:
            raise UsageError(f"--at {asked.at} is after the run's end, {end_s:g} s")
        return begin + round(at * 1e9)
    if asked.divergence is None:
        return None
    if one.record is None:
        raise UsageError("this run failed, and left no events to compare", where=str(one.path))
    found = first_divergence(one_run(asked.divergence), one.record)
    if found is None:
        raise UsageError("no event of these two runs differs", where=str(asked.divergence))
    tell(found.sentence)
    return begin + found.t_ns


def lines(
    one: Again, asked: Asked, stop_ns: int | None, last: tuple[str, int] | None = None
) -> Iterator[str]:
    """Commands of gdb, from the kernel's first instruction on.

    Args:
        one: What is made again.
        asked: Where to stop.
        stop_ns: The instant of that, in ns since the kernel's start.
        last: The function of `asked.last` to stop in, and how many of its calls come before that one.
    """
    yield from _read_in(one, asked)
    yield "break panic"
    if last is not None:
        function, before = last
        yield f"python Calls({function!r}, {asked.flow!r}, {before})\ncontinue"
    elif stop_ns is not None:
        yield from _until(stop_ns)
    for name in asked.functions:
        yield f"python Calls({name!r}, {asked.flow!r})" if asked.flow else f"break {name}"
    if asked.complaint:
        yield "python stop_at_complaints()"
    if asked.functions or asked.complaint:
        yield "continue"
    elif stop_ns is None:
        yield "break start_kernel\ncontinue"
    if asked.complaint:
        yield "rush place"
    yield from asked.script
    if asked.batch:
        yield "delete"
        yield "continue"


def counting(one: Again, asked: Asked, stop_ns: int, told: Path) -> Iterator[str]:
    """Commands of gdb that write down which of `asked.last` is called last until an instant, how often."""
    yield from _read_in(one, asked)
    yield f"python COUNTED = [Counted(name, {asked.flow!r}) for name in {[*asked.last]!r}]"
    # What happens at a divergence's own instant may be what both part by.
    yield from _until(stop_ns + 1 if asked.divergence else stop_ns)
    yield f"python tell_last(COUNTED, {str(told)!r})"
    yield "delete\ncontinue"


def _until(ns: int) -> Iterator[str]:
    yield f"set var {_STOP_AT} = {ns}ULL"
    yield "tbreak rushhour_stop"
    yield "continue"
    yield f"set var {_STOP_AT} = {_NEVER}ULL"


def _read_in(one: Again, asked: Asked) -> Iterator[str]:
    """Our commands, with what they know of the run.

    Raises:
        UsageError: a function, or a flow, cannot be meant.
    """
    for option, names in (("--break", asked.functions), ("--last", asked.last)):
        for name in names:
            if not _FUNCTION.fullmatch(name):
                raise UsageError(f"{option} {name!r} is no function and no FILE:LINE")
    ports = {flow.name: (flow.sport, flow.dport) for flow in one.plan.flows if flow.sport}
    if asked.flow is not None and asked.flow not in ports and not asked.flow.isdigit():
        raise UsageError(f'there is no flow "{asked.flow}"', hint=f"there are: {', '.join(ports) or 'none'}")
    ours = resources.files("rushhour.debug")
    known = f"FLOWS.update({json.dumps(ports)})\nBEGIN = {one.begin_ns}"
    for name, more in (("commands", known), ("memory", ""), ("stops", ""), ("complaint", "")):
        text = ours.joinpath(f"{name}.py").read_text("utf-8")
        yield f"python\n{text}\n{more}\nend"

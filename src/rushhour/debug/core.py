"""From a record to gdb: whose symbols, where to stop; and whether the bytes are the same afterwards."""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import KernelError, RecordError, UsageError
from rushhour.lab import kernel as kernels
from rushhour.lab.base import Job
from rushhour.lab.debugger import DebuggedLab, Gdb
from rushhour.lab.kernel.sanitizers import SYMBOLS
from rushhour.quantities.units import Duration, UnitError
from rushhour.record.context_file import ContextFile
from rushhour.record.document import read
from rushhour.record.manifest import VIRTUAL
from rushhour.record.record import Record
from rushhour.record.result_set import ResultSet
from rushhour.record.seal import raw_digests
from rushhour.running.executor import execute
from rushhour.verdict.divergence import first_divergence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rushhour.lab.kernel import Kernel

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
        flow: Of the functions only calls for this flow: its name, or a port.
        divergence: Just before the first event that differs from this run's.
        script: Further commands of gdb, in their order.
        batch: End after them, instead of taking commands from the terminal.
        listen: Serve another debugger at this port instead.
        build: Build the symbols if there are none.
    """

    at: str | None = None
    functions: Sequence[str] = ()
    flow: str | None = None
    divergence: Path | None = None
    script: Sequence[str] = ()
    batch: bool = False
    listen: int | None = None
    build: bool = False


@dataclass(frozen=True)
class Ended:
    """What became of the run: names of tables whose bytes are not those of the record."""

    differ: tuple[str, ...]


def debug(run: Path, asked: Asked, tell: Tell = lambda _: None) -> Ended:
    """Make a run again under gdb, to its end.

    Args:
        run: The folder of a record, or a result set of one.
        asked: Where to stop, and how.
        tell: Told what is worth knowing before gdb has the terminal.

    Raises:
        UsageError: it is no run of a virtual kernel, or nothing can be stopped there.
        KernelError: its kernel is not here with symbols.
        LabError: gdb is not installed, or the run did not come to its end.
    """
    record = one_run(run)
    stop_ns = _instant(record, asked, tell)
    kernel = _kernel(record, tell, build=asked.build)
    symbols = kernel.image.with_name("linux.debug")
    gdb = Gdb(symbols, list(_script(record, asked, stop_ns)), asked.batch, asked.listen)
    lab = DebuggedLab(gdb)
    about = record.manifest
    if about.agent.sha256 != lab.agent.sha256:
        tell("the agent is another than the record's: instants may differ")
    labels = {"scenario": about.scenario, "cell": about.cell, "repetition": about.repetition}
    job = Job(record.plan, read(ContextFile, about.context, str(run)), kernel, labels)
    with tempfile.TemporaryDirectory(prefix="rushhour-debug-") as folder:
        made = Record.open(execute(lab, job, Path(folder) / "run", None))
        before, after = (raw_digests(one.manifest.files) for one in (record, made))
    return Ended(tuple(name for name in sorted({*before, *after}) if before.get(name) != after.get(name)))


def one_run(run: Path) -> Record:
    """The record in a folder.

    Raises:
        RecordError: there is none, or several.
        UsageError: it was no virtual kernel's.
    """
    results = ResultSet.open(run)
    folders = results.folders()
    if len(folders) > 1:
        raise RecordError(
            f"there are {len(folders)} runs here", where=str(run), hint=f"name one of them, as {folders[0]}"
        )
    record = Record.open(folders[0])
    if record.manifest.lab not in VIRTUAL:
        raise UsageError(
            "this run was in real time, which does not stand still", where=str(run),
            hint="debug a run of the lab uml",
        )  # fmt: skip
    return record


def _instant(record: Record, asked: Asked, tell: Tell) -> int | None:
    """Where to stop, in ns since the kernel's start."""
    begin = record.result.start_clock_ns
    if asked.at is not None and asked.divergence is not None:
        raise UsageError("--at and --divergence both name an instant", hint="leave one of them out")
    if asked.at is not None:
        try:
            at = Duration.parse(asked.at).seconds
        except UnitError as error:
            raise UsageError(f"--at: {error}", hint="for example --at 1.5s") from error
        end_s = record.plan.duration_ns / 1e9
        if at > end_s:
            raise UsageError(f"--at {asked.at} is after the run's end, {end_s:g} s")
        return begin + round(at * 1e9)
    if asked.divergence is None:
        return None
    found = first_divergence(one_run(asked.divergence), record)
    if found is None:
        raise UsageError("no event of these two runs differs", where=str(asked.divergence))
    tell(found.sentence)
    return begin + found.t_ns


def _kernel(record: Record, tell: Tell, *, build: bool) -> Kernel:
    """The kernel of a record, with its symbols.

    Raises:
        KernelError: it is not here, or was built by another compiler, with the command that makes it.
    """
    image = record.manifest.kernel.image_sha256
    here = [one for one in kernels.installed() if one.identity.get("image_sha256") == image]
    for one in here:
        if SYMBOLS in one.identity.get("source", {}).get("sanitizers", "").split():
            return one
    name = record.manifest.kernel.name
    mine = next((one for one in here if "source" in one.origin()), None)
    if mine is None:
        raise KernelError(
            f"the run's kernel, {name}, is not here",
            where=str(record.path),
            hint="build it from its source, with its symbols: rushhour kernel build SOURCE --with symbols",
        )
    source, trained = str(mine.origin()["source"]), "trained" in mine.identity
    if not build:
        option = " --train" if trained else ""
        raise KernelError(
            f"{name} has no symbols for a debugger yet",
            hint=f"compile them, once, in minutes: rushhour kernel build {source} --with symbols{option}\n"
            "or add --build to this command",
        )
    words = source.split(" --with ")
    made = kernels.build(
        words[0], None, lambda step: tell(str(step)), files=[*words[1:], SYMBOLS], train=trained
    )
    if made.identity["image_sha256"] != image:
        raise KernelError(
            f"{source} is no longer what the run's kernel was built from, or the compiler is another",
            hint="make the run again with the kernel as it is now, and debug that one",
        )
    return made


def _script(record: Record, asked: Asked, stop_ns: int | None) -> Iterator[str]:
    """Commands of gdb, from the kernel's first instruction on."""
    for name in asked.functions:
        if not _FUNCTION.fullmatch(name):
            raise UsageError(f"--break {name!r} is no function and no FILE:LINE")
    text = resources.files("rushhour.debug").joinpath("commands.py").read_text(encoding="utf-8")
    ports = {flow.name: (flow.sport, flow.dport) for flow in record.plan.flows if flow.sport}
    if asked.flow is not None and asked.flow not in ports and not asked.flow.isdigit():
        raise UsageError(f'there is no flow "{asked.flow}"', hint=f"there are: {', '.join(ports) or 'none'}")
    yield "python\n" + text + f"\nFLOWS.update({json.dumps(ports)})\n"
    yield f"BEGIN = {record.result.start_clock_ns}\nend"
    yield "break panic"
    if stop_ns is not None:
        yield f"set var {_STOP_AT} = {stop_ns}ULL"
        yield "tbreak rushhour_stop"
        yield "continue"
        yield f"set var {_STOP_AT} = {_NEVER}ULL"
    for name in asked.functions:
        yield f"python OfFlow({name!r}, {asked.flow!r})" if asked.flow else f"break {name}"
    if asked.functions or (stop_ns is None and not asked.functions):
        yield "continue" if asked.functions else "break start_kernel\ncontinue"
    yield from asked.script
    if asked.batch:
        yield "delete"
        yield "continue"

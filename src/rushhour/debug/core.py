"""From a record to gdb: whose symbols, where to stop; and whether the bytes are the same afterwards."""

from __future__ import annotations

import json
import re
import tempfile
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushhour.debug.again import again, one_run
from rushhour.errors import GuestError, KernelError, UsageError
from rushhour.lab import kernel as kernels
from rushhour.lab.debugger import DebuggedLab, Gdb
from rushhour.lab.kernel import snapshot
from rushhour.lab.kernel.sanitizers import SYMBOLS
from rushhour.quantities.units import Duration, UnitError
from rushhour.record.record import Record
from rushhour.record.seal import raw_digests
from rushhour.running.executor import execute
from rushhour.verdict.divergence import first_divergence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rushhour.debug.again import Again
    from rushhour.lab.base import Job
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
        complaint: Where the kernel complains; of a set, the first run that failed.
        script: Further commands of gdb, in their order.
        batch: End after them, instead of taking commands from the terminal.
        listen: Serve another debugger at this port instead.
        build: Build the symbols if there are none.
    """

    at: str | None = None
    functions: Sequence[str] = ()
    flow: str | None = None
    divergence: Path | None = None
    complaint: bool = False
    script: Sequence[str] = ()
    batch: bool = False
    listen: int | None = None
    build: bool = False


@dataclass(frozen=True)
class Ended:
    """What became of the run.

    Attributes:
        differ: Names of tables whose bytes are not those of the record.
        failed: What the run failed with, before.
        now: What it failed with now.
    """

    differ: tuple[str, ...] = ()
    failed: str = ""
    now: str = ""

    @property
    def alike(self) -> bool:
        """Whether all was as before."""
        return not self.differ and self.failed == self.now


def debug(run: Path, asked: Asked, tell: Tell = lambda _: None) -> Ended:
    """Make a run again under gdb, to its end.

    Args:
        run: The folder of a record, or a result set of one; or a set of which a run failed.
        asked: Where to stop, and how.
        tell: Told what is worth knowing before gdb has the terminal.

    Raises:
        UsageError: it is no run of a virtual kernel, or nothing can be stopped there.
        KernelError: its kernel is not here with symbols.
        LabError: gdb is not installed, or the run did not come to its end.
    """
    one = again(run, failed=asked.complaint)
    stop_ns = _instant(one, asked, tell)
    if one.failed:
        tell(one.failed)
    kernel = _kernel(one, tell, build=asked.build)
    symbols = kernel.image.with_name("linux.debug")
    lab = DebuggedLab(Gdb(symbols, list(_script(one, asked, stop_ns)), asked.batch, asked.listen))
    if one.record is not None and one.record.manifest.agent.sha256 != lab.agent.sha256:
        tell("the agent is another than the record's: instants may differ")
    with tempfile.TemporaryDirectory(prefix="rushhour-debug-") as folder:
        return _made(lab, one, one.job(kernel), Path(folder) / "run")


def _made(lab: DebuggedLab, one: Again, job: Job, folder: Path) -> Ended:
    try:
        made = Record.open(execute(lab, job, folder, None))
    except GuestError as error:
        if one.record is not None:
            raise
        return Ended(failed=one.failed, now=error.message.splitlines()[0])
    if one.record is None:
        return Ended(failed=one.failed)
    before, after = (raw_digests(record.manifest.files) for record in (one.record, made))
    return Ended(tuple(name for name in sorted({*before, *after}) if before.get(name) != after.get(name)))


def _instant(one: Again, asked: Asked, tell: Tell) -> int | None:
    """Where to stop, in ns since the kernel's start."""
    begin = one.begin_ns
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


def _kernel(one: Again, tell: Tell, *, build: bool) -> Kernel:
    """The kernel of a run, with its symbols.

    Raises:
        KernelError: it is not here, or was built by another compiler, with the command that makes it.
    """
    image, name = one.kernel.image_sha256, one.kernel.name
    here = [kernel for kernel in kernels.installed() if kernel.identity.get("image_sha256") == image]
    for kernel in here:
        if SYMBOLS in kernel.identity.get("source", {}).get("sanitizers", "").split():
            return kernel
    if (found := _beside(one)) is not None:
        return found
    # Several kernels may be one image: the run's own by its name first.
    named = sorted(here, key=lambda kernel: kernel.name != name)
    mine = next((kernel for kernel in named if "source" in kernel.origin()), None)
    source = _source(one) if mine is None else str(mine.origin()["source"])
    if source is None:
        raise KernelError(
            f"the run's kernel, {name}, is not here",
            where=str(one.path),
            hint="build it from its source, with its symbols: rushhour kernel build SOURCE --with symbols",
        )
    trained = bool(one.kernel.trained) if mine is None else "trained" in mine.identity
    if not build:
        option = " --train" if trained else ""
        lacks = "is no longer here" if mine is None else "has no symbols for a debugger yet"
        raise KernelError(
            f"{name} {lacks}",
            hint=f"compile them, once, in minutes: rushhour kernel build {source} --with symbols{option}\n"
            "or add --build to this command",
        )
    words = source.split(" --with ")
    made = kernels.build(
        words[0], None, lambda step: tell(str(step)), files=[*words[1:], SYMBOLS], train=trained
    )
    if made.identity["image_sha256"] != image and _beside(one) is None:
        raise KernelError(
            f"{source} is no longer what the run's kernel was built from, or the compiler is another",
            hint="make the run again with the kernel as it is now, and debug that one",
        )
    return made


def _source(one: Again) -> str | None:
    """What a kernel that is gone was built from, if a clone that was checked here has the commit."""
    about = one.kernel.source
    if not about.commit or about.with_files or about.patches:
        return None
    source = snapshot.source_of(about.commit)
    return source and " --with ".join([source, *about.sanitizers.split()])


def _beside(one: Again) -> Kernel | None:
    """The same kernel with sanitizers and symbols, whose image is another: it names folders of its source."""
    sanitizers = set(one.kernel.source.sanitizers.split())
    wanted = _named(vars(one.kernel.source)), one.kernel.config_sha256, one.kernel.compiler
    for kernel in kernels.installed() if sanitizers and any(wanted[0]) else ():
        about = kernel.identity
        found = _named(about["source"]), about.get("config_sha256"), about.get("compiler")
        if found == wanted and set(about["source"].get("sanitizers", "").split()) == {*sanitizers, SYMBOLS}:
            return kernel
    return None


def _named(source: Mapping[str, Any]) -> tuple[object, ...]:
    """What a source is for certain: a commit, or a release; and what was added to it."""
    return tuple(source.get(key) or "" for key in ("commit", "version", "with_files", "patches"))


def _script(one: Again, asked: Asked, stop_ns: int | None) -> Iterator[str]:
    """Commands of gdb, from the kernel's first instruction on."""
    yield from _read_in(one, asked)
    yield "break panic"
    if stop_ns is not None:
        yield f"set var {_STOP_AT} = {stop_ns}ULL"
        yield "tbreak rushhour_stop"
        yield "continue"
        yield f"set var {_STOP_AT} = {_NEVER}ULL"
    for name in asked.functions:
        yield f"python OfFlow({name!r}, {asked.flow!r})" if asked.flow else f"break {name}"
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


def _read_in(one: Again, asked: Asked) -> Iterator[str]:
    """Our commands, with what they know of the run.

    Raises:
        UsageError: a function, or a flow, cannot be meant.
    """
    for name in asked.functions:
        if not _FUNCTION.fullmatch(name):
            raise UsageError(f"--break {name!r} is no function and no FILE:LINE")
    ports = {flow.name: (flow.sport, flow.dport) for flow in one.plan.flows if flow.sport}
    if asked.flow is not None and asked.flow not in ports and not asked.flow.isdigit():
        raise UsageError(f'there is no flow "{asked.flow}"', hint=f"there are: {', '.join(ports) or 'none'}")
    ours = resources.files("rushhour.debug")
    commands, complaint = (
        ours.joinpath(f"{name}.py").read_text("utf-8") for name in ("commands", "complaint")
    )
    yield f"python\n{commands}\nFLOWS.update({json.dumps(ports)})\nBEGIN = {one.begin_ns}\nend"
    yield f"python\n{complaint}\nend"

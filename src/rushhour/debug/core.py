"""From a record to gdb: whose symbols; and whether the bytes are the same afterwards."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushhour.debug.again import again
from rushhour.debug.script import counting, instant, lines
from rushhour.errors import GuestError, KernelError, UsageError
from rushhour.lab import kernel as kernels
from rushhour.lab.debugger import DebuggedLab, Gdb
from rushhour.lab.kernel import snapshot
from rushhour.lab.kernel.sanitizers import SYMBOLS
from rushhour.record.record import Record
from rushhour.record.seal import raw_digests
from rushhour.running.executor import execute

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rushhour.debug.again import Again
    from rushhour.debug.script import Asked, Tell
    from rushhour.lab.base import Job
    from rushhour.lab.kernel import Kernel


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
    stop_ns = instant(one, asked, tell)
    if one.failed:
        tell(one.failed)
    kernel = _kernel(one, tell, build=asked.build)
    session = _Session(one, one.job(kernel), kernel.image.with_name("linux.debug"))
    last = None if not asked.last or stop_ns is None else session.last(asked, stop_ns, tell)
    script = list(lines(one, asked, stop_ns, last))
    return session.ended(Gdb(session.symbols, script, asked.batch, asked.listen), tell)


@dataclass(frozen=True)
class _Session:
    """A run that is made again as often as one needs it.

    Attributes:
        one: What is made again.
        job: The same, with its kernel.
        symbols: The kernel's.
    """

    one: Again
    job: Job
    symbols: Path

    def last(self, asked: Asked, stop_ns: int, tell: Tell) -> tuple[str, int]:
        """The function that is called last until then, and how many of its calls are before; by a run.

        Raises:
            UsageError: none is, or there is no such function.
        """
        names = ", ".join(asked.last)
        with tempfile.TemporaryDirectory(prefix="rushhour-debug-") as folder:
            told = Path(folder) / "calls"
            script = list(counting(self.one, asked, stop_ns, told))
            self.ended(Gdb(self.symbols, script, batch=True, quiet=True), lambda _: None)
            found = told.read_text("ascii").split() if told.is_file() else None
        if found is None:
            raise UsageError(f"--last {names}: gdb finds no such function in this kernel")
        function, count = found[0], int(found[1])
        if not count:
            of = f" for {asked.flow}" if asked.flow else ""
            what = "it is not called" if len(asked.last) == 1 else "none of them is called"
            raise UsageError(f"--last {names}: {what}{of} until then")
        tell(f"{function}: call {count} of the run is the last until then")
        return function, count - 1

    def ended(self, gdb: Gdb, tell: Tell) -> Ended:
        """Make it to its end, with gdb in it."""
        lab = DebuggedLab(gdb)
        record = self.one.record
        if record is not None and record.manifest.agent.sha256 != lab.agent.sha256:
            tell("the agent is another than the record's: instants may differ")
        with tempfile.TemporaryDirectory(prefix="rushhour-debug-") as folder:
            return _made(lab, self.one, self.job, Path(folder) / "run")


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
    if mine is None:
        _refuse_relinked(named)
    source = _source(one) if mine is None else str(mine.origin()["source"])
    if source is None:
        raise KernelError(
            f"the run's kernel, {name}, is not here",
            where=str(one.path),
            hint="build it from its source, with its symbols: rushhour kernel build SOURCE --with symbols",
        )
    trained = bool(one.kernel.trained) if mine is None else "trained" in mine.identity
    if not build:
        build_it = kernels.building(source, "--with", SYMBOLS, *(["--train"] if trained else []))
        lacks = "is no longer here" if mine is None else "has no symbols for a debugger yet"
        raise KernelError(
            f"{name} {lacks}",
            hint=f"compile them, once, in minutes: {build_it}\nor add --build to this command",
        )
    word, files, patches = kernels.taken_apart(source)
    made = kernels.build(
        word, None, lambda step: tell(str(step)), files=[*files, SYMBOLS], patches=patches, train=trained
    )
    if made.identity["image_sha256"] != image and _beside(one) is None:
        raise KernelError(
            f"{source} is no longer what the run's kernel was built from, or the compiler is another",
            hint="make the run again with the kernel as it is now, and debug that one",
        )
    return made


def _refuse_relinked(here: Iterable[Kernel]) -> None:
    """Raise KernelError if one of these was linked of changed objects: no source gives its symbols."""
    for kernel in here:
        if kernel.is_relinked:
            raise KernelError(
                f"{kernel.name} has no symbols for a debugger, and no source to build it from: it was linked "
                f"of changed objects, as {kernel.origin()['relinked']}",
                hint="make the change in a tree of the kernel, and the run again on what this builds:\n"
                "rushhour kernel build TREE --with symbols",
            )


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

"""A run of a virtual kernel under gdb, which comes in before the first instruction; time stands still then.

Everything else is as in any run: the same launcher, sandbox and filters, so the same bytes.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import LabError
from rushhour.lab import clock, packages
from rushhour.lab.confine import Ending, Guest, Limits
from rushhour.lab.uml import UmlLab, command, hash_entries, memory

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rushhour.lab.base import Job
    from rushhour.lab.confine import Sandbox

# Whoever thinks at a breakpoint is not a guest that hangs.
_PATIENT = Limits(timeout_s=30 * 86_400.0, stall_s=30 * 86_400.0)
_HELD_S = 60.0
# What the kernel and its processes send each other, and what a debugger of one must not eat.
_BEFORE = """\
set confirm off
set pagination off
set sysroot /dev/null
set auto-solib-add off
set follow-fork-mode parent
set detach-on-fork on
set print inferior-events off
set startup-with-shell off
handle all nostop noprint pass
handle SIGINT SIGTRAP stop print nopass
handle SIGSTOP nostop noprint nopass
"""
# What gdb says on its way into the kernel's process is of no use to anybody.
_QUIET = """\
set auto-load libthread-db off
set logging file /dev/null
set logging redirect on
set logging enabled on
"""
_HEARD = "set logging enabled off"
_IN = "tcatch exec\ncontinue"


@dataclass
class Gdb:
    """How gdb comes to a guest.

    Attributes:
        symbols: The file with the kernel's names, types and lines.
        script: Commands of gdb once the kernel is there; the last of them may let it run.
        batch: End with the script, instead of taking commands from the terminal.
        listen: Be a server at this port of this machine for another debugger, instead.
        quiet: Show nothing of what gdb says, but for its errors.
    """

    symbols: Path
    script: Sequence[str] = ()
    batch: bool = False
    listen: int | None = None
    quiet: bool = False

    def require(self) -> None:
        """Refuse early.

        Raises:
            LabError: gdb is not installed.
        """
        program = "gdb" if self.listen is None else "gdbserver"
        if shutil.which(program) is None:
            raise LabError(f"{program} is not installed", hint=packages.advice(program), machine=True)

    def serve(self, pid: int, sandbox: Sandbox) -> None:
        """Be at a guest that stands before its first instruction, until the debugger leaves it."""
        place = sandbox.folder / "gdb"
        if self.listen is not None:
            self._serve_others(pid)
            return
        lines = [_QUIET, f"attach {pid}", _IN, f"symbol-file {self.symbols}", _HEARD, *self.script]
        place.write_text(_BEFORE + "\n".join(lines) + "\n", encoding="utf-8")
        words = ["gdb", "-q", "-nh", *(["-nx", "-batch"] if self.batch else []), "-x", str(place)]
        with nullcontext() if self.batch else _control_c_for_others():
            subprocess.run(
                words,
                check=False,
                env={**os.environ, "DEBUGINFOD_URLS": ""},
                stdin=None if not self.batch else subprocess.DEVNULL,
                stdout=subprocess.DEVNULL if self.quiet else None,
            )

    def _serve_others(self, pid: int) -> None:
        script = Path(f"rushhour-{self.listen}.gdb").resolve()
        target = f"target remote localhost:{self.listen}\n"
        script.write_text(
            _BEFORE + target + _IN + f"\nsymbol-file {self.symbols}\n" + "\n".join(self.script) + "\n"
        )
        print(f"in gdb: source {script}", file=sys.stderr)
        try:
            subprocess.run(["gdbserver", "--attach", f"localhost:{self.listen}", str(pid)], check=False)
        finally:
            script.unlink(missing_ok=True)


@contextmanager
def _control_c_for_others() -> Iterator[None]:
    """Whoever sits at gdb presses Control-C for gdb: it comes to this process, too, and means nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # Not ignored: gdb would inherit that.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class DebuggedLab(UmlLab):
    """The `uml` lab with a debugger at each guest: one run at a time."""

    def __init__(self, gdb: Gdb) -> None:
        """A lab on this machine.

        Raises:
            LabError: as of `UmlLab`; or gdb is not installed.
        """
        super().__init__(_PATIENT)
        gdb.require()
        self.gdb = gdb

    def _launch(self, job: Job, image: Path, sandbox: Sandbox, cpu: int | None) -> Ending:
        words = command(image, memory(job.plan, job.context), job.plan.seed, sockets=hash_entries(job.plan))
        guest = Guest(self.agent.binary, sandbox, words, limits=_PATIENT, cpu=cpu, hold=True)
        try:
            pid = _held(guest.pid)
            try:
                self.gdb.serve(pid, sandbox)
            finally:
                # Whoever leaves in the middle leaves it as it was found: standing.
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
        except BaseException:
            guest.cancel()
            guest.wait()
            raise
        return guest.wait()


def _held(launcher: int) -> int:
    """The guest that stands still, by its number here: below the launcher and its keeper.

    Raises:
        LabError: it does not come.
    """
    until = clock.monotonic() + _HELD_S
    while clock.monotonic() < until:
        for pid in _below(launcher):
            if _state(pid) in ("T", "t"):
                return pid
        if _state(launcher) in ("Z", ""):
            break
        clock.sleep(0.01)
    raise LabError("the virtual kernel did not come to the debugger", machine=True)


def _below(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            words = task.read_text().split()
        except OSError:
            continue
        for word in words:
            found += [int(word), *_below(int(word))]
    return found


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""

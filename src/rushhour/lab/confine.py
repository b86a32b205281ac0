"""The folder that is a virtual kernel's whole world, and the launcher that holds it there.

A native run (`Guest(…, native=True)`) has the same folder and the same launcher, without a kernel of its own.

`linux` and `root` are links to the kernel's image and the guest's root, `roots` has links to those of
programs, `out` takes the record, `mem` the guest's memory. The launcher (`rushhour-agent launch`) confines
and supervises; it dies with this process, and the guest with it.
"""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, Self

from rushhour.errors import LabError, UsageError
from rushhour.files import rooms
from rushhour.files.regular import read_regular
from rushhour.lab.base import CancelledError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import TracebackType

    from rushhour.lab.terminal import Terminal

_SIGN_BYTES = 8


@dataclass(frozen=True)
class Limits:
    """When a guest is ended, in seconds of wall-clock time and bytes."""

    timeout_s: float = 3600.0
    stall_s: float = 120.0
    console_bytes: int = 1 << 20


@dataclass(frozen=True)
class Ending:
    """How a guest ended, as the launcher tells."""

    reason: str
    exit: int | None
    signal: int | None
    elapsed_s: float
    warnings: tuple[str, ...]


class Sandbox:
    """A new sandbox in the folder `parent`; a context manager that leaves nothing behind.

    The folder is locked as long as its process lives, so that one left by a killed process is known as such.
    """

    def __init__(
        self, parent: Path, image: Path | None = None, root: Path | None = None, roots: Sequence[Path] = ()
    ) -> None:
        parent.mkdir(parents=True, exist_ok=True)
        self.folder, self._lock = rooms.make(parent, rooms.SANDBOX)
        for name, target in (("linux", image), ("root", root)):
            if target is not None:
                (self.folder / name).symlink_to(target)
        for name in ("out", "mem", *(["roots"] if roots else [])):
            (self.folder / name).mkdir()
        for number, place in enumerate(roots):
            (self.folder / "roots" / str(number)).symlink_to(place)

    @property
    def out(self) -> Path:
        """Where the guest writes."""
        return self.folder / "out"

    @property
    def console(self) -> Path:
        """What the kernel says."""
        return self.folder / "console.log"

    @property
    def begun(self) -> bool:
        """Whether the agent has begun its work: it makes the folder of its tables first."""
        return (self.out / "raw").exists()

    @property
    def reached_s(self) -> float | None:
        """Virtual time since the start, in seconds, of the agent's last sign of life; None before it."""
        try:
            sign = read_regular(self.out / "progress", 64)
        except OSError:
            return None
        return int.from_bytes(sign, "little", signed=True) / 1e9 if len(sign) == _SIGN_BYTES else None

    def __enter__(self) -> Self:
        """Use the sandbox."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove it."""
        rooms.remove(self.folder)
        os.close(self._lock)


class Guest:
    """A running guest. `wait` for its end; `cancel` it from another thread."""

    def __init__(
        self,
        launcher: Path,
        sandbox: Sandbox,
        command: Sequence[str],
        *,
        limits: Limits,
        cpu: int | None = None,
        native: bool = False,
        hold: bool = False,
        terminal: Terminal | None = None,
    ) -> None:
        words: list[str | Path] = [launcher.resolve(), "launch", "--dir", sandbox.folder.name]
        words += ["--timeout", str(limits.timeout_s), "--stall", str(limits.stall_s)]
        words += ["--console-limit", str(limits.console_bytes)]
        words += ["--cpu", str(cpu)] if cpu is not None else []
        words += ["--native"] if native else []
        words += ["--hold"] if hold else []
        words += terminal.words if terminal is not None else []
        words += ["--require"] if not native and os.environ.get("RUSHHOUR_REQUIRE_CONFINEMENT") == "1" else []
        self._process = subprocess.Popen(
            [*words, "--", *command],
            # By its name: folders above may have names that are no text, which the launcher's words must be.
            cwd=sandbox.folder.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            pass_fds=(terminal.keys, terminal.screen) if terminal is not None else (),
        )

    @property
    def pid(self) -> int:
        """The launcher's process."""
        return self._process.pid

    def wait(self) -> Ending:
        """Wait for the end.

        Raises:
            LabError: the launcher itself failed.
        """
        process = self._process
        # Not communicate(): that would close the standard input, which is the sign to stop.
        assert process.stdout is not None
        assert process.stderr is not None
        answer, complaint = process.stdout.read(), process.stderr.read()
        code = process.wait()
        self.cancel()
        process.stdout.close()
        process.stderr.close()
        if code < 0:
            return Ending("killed", None, -code, 0.0, ())
        try:
            report: dict[str, Any] = json.loads(answer)
        except ValueError:
            said = complaint.strip() or f"exit code {code}"
            raise LabError(
                f"the launcher could not start the virtual kernel: {said}", hint=_hint(said), machine=True
            ) from None
        return Ending(
            report["reason"],
            report["exit"],
            report["signal"],
            report["elapsed_s"],
            tuple(report["warnings"]),
        )

    def cancel(self) -> None:
        """Ask for the end."""
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()


class Guests:
    """Every guest of a lab, so that another thread can end them all."""

    def __init__(self) -> None:
        self.cancelled = False
        self._going: set[Guest] = set()
        self._lock = Lock()

    def __len__(self) -> int:
        """How many go on."""
        return len(self._going)

    def run(self, start: Callable[[], Guest]) -> Ending:
        """Start a guest and wait for its end.

        Raises:
            CancelledError: the lab was asked to stop before.
        """
        with self._lock:
            if self.cancelled:
                raise CancelledError("stopped before it began")
            guest = start()
            self._going.add(guest)
        try:
            return guest.wait()
        finally:
            guest.cancel()
            with self._lock:
                self._going.discard(guest)

    def cancel(self) -> None:
        """End all that run, and refuse new ones."""
        with self._lock:
            self.cancelled = True
            for guest in self._going:
                guest.cancel()


def told_limits(usual: Limits) -> Limits:
    """The limits, as far as the environment does not give others (`RUSHHOUR_TIMEOUT`, `RUSHHOUR_STALL`).

    Raises:
        UsageError: it gives no number.
    """
    given: dict[str, float] = {}
    for name, variable in (("timeout_s", "RUSHHOUR_TIMEOUT"), ("stall_s", "RUSHHOUR_STALL")):
        text = os.environ.get(variable)
        if text is None:
            continue
        try:
            given[name] = float(text)
        except ValueError:
            raise UsageError(f"{variable} is {text!r}; it takes a number of seconds") from None
    return replace(usual, **given)  # type: ignore[arg-type]


def _hint(said: str) -> str | None:
    if "confinement is required" in said:
        return "unset RUSHHOUR_REQUIRE_CONFINEMENT to run with what this machine offers"
    if "No space" in said:
        return "make room on the disk"
    if "No such file" not in said and "Exec format" not in said:
        return None
    return "the kernel's image is missing or damaged: `rushhour kernel remove` it, and build it again"

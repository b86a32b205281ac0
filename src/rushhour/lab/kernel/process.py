"""Running the programs that fetch, unpack and build, so that none outlives us."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import KernelError
from rushhour.lab import packages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

# What the compiler, the linker, make and Kconfig say when something is wrong.
_FAULT = re.compile(
    r"\berror\b|undefined reference|\*\*\*|No space left|cannot find|can't open|not found|: syntax",
    re.IGNORECASE,
)


_KEEPER = Path(__file__).with_name("keeper.py")
# How long a process that is asked to end may take.
_PATIENCE_S = 3.0
# A git hook or `git bisect run` sets these for its own repository; a build is of another.
_GIT_LOCAL = ("DIR", "WORK_TREE", "INDEX_FILE", "COMMON_DIR", "OBJECT_DIRECTORY", "NAMESPACE", "PREFIX")


def answer(
    command: Sequence[str],
    *,
    default: str | None = None,
    extra: Mapping[str, str] | None = None,
    text: str | None = None,
    cwd: Path | None = None,
    said: list[str] | None = None,
) -> str:
    """The standard output of a short command; `default` instead if it is given and the command fails.

    Args:
        command: program and arguments.
        default: what to answer where the command fails.
        extra: additions to the environment.
        text: what the command reads; nothing if not given.
        cwd: where it runs, instead of here.
        said: gets what the command writes to standard error.

    Raises:
        KernelError: the command failed and there is no default.
    """
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            check=True,
            input=text or "",
            cwd=cwd,
            env=_environment(extra),
        )
    except (OSError, subprocess.CalledProcessError) as fault:
        if default is not None:
            return default
        why = getattr(fault, "stderr", None) or str(fault)
        raise KernelError(f"{command[0]} failed: {why.strip()}") from fault
    if said is not None:
        said.append(done.stderr)
    return done.stdout


def complaint(command: Sequence[str]) -> str:
    """What a command of apt's complains of first; empty if of nothing but releases that are gone."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False, env=_environment(None)
        )
    except OSError as fault:
        return str(fault)
    lines = [line for line in done.stderr.splitlines() if line.startswith(("E: ", "W: "))]
    return next((line[3:].strip() for line in lines if "does not have a Release file" not in line), "")


_MOST_LINES = 100_000  # kept of an output: the first error may be followed by hundreds that come of it


def run(
    command: Sequence[str],
    *,
    what: str,
    cwd: Path | None = None,
    extra: Mapping[str, str] | None = None,
    log: Path | None = None,
    on_line: Callable[[str], None] | None = None,
    keep_open: Iterable[int] = (),
) -> None:
    """Run a command to its end, its output going line by line to `on_line` and to the end of `log`.

    The command is a process group of its own and is killed as a whole when we are interrupted; if we are
    killed ourselves, by its keeper.

    Args:
        command: program and arguments.
        what: one word for messages: build, unpack.
        cwd: working directory.
        extra: additions to the environment.
        log: file that gets every line.
        on_line: called with every line.
        keep_open: descriptors that the command inherits (locks, so that they last as long as it does).

    Raises:
        KernelError: it could not be started or failed, with its error lines and the place of the log.
    """
    lines: list[str] = []
    with ExitStack() as stack:
        record = stack.enter_context(log.open("a", encoding="utf-8")) if log else None
        child = _start(command, what, cwd, extra, keep_open)
        stack.callback(_end, child)
        for line in child.stdout or ():
            if record:
                record.write(line)
            if on_line:
                on_line(line)
            lines.append(line.rstrip())
            del lines[:-_MOST_LINES]
        status = child.wait()
    if status:
        hint = f"the whole log is {log}" if log else None
        raise KernelError(f"{what} failed (exit {status}):\n{_faults(lines)}", where=command[0], hint=hint)


@contextmanager
def feed(command: Sequence[str], *, what: str) -> Iterator[Callable[[bytes], object]]:
    """A command that reads what is written with the function this yields; its end is waited for.

    Raises:
        KernelError: it failed, with its words.
    """
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=_environment(None)
    ) as child:
        if child.stdin is None or child.stderr is None:
            raise KernelError(f"{what}: no pipe to {command[0]}")
        try:
            yield child.stdin.write
            child.stdin.close()
        except BrokenPipeError:
            pass
        except BaseException:
            child.kill()
            raise
        said = child.stderr.read().decode(errors="replace").strip()
    if child.returncode:
        raise KernelError(f"{what} failed (exit {child.returncode}): {said}", where=command[0])


def _start(
    command: Sequence[str],
    what: str,
    cwd: Path | None,
    extra: Mapping[str, str] | None,
    keep_open: Iterable[int],
) -> subprocess.Popen[str]:
    environment = _environment(extra)
    if shutil.which(command[0], path=environment.get("PATH")) is None:
        raise KernelError(
            f"{what}: there is no {command[0]} here", hint=packages.advice(command[0]), machine=True
        )
    return subprocess.Popen(
        # Without the user's own modules, and without a look at the environment: it starts in no time.
        [sys.executable, "-I", "-S", str(_KEEPER), *command],
        cwd=cwd,
        env=environment,
        stdin=subprocess.PIPE,  # the keeper's sign that we live
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        pass_fds=tuple(keep_open),
        start_new_session=True,
    )


def _environment(extra: Mapping[str, str] | None) -> dict[str, str]:
    foreign = {f"GIT_{name}" for name in _GIT_LOCAL}
    inherited = {name: value for name, value in os.environ.items() if name not in foreign}
    return {**inherited, "LC_ALL": "C", **(extra or {})}


def _end(child: subprocess.Popen[str]) -> None:
    """End whatever is left of the group, and wait for it: a leader that ends leaves its children behind."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not _is_left(child):
            break
        with suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        end = time.monotonic() + _PATIENCE_S
        while _is_left(child) and time.monotonic() < end:
            time.sleep(0.01)
    for pipe in (child.stdin, child.stdout):
        if pipe:
            pipe.close()
    child.wait()


def _is_left(child: subprocess.Popen[str]) -> bool:
    child.poll()
    try:
        os.killpg(child.pid, 0)
    except ProcessLookupError:
        return False
    return True


def _faults(lines: Sequence[str]) -> str:
    """What went wrong: the compiler's errors with its excerpts, else make's, else the last lines."""
    telling: list[str] = []
    for line in lines:
        excerpt = bool(telling) and re.match(r" +[0-9]* \|", line)
        if excerpt or (_FAULT.search(line) and "***" not in line):
            telling.append(line)
    telling = telling or [line for line in lines if "***" in line] or list(lines[-10:])
    return "\n".join(f"  {line}" for line in telling[:12])


TOOLS = ("gcc", "ld", "make", "flex", "bison", "bc", "bash", "tar", "xz", "perl", "awk", "cmp", "find")
"""The programs that building a kernel takes."""


def missing_tools() -> list[str]:
    """What building a kernel takes and this machine lacks, as needs of `lab.packages`."""
    programs = [program for program in TOOLS if not shutil.which(program)]
    # gcc answers with the bare name when it does not find the file.
    library = answer(["gcc", "-print-file-name=libc.a"], default="").strip()
    return programs if library.startswith("/") else [*programs, "libc.a"]

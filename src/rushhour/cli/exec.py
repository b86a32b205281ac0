"""`rushhour exec`: a program in a scenario's network."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rushhour.cli import SETTINGS
from rushhour.cli.screen import echo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.record.output import Line
    from rushhour.running.executing import Executed

FAILED, BROKEN, INTERRUPTED, SIGNAL = 1, 122, 130, 128
# 122: shells, `timeout`, `xargs` and `env` have the numbers above it.


@click.command(
    context_settings=SETTINGS | {"ignore_unknown_options": True},
    short_help="Run a program in a scenario's network.",
)
@click.argument("scenario")
@click.argument("node")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--kernel", metavar="K", help="Kernel under test; default: the latest version.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Override a key of the scenario.")
@click.option("--env", "variables", multiple=True, metavar="NAME=VALUE", help="A variable of the program's.")
@click.option("--file", "files", multiple=True, metavar="NAME", help="A text beside the scenario to bring.")
@click.option("--needs", multiple=True, metavar="WHAT", help="A program, or whole path, that it uses itself.")
@click.option("--root", metavar="PATH", help="A folder, archive or saved image that it sees as its /.")
@click.option("--input", "given", type=click.File("r"), metavar="FILE", help="Standard input; - is this one.")
@click.option(
    "--expect",
    "expected",
    multiple=True,
    metavar="TEXT",
    help="What must hold of the run: 'goodput > 1mbit'.",
)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Keep the record there.")
@click.option("--fresh", is_flag=True, help="Run it also if it is known what comes of it.")
def exec_(
    scenario: str,
    node: str,
    command: tuple[str, ...],
    *,
    kernel: str | None,
    sets: tuple[str, ...],
    variables: tuple[str, ...],
    files: tuple[str, ...],
    needs: tuple[str, ...],
    root: str | None,
    given: Any,
    expected: tuple[str, ...],
    out: Path | None,
    fresh: bool,
) -> int:
    """Run COMMAND on NODE of SCENARIO's network, in virtual time; its output comes here.

    It begins when the scenario's own programs are ready, beside its flows, and the experiment ends with it,
    at the latest after its duration. The program and what it loads are taken from this machine, and nothing
    else of it is in reach (docs/programs.md).

    With --expect the run is measured afterwards and held against METRIC [of SCOPE] OPERATOR VALUE, as in
    'goodput of curl.back.1 > 1mbit' or 'retransmits = 0'; what the scenario itself expects is not asked.

    \b
    Exit code:
        0    the program's, as are all that are not listed here
        1    the program could not be run
        2    nothing could be run
        122  the program ended well, and an --expect does not hold
        128  and more: the signal that ended the program
        130  interrupted

    Example: rushhour exec web.toml s1 --expect 'program_time < 8s' -- curl -s http://r1:8000/
    """  # noqa: D301 - click wants the letter itself
    from rushhour.running.executing import batch_of, execute, unmet

    first = command[0] if root else here(command[0])
    program: dict[str, Any] = {"node": node, "command": [first, *command[1:]], "until": "exit"}
    program |= {"root": str(Path(root).absolute())} if root else {}
    program |= {"environment": variables_of(variables)} if variables else {}
    program |= {"files": [*files]} if files else {}
    program |= {"needs": [here(need) for need in needs]} if needs else {}
    program |= {"input": given.read()} if given is not None else {}
    with room_for(out) as folder:
        batch = batch_of(scenario, program, folder, kernel_name=kernel, sets=sets, expect=expected)
        try:
            executed = execute(batch, show, fresh=fresh)
        except KeyboardInterrupt:
            return INTERRUPTED
        code = told(executed)
        broken = unmet(executed, batch) if expected else []
        for message in broken:
            echo(f"not as expected: {message}", err=True)
        return code or (BROKEN if broken else 0)


@contextmanager
def room_for(out: Path | None) -> Iterator[Path]:
    """A folder for the record: the one that was named, or one that goes with the block."""
    from rushhour.files import cache, rooms

    if out is not None:
        yield out
        return
    parent = cache.folder("exec")
    parent.mkdir(parents=True, exist_ok=True)
    with rooms.room(parent) as folder:
        yield folder / "results"


def here(word: str) -> str:
    """A path as its whole path; a name stays a name."""
    return str(Path(word).absolute()) if "/" in word else word


def variables_of(words: tuple[str, ...]) -> dict[str, str]:
    """What `--env` says.

    Raises:
        UsageError: a word is not NAME=VALUE.
    """
    from rushhour.errors import UsageError

    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"--env {word}: is not NAME=VALUE", hint=f"for example --env {word}=1")
        found[name] = value
    return found


def show(line: Line) -> None:
    """Print what the program printed, at once."""
    echo(line.text, nl=not line.cut, err=line.stream == "err")
    (sys.stderr if line.stream == "err" else sys.stdout).flush()


def _memory(executed: Executed) -> str:
    """Whether the kernel ended processes for want of memory."""
    said = (executed.record.path / "console.log").read_text("utf-8", "replace")
    return ": the memory of its machine was full" if "Out of memory: Killed" in said else ""


def told(executed: Executed) -> int:
    """The exit code; what went wrong is said."""
    result = executed.result
    if result.started_ns is None:
        echo(f"error: {result.name} {result.error}", err=True)
        return FAILED
    if result.dropped_bytes:
        echo(f"{result.dropped_bytes} more bytes of output are not in the record", err=True)
    if result.stopped and result.signal is not None:
        span = executed.record.context.duration_ns / 1e9
        echo(f"{result.name} was stopped: the experiment lasts {span:g} s (--set duration=…)", err=True)
    elif result.signal is not None:
        echo(f"{result.name} was ended by signal {result.signal}{_memory(executed)}", err=True)
    if result.signal is not None:
        return SIGNAL + result.signal
    return result.exit if result.exit is not None else os.EX_SOFTWARE

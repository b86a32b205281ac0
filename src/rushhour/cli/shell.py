"""`rushhour shell`: a terminal on a node of a scenario's network."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rushhour.cli import SETTINGS
from rushhour.cli.exec import INTERRUPTED, here, room_for, show, told, variables_of
from rushhour.cli.screen import echo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.running.executing import Executed

LONGEST_S = 3600
"""How long a session lasts at most in virtual time, where neither the scenario nor the command says more."""
SHELLS = ("bash", "sh")
TOOLS = (
    *("cat", "cp", "cut", "date", "env", "find", "grep", "head", "hostname", "id", "less", "ls", "mkdir"),
    *("mv", "ps", "rm", "sed", "seq", "sleep", "sort", "stty", "tail", "tee", "timeout", "top", "tr", "tty"),
    *("uniq", "watch", "wc", "xargs", "bridge", "curl", "dig", "ethtool", "ip", "iperf3", "nc", "nstat"),
    *("ping", "socat", "ss", "sysctl", "tc", "tcpdump", "tracepath", "traceroute", "wget"),
)
"""What a shell finds besides itself, as far as this machine has it."""


@click.command(
    context_settings=SETTINGS | {"ignore_unknown_options": True},
    short_help="Open a terminal on a node of a scenario's network.",
)
@click.argument("scenario")
@click.argument("node")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--kernel", metavar="K", help="Kernel under test; default: the latest version.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Override a key of the scenario.")
@click.option("--env", "given", multiple=True, metavar="NAME=VALUE", help="A variable of the shell's.")
@click.option("--file", "files", multiple=True, metavar="NAME", help="A text beside the scenario to bring.")
@click.option("--needs", multiple=True, metavar="WHAT", help="A program, or whole path, to bring besides.")
@click.option("--root", metavar="PATH", help="A folder, archive or saved image that it sees as its /.")
@click.option(
    "--speed",
    type=click.FloatRange(0.01, 1000),
    metavar="N",
    help="Seconds of virtual time in one of yours, at most; default: 1.",
)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Keep the record there.")
def shell(
    scenario: str,
    node: str,
    command: tuple[str, ...],
    *,
    kernel: str | None,
    sets: tuple[str, ...],
    given: tuple[str, ...],
    files: tuple[str, ...],
    needs: tuple[str, ...],
    root: str | None,
    speed: float | None,
    out: Path | None,
) -> int:
    """Open a shell, or COMMAND, on NODE of SCENARIO's network at this terminal, beside its traffic.

    Virtual time goes on with the clock on the wall, also while nobody types: so what is typed is never
    repeatable. The experiment ends with the shell (exit, or Control-D), at the latest after an hour of
    virtual time (--set duration=...). The shell has the usual tools of this machine, as far as they are
    installed (docs/programs.md).

    Where the standard input is no terminal, the shell reads its commands from it, as it would anywhere: in
    virtual time, with no clock on a wall, the same every time.

    \b
    Exit code:
        0    the shell's, as are all that are not listed here
        1    the shell could not be run
        2    nothing could be run
        128  and more: the signal that ended it
        130  interrupted before it began

    Example: rushhour shell page-over-mobile phone
    """  # noqa: D301 - click wants the letter itself
    from rushhour.errors import UsageError
    from rushhour.lab import terminal

    sits = terminal.is_there()
    if speed is not None and not sits:
        raise UsageError(
            "--speed: the standard input is no terminal, so no clock on a wall is waited for",
            hint="leave it out",
        )
    if sits and out is not None and out.exists():
        raise UsageError(
            "the folder is there already, and no session is like another",
            where=str(out),
            hint="name a new one with --out",
        )
    program = _program(node, command, root, typed=sits)
    program["environment"] |= variables_of(given)
    program["files"] = [*files]
    program["needs"] += [here(need) for need in needs]
    if not sits:
        program["input"] = _input()
    try:
        with room_for(out) as folder:
            if sits:
                keep, speed = out is not None, speed or 1
                return told(_sit(scenario, program, folder, kernel=kernel, sets=sets, speed=speed, keep=keep))
            from rushhour.running.executing import batch_of, execute

            return told(execute(batch_of(scenario, program, folder, kernel_name=kernel, sets=sets), show))
    except KeyboardInterrupt:
        return INTERRUPTED


def _sit(
    scenario: str,
    program: dict[str, Any],
    folder: Path,
    *,
    kernel: str | None,
    sets: Sequence[str],
    speed: float,
    keep: bool,
) -> Executed:
    from rushhour.lab import terminal
    from rushhour.running.executing import batch_of, sit_at

    # Of an hour of traffic nobody wants a row for each ACK, where the record is thrown away.
    less = () if keep else ("readings.tcp_probe=false", "readings.events=false")
    batch = batch_of(scenario, program, folder, kernel_name=kernel, sets=(*less, *sets))
    if batch.scenario.span.seconds < LONGEST_S and not any(one.startswith("duration") for one in sets):
        sets = (f"duration={LONGEST_S}s", *sets)
        batch = batch_of(scenario, program, folder, kernel_name=kernel, sets=(*less, *sets))
    pace = "with the clock on the wall" if speed == 1 else f"{speed:g} times as fast as the clock on the wall"
    echo(f"{program['node']}: virtual time goes on {pace}, also while you think; exit ends it", err=True)
    with terminal.lent(speed) as mine:
        return sit_at(batch, mine)


def _program(node: str, command: Sequence[str], root: str | None, *, typed: bool) -> dict[str, Any]:
    """The shell, or the command, as keys of `[[program]]`."""
    from rushhour.lab import loading, terminal

    program: dict[str, Any] = {"node": node, "until": "exit", "needs": []}
    environment = {"PS1": f"{node}:\\w# "}
    if root is None:
        name = next((one for one in SHELLS if loading.where(one)), "sh")
        program["needs"] = [one for one in (*SHELLS, *TOOLS) if one != name and loading.where(one)]
    else:
        # The root says which it has; every system has this one.
        name = "sh"
        program["root"] = str(Path(root).absolute())
    if name == "sh":
        environment["PS1"] = f"{node}# "
    words = [name, "--norc"] if name == "bash" else [name]
    if command:
        words = [command[0] if root else here(command[0]), *command[1:]]
    program["command"] = words
    if typed:
        kind, where = terminal.kind()
        environment["TERM"] = kind
        program["needs"] += [str(where)] if where is not None and root is None else []
    program["environment"] = environment if typed else {}
    return program


def _input() -> str:
    from rushhour.errors import UsageError

    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise UsageError(f"the standard input is no text: {error.reason}") from error

"""The command line: `rushhour`.

Commands are found by name and imported when they are used, so that `rushhour` alone answers at once; none of
their modules imports a scientific package before it runs. Errors are told here, in one place, on standard
error.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

import click

from rushhour.cli.asked import Asked
from rushhour.errors import RushHourError, ScenarioError
from rushhour.plain import harmless, indented
from rushhour.version import __version__

if TYPE_CHECKING:
    from typing import NoReturn

# In the order of the help page. `rushhour NAME` is `rushhour.cli.NAME.NAME`, or as said here.
COMMANDS = {
    "demo": "demo:demo",
    "new": "new:new",
    "run": "run:run",
    "exec": "exec:exec_",
    "shell": "shell:shell",
    "list": "list:list_scenarios",
    "show": "show:show",
    "report": "report:report",
    "compare": "compare:compare",
    "diagnose": "diagnose:diagnose",
    "export": "export:export",
    "check": "check:check",
    "bisect": "bisect:bisect",
    "debug": "debug:debug",
    "packetdrill": "packetdrill:packetdrill",
    "coverage": "coverage:coverage",
    "kernel": "kernel:kernel",
    "cache": "cache:cache",
    "baseline": "baseline:baseline",
    "db": "db:db",
    "history": "history:history",
    "serve": "serve:serve",
    "ci": "ci:ci",
    "hosts": "hosts:hosts",
    "fleet": "fleet:fleet",
    "barrier": "barrier:barrier",
    "tune": "tune:tune",
    "profile": "profile:profile",
    "restore": "restore:restore",
    "doctor": "doctor:doctor",
    "help": "help:show_help",
    "completion": "completion:completion",
}
# What each of them says of itself in its first line: to list them no module of theirs is imported.
SUMMARIES = {
    "demo": "BBR against CUBIC over three buffers, in seconds.",
    "new": "Write a commented scenario to begin with.",
    "run": "Run scenarios and report what came of them.",
    "exec": "Run a program in a scenario's network.",
    "shell": "Open a terminal on a node of a scenario's network.",
    "list": "List or search the studies and scenarios.",
    "show": "Show what a scenario would do; nothing runs.",
    "report": "Write a page, figures or tables of results.",
    "compare": "Judge a kernel or results against others.",
    "diagnose": "Find out why a transfer between two hosts is slow.",
    "export": "Results as JUnit, TAP, KCIDB, tmt and more.",
    "check": "Judge a kernel tree's changes, by the cells that run them.",
    "bisect": "Find the commit that changed what a scenario measures.",
    "debug": "Make a run again under gdb; time stands still with it.",
    "packetdrill": "Run packetdrill's scripts on a kernel, in virtual time.",
    "coverage": "Say which lines of the kernel scenarios execute.",
    "kernel": "Build and keep the kernels under test.",
    "baseline": "Keep runs under a name to judge others by.",
    "db": "Keep runs, metrics and verdicts in a database.",
    "history": "Show a metric over kernels, and where it changed.",
    "serve": "A playground and the results in the browser.",
    "ci": "Write job files for GitHub, GitLab, NIPA, tmt, Beaker, cron.",
    "hosts": "Look after the machines of the hosts lab.",
    "fleet": "Start workers on ssh hosts, look at them, end them.",
    "barrier": "Let several machines wait for each other.",
    "tune": "Recommend, apply and verify settings for a path.",
    "profile": "Show how machines are prepared for experiments.",
    "restore": "Put back settings that were left changed at each PLACE.",
    "doctor": "Say what this machine can do, and what mends it.",
    "cache": "Show what is kept on this machine, and how large it may grow.",
    "help": "Show the help page of a command.",
    "completion": "Print what makes TAB complete, for your shell.",
}
# The first page has them in groups; what no group names comes last.
GROUPS = {
    "Begin": ("demo", "new", "doctor", "cache"),
    "Experiment": ("list", "show", "run", "exec", "shell", "report", "serve"),
    "Kernels": ("kernel", "check", "bisect", "debug", "coverage", "packetdrill"),
    "Same, better or worse": ("compare", "baseline", "db", "history", "export", "ci"),
    "Real machines": ("fleet", "diagnose", "tune", "hosts", "profile", "restore", "barrier"),
    "Help": (),
}
INTERRUPTED = 130


def grouped() -> dict[str, list[str]]:
    """The names of the commands by their groups."""
    placed = {name for names in GROUPS.values() for name in names}
    found = {title: [name for name in names if name in COMMANDS] for title, names in GROUPS.items()}
    found["Help"] += [name for name in COMMANDS if name not in placed]
    return found


class _Lazy(click.Group):
    """A group that imports a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's interface
        # Not `list`: that is a module of this package, once it is imported.
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(f"rushhour.cli.{module}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            from rushhour.cli.pages import unknown

            unknown(ctx, args[0], [*COMMANDS])
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        width = max(map(len, COMMANDS))
        for title, names in grouped().items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", SUMMARIES[name]) for name in names])


# Given to every command: one keeps the help options it was first asked with, by whatever way.
SETTINGS = {"help_option_names": ["-h", "--help"]}


@click.command(
    cls=_Lazy,
    context_settings=SETTINGS,
    epilog="Example: rushhour demo",
)
@click.version_option(__version__, message="rushhour %(version)s")
def cli() -> None:
    """A congestion laboratory: the real kernel's TCP, in virtual time, repeatable to the byte."""


def _heed_encodings() -> None:
    """Let no sign that a terminal's encoding lacks end the program: "?" stands for it.

    Names of files that are no text are written as the bytes that they are.
    """
    codecs.register_error("shown", _shown)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="shown")


def _shown(fault: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(fault, UnicodeEncodeError):
        raise fault
    signs = fault.object[fault.start : fault.end]
    escaped = (bytes([ord(sign) - 0xDC00]) if "\udc80" <= sign <= "\udcff" else b"?" for sign in signs)
    return b"".join(escaped), fault.end


def _heed_closed_streams() -> None:
    """Let a standard stream that the starter closed (`>&-`) be one that holds nothing.

    Else the next file that is opened would take its number, and what is printed would go into that.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            os.set_inheritable(number, True)  # noqa: FBT003
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))  # noqa: SIM115


def main() -> None:
    """Run the command line; the only place where errors become words and exit codes."""
    _heed_closed_streams()
    if (line := os.environ.get("_RUSHHOUR_COMPLETE")) is not None:  # noqa: TID251 - a shell asks
        from rushhour.cli.complete import answer

        answer(line)
        return
    asked = Asked()
    asked.heed()
    _heed_encodings()
    try:
        _carry_out()
    except BaseException as error:
        if isinstance(error, SystemExit) or not asked.raised:
            raise
        _tell_interrupted(error)  # what code that is not Python's made of an interrupt
    finally:
        asked.let_go()


def _carry_out() -> None:
    try:
        code = cli.main(prog_name="rushhour", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except RushHourError as error:
        tell(error)
        sys.exit(error.exit_code)
    except click.ClickException as error:
        said = io.StringIO()
        error.show(said)
        usage, error_word, message = said.getvalue().partition("Error: ")
        click.echo(harmless(usage + error_word + indented(message.rstrip("\n"))), err=True)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort) as error:
        _tell_interrupted(error)
    except BrokenPipeError:
        # Whoever read our output has seen enough; Python would complain once more when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except ImportError as error:
        if (error.name or "").startswith("rushhour"):
            raise
        broken = RushHourError(f"a Python package is missing or broken: {error}", machine=True)
        click.echo(f"error: {broken}", err=True)  # not by `tell`: it may be what that needs
        sys.exit(broken.exit_code)
    except OSError as error:
        told = _of_the_disk(error)
        if told is None:
            raise
        tell(told)
        sys.exit(told.exit_code)


def _tell_interrupted(error: BaseException) -> NoReturn:
    from rushhour.cli.interrupted import sentence

    click.echo(sentence(error), err=True)
    sys.exit(INTERRUPTED)


_ADVICE = {
    errno.ENOSPC: "make room, or name another folder with --out",
    errno.EDQUOT: "make room, or name another folder with --out",
    errno.EROFS: "name another folder with --out",
    errno.EACCES: "name another folder with --out, or ask whoever owns it",
}


def _of_the_disk(error: OSError) -> RushHourError | None:
    """What the user's own folders refuse; None for what is a fault of the program."""
    if error.errno not in _ADVICE:
        return None
    where, hint = str(error.filename) if error.filename else None, _ADVICE[error.errno]
    if where is None:  # of a file that is open already, as standard output
        hint += "; or let standard output lead elsewhere"
    return RushHourError(f"cannot write: {error.strerror}", where=where, hint=hint)


def tell(error: RushHourError) -> None:
    """Print an error to standard error: what, where, and what to do next."""
    from rich.console import Console
    from rich.text import Text

    from rushhour.cli.screen import say

    console = Console(stderr=True, highlight=False)
    place = f"{error.where}: " if error.where else ""
    # Indented: a name with a line feed in it begins no line of ours.
    message = error.message if isinstance(error, ScenarioError) else indented(error.message)
    say(console, Text.assemble(("error: ", "bold red"), (place, "bold"), message))
    if error.hint:
        say(console, f"  {indented(error.hint)}")

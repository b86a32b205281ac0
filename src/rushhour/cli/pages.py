"""The page of all commands, in groups; and what is said of a word that is none of them."""

from __future__ import annotations

import shlex
import shutil
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import click

GROUPS = {
    "Begin": ("demo", "new", "doctor"),
    "Experiment": ("list", "show", "run", "report", "serve", "kernel"),
    "Same, better or worse": ("compare", "bisect", "baseline", "db", "history", "export", "ci"),
    "Real machines": ("diagnose", "tune", "hosts", "profile", "restore", "barrier"),
}
"""The commands of the first page; those that no group names come last."""
REST = "Help"


def groups(group: click.Group, ctx: click.Context) -> Iterator[tuple[str, list[tuple[str, click.Command]]]]:
    """The commands in their groups: titles, names and commands."""
    names = group.list_commands(ctx)
    placed = {name for members in GROUPS.values() for name in members}
    rest = {REST: tuple(name for name in names if name not in placed)}
    for title, members in {**GROUPS, **rest}.items():
        known = ((name, group.get_command(ctx, name)) for name in members if name in names)
        shown = [(name, command) for name, command in known if command is not None and not command.hidden]
        if shown:
            yield title, shown


def write_commands(group: click.Group, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the commands in their groups, as click writes all in one."""
    width = max(map(len, group.list_commands(ctx)))
    for title, members in groups(group, ctx):
        limit = formatter.width - 6 - width
        with formatter.section(title):
            formatter.write_dl(
                [(f"{name:<{width}}", command.get_short_help_str(limit)) for name, command in members]
            )


def unknown(ctx: click.Context, word: str, known: Sequence[str]) -> NoReturn:
    """Refuse a word that is no command, with what was likely meant.

    Raises:
        UsageError: always.
    """
    near = get_close_matches(word, known, n=3, cutoff=0.6)
    if near:
        guess = " or ".join(f"'{name}'" for name in near)
        ctx.fail(f"There is no command '{word}'. Did you mean {guess}?")
    if _is_scenario(word):
        ctx.fail(f"There is no command '{word}'. To run a scenario: {ctx.command_path} run {word}")
    ctx.fail(f"There is no command '{word}'. '{ctx.command_path} help' shows all.")


def program() -> str:
    """How this program is called from here: by its name where the shell finds it, else as it was called."""
    called = sys.argv[0]
    found = shutil.which("rushhour")
    if Path(called).name != "rushhour" or (found and Path(called).resolve() == Path(found).resolve()):
        return "rushhour"
    return shlex.quote(called)


def _is_scenario(word: str) -> bool:
    from rushhour.cli.names import scenarios, short, studies

    return (word.endswith(".toml") and Path(word).is_file()) or word in {*scenarios(), *short(), *studies()}

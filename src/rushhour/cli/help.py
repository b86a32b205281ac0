"""`rushhour help`: the help page of a command, and what can be said in a scenario."""

from __future__ import annotations

import sys
from importlib import import_module

import click

from rushhour.cli import SETTINGS
from rushhour.cli.screen import echo

# Documents that are made from the program itself: `MODULE:FUNCTION` gives each as Markdown.
TOPICS = {"scenario": "rushhour.spec.reference:reference", "metrics": "rushhour.metrics.document:render"}


@click.command("help", context_settings=SETTINGS, short_help="Show the help page of a command.")
@click.argument("words", nargs=-1, metavar="[COMMAND... | TOPIC]")
@click.pass_context
def show_help(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Show the help page of a COMMAND, or of all; the same as --help after it.

    \b
    Topics:
        scenario   every key of a scenario, with its units and defaults
        metrics    every metric and series, with its definition

    Example: rushhour help kernel build
    """  # noqa: D301 - click wants the letter itself
    if len(words) == 1 and words[0] in TOPICS:
        module, _, name = TOPICS[words[0]].partition(":")
        _show(getattr(import_module(module), name)())
        return
    here = ctx.find_root()
    for word in words:
        found = _within(here, word)
        here = click.Context(found, parent=here, info_name=word, help_option_names=ctx.help_option_names)
    echo(here.get_help())


def _within(here: click.Context, word: str) -> click.Command:
    """The command of this name in a group."""
    from rushhour.cli.pages import unknown

    group = here.command
    if not isinstance(group, click.Group):
        here.fail(f"'{here.command_path}' has no commands of its own.")
    found = group.get_command(here, word)
    if found is None:
        topics = [*TOPICS] if here.parent is None else []
        unknown(here, word, [*group.list_commands(here), *topics])
    return found


def _show(text: str) -> None:
    """A document: drawn and a page at a time for a person, as it stands for a program."""
    if not sys.stdout.isatty():
        echo(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    with console.pager(styles=True):
        console.print(Markdown(text))

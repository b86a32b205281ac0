"""`rushhour completion`: what makes the TAB key know the commands, the scenarios and the kernels."""

from __future__ import annotations

from importlib.resources import files

import click

from rushhour.cli import SETTINGS
from rushhour.cli.screen import echo

SCRIPTS = {"bash": "completion.bash", "zsh": "completion.zsh", "fish": "completion.fish"}


@click.command(context_settings=SETTINGS, short_help="Print what makes TAB complete, for your shell.")
@click.argument("shell", type=click.Choice(list(SCRIPTS)))
def completion(shell: str) -> None:
    """Print what makes the TAB key complete commands, options, scenarios, kernels, metrics and keys.

    \b
    bash   eval "$(rushhour completion bash)"       in ~/.bashrc
    zsh    eval "$(rushhour completion zsh)"        in ~/.zshrc, after compinit
    fish   rushhour completion fish | source        in ~/.config/fish/config.fish

    Example: rushhour completion bash
    """  # noqa: D301 - click wants the letter itself
    echo(script(shell), nl=False)


def script(shell: str) -> str:
    """The script of a shell (`SCRIPTS`)."""
    return (files("rushhour.cli") / "shells" / SCRIPTS[shell]).read_text("utf-8")

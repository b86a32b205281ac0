"""What is said of a word that is no command, and how this program is called."""

from __future__ import annotations

import shlex
import shutil
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Sequence

    import click


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
        run = f"{ctx.command_path} run {shlex.quote(word)}"
        ctx.fail(f"There is no command '{word}'. To run a scenario: {run}")
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

"""The options of commands that run packetdrill's scripts beside something else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


def drilling(command: F) -> F:
    """Give a command the options that say which packetdrill its scripts are run by.

    They come as the arguments `binary` and `source`.
    """
    options = (
        click.option(
            "--binary", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
            help="With --packetdrill: its program.",
        ),
        click.option(
            "--source", metavar="TREE[@REVISION]", help="With --packetdrill: build it from this source."
        ),
    )  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command

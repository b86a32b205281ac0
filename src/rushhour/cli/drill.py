"""The options of commands that run packetdrill's scripts beside something else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rushhour.cli.options import with_options

if TYPE_CHECKING:
    from rushhour.cli.options import F


def drilling(command: F) -> F:
    """Give a command the options that say which packetdrill its scripts are run by.

    They come as the arguments `binary` and `source`.
    """
    return with_options(
        command,
        click.option(
            "--binary", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
            help="With --packetdrill: its program.",
        ),
        click.option(
            "--source", metavar="TREE[@REVISION]", help="With --packetdrill: build it from this source."
        ),
    )  # fmt: skip

"""`python -m systems`: bare Debian and Ubuntu, and in each what a newcomer does, up to the first plot."""

from __future__ import annotations

import os
import shutil
import sys
import time
from contextlib import closing

import click

from rushhour.errors import RushHourError
from rushhour.lab import packages

from .root import SYSTEMS, NotTriedError, System
from .trial import steps, wheels

NOT_TRIED = 3


@click.command(help=__doc__)
@click.argument("names", nargs=-1, type=click.Choice([system.name for system in SYSTEMS]))
@click.option("--tests", is_flag=True, help="And the tests that need nothing, with each system's Python.")
def main(names: tuple[str, ...], *, tests: bool) -> None:
    """NAMES: which; all if there are none. Exit code: 0 all well, 1 a step failed, 3 one was not tried."""
    if os.geteuid() != 0:
        raise click.ClickException("it takes root: roots are made and entered")
    if not shutil.which("debootstrap"):
        raise click.ClickException(f"debootstrap is missing: {packages.advice('debootstrap')}")
    if not wheels():
        click.echo("no wheels in dist/: the way of the wheel is not tried (`make wheels` makes them)")
    codes = [_try(system, tests=tests) for system in SYSTEMS if not names or system.name in names]
    sys.exit(1 if 1 in codes else max(codes))


def _try(system: System, *, tests: bool) -> int:
    click.echo(system.name)
    try:
        with closing(steps(system, tests=tests)) as all_steps:
            for name, step in all_steps:
                began = time.monotonic()
                click.echo(f"  {name} … ", nl=False)
                said = step()
                click.echo(f"{time.monotonic() - began:.0f} s  {said}")
    except NotTriedError as error:
        click.echo(f"  NOT TRIED: {error}")
        return NOT_TRIED
    except RushHourError as error:
        click.echo(f"FAILED\n  {error}")
        return 1
    return 0


if __name__ == "__main__":
    main()

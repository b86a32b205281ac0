"""`rushhour diagnose`: why is the transfer between two ends slow?"""

from __future__ import annotations

from pathlib import Path

import click

from rushhour.cli import INTERRUPTED, SETTINGS
from rushhour.cli.screen import console, tell_json


@click.command(context_settings=SETTINGS, short_help="Find out why a transfer between two hosts is slow.")
@click.argument("a")
@click.argument("b")
@click.option("--quick", is_flag=True, help="About 6 s instead of 25 s; rare losses may go unseen.")
@click.option("--rate", metavar="RATE", help='Send no datagrams faster than this ("50mbit").')
@click.option(
    "--address-a", metavar="ADDRESS", help="Address of A to which data goes; default: by the routes."
)
@click.option("--address-b", metavar="ADDRESS", help="Address of B, likewise.")
@click.option("--all", "every", is_flag=True, help="Show every setting, note and counter.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the diagnosis; default: results/diagnose/A..B/DATE-TIME.",
)
@click.option(
    "--ssh-config",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    envvar="RUSHHOUR_SSH_CONFIG",
    help="Configuration of the OpenSSH client, instead of the user's.",
)
@click.option("--sudo", is_flag=True, help="Start the agent by `sudo -n` at both ends.")
@click.option(
    "--json", "as_json", is_flag=True, help="The diagnosis as one JSON document on standard output."
)
def diagnose(
    a: str,
    b: str,
    *,
    quick: bool,
    rate: str | None,
    address_a: str | None,
    address_b: str | None,
    every: bool,
    out: Path | None,
    ssh_config: Path | None,
    sudo: bool,
    as_json: bool,
) -> int:
    """Read the hosts A and B, measure the path between them in both directions, and say what limits it.

    A and B are each `local`, `netns:NAME`, or a host as `ssh` knows it. Nothing is installed there and no
    setting is changed. TCP loads the path at full rate for some seconds.

    \b
    Exit code:
        0    nothing is wrong
        1    findings
        2    a host cannot be reached, or an argument is invalid
        130  interrupted

    Example: rushhour diagnose local alice@example.org --quick
    """  # noqa: D301 - click wants the letter itself
    from rushhour.cli.screen import printer
    from rushhour.cli.waiting import waiting
    from rushhour.diagnosis.live import PAGE, Asked, carry_out
    from rushhour.report.diagnosis import page
    from rushhour.report.diagnosis.screen import screen

    words = console(stderr=True)
    asked = Asked(a, b, quick, _rate(rate), ssh_config, sudo, address_a, address_b, out)
    try:
        with waiting(words) as tell:
            made = carry_out(asked, tell)
            assert made.folder is not None
            page.write(made, made.folder / PAGE)
    except KeyboardInterrupt:
        words.print("interrupted; nothing was left at either end")
        return INTERRUPTED
    if as_json:
        tell_json(made.document())
    else:
        printer().print(screen(made, every=every))
        printer().print(f"\n{made.folder / PAGE}", highlight=False, soft_wrap=True, markup=False)
    return made.exit


def _rate(word: str | None) -> float | None:
    from rushhour.errors import UsageError
    from rushhour.quantities.units import Rate, UnitError

    if word is None:
        return None
    try:
        return float(Rate.parse(word).bps)
    except UnitError as error:
        raise UsageError(f"--rate: {error}") from error

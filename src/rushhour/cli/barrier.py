"""`rushhour barrier`: machines wait for each other."""

from __future__ import annotations

import click

from rushhour.cli import SETTINGS
from rushhour.cli.screen import echo, tell_json


@click.command(context_settings=SETTINGS, short_help="Let several machines wait for each other.")
@click.argument("name")
@click.option("--parties", required=True, metavar="A,B", help="All who are to meet.")
@click.option("--me", required=True, metavar="A", help="Which of them this is.")
@click.option("--at", required=True, metavar="HOST:PORT", help="Where the first of the parties listens.")
@click.option("--timeout", default=600.0, show_default=True, metavar="SECONDS", help="How long to wait.")
@click.option(
    "--say", default="", metavar="TEXT", help="Text for the other parties, such as where the logs are."
)
@click.option("--failed", is_flag=True, help="This party cannot go on: all others fail at once.")
@click.option("--json", "as_json", is_flag=True, help="What each said as one JSON document.")
def barrier(
    name: str, *, parties: str, me: str, at: str, timeout: float, say: str, failed: bool, as_json: bool
) -> None:
    """Wait at the barrier NAME until all parties have arrived; the first of them listens.

    \b
    Exit code:
        0  all have arrived
        1  one failed, disconnected or did not arrive
        2  the arguments are invalid

    Example: rushhour barrier ready --parties client,server --me server --at client.lab:7010
    """  # noqa: D301 - click wants the letter itself
    from rushhour.ci import Meeting, meet
    from rushhour.errors import UsageError

    host, _, port = at.rpartition(":")
    if not host or not port.isdecimal():
        raise UsageError(f"{at!r} is not an address", hint="write HOST:PORT, such as client.lab:7010")
    names = [part.strip() for part in parties.split(",") if part.strip()]
    listens = bool(names) and names[0] == me
    said = meet(Meeting(name, names, me, host.strip("[]"), int(port), listens, timeout, say, failed))
    if as_json:
        tell_json(said)
    else:
        for party, text in said.items():
            echo(f"{party}: {text}" if text else party)

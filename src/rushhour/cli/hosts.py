"""`rushhour hosts`: are machines able to take part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rushhour.cli import SETTINGS
from rushhour.cli.screen import tell_json

if TYPE_CHECKING:
    from rushhour.lab.host.able import Ability
    from rushhour.lab.host.clocks import Offset


@click.group(context_settings=SETTINGS)
def hosts() -> None:
    """Look after the machines of the hosts lab.

    Example: rushhour hosts check alice bob
    """


@hosts.command(short_help="Say whether the agent can work at each PLACE.")
@click.argument("places", nargs=-1, required=True, metavar="PLACE...")
@click.option("--ssh-config", type=click.Path(dir_okay=False), help="A configuration for `ssh -F`.")
@click.option("--sudo", is_flag=True, help="Start the agents there by `sudo -n`.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def check(places: tuple[str, ...], *, ssh_config: str | None, sudo: bool, as_json: bool) -> int:
    """Say whether the agent can work at each PLACE, what is missing there, and what that costs.

    A place is `local`, `netns:NAME`, `netns:PID`, or a name for the OpenSSH client (alice, user@host); an
    inventory, `hosts.toml`, stands for the places it names. The agent is sent there, asked, and
    removed; nothing is changed.

    Exit code: 0 all can be used, 1 something is missing, 2 one cannot be reached.

    Example: rushhour hosts check local alice bob@example.org
    """
    from rushhour.lab.host import able

    found = able.check(_named(places), ssh_config=ssh_config, sudo=sudo)
    if as_json:
        document = {"format": able.FORMAT, "hosts": [one.document() for one in found]}
        tell_json(document)
    else:
        for one in found:
            _tell(one)
    if any(one.error for one in found):
        return 2
    return 1 if any(one.lacks for one in found) else 0


def _named(words: tuple[str, ...]) -> list[str]:
    """The places meant: those of an inventory in the place of its file, each once."""
    from pathlib import Path

    from rushhour.lab.host.inventory import load_inventory

    places: list[str] = []
    for word in words:
        inventory = load_inventory(Path(word), fewest=1) if word.endswith(".toml") else None
        places += [word] if inventory is None else [host.at for host in inventory.host.values()]
    return list(dict.fromkeys(places))


def _tell(one: Ability) -> None:
    from rich.text import Text

    from rushhour.cli.screen import printer

    console = printer(soft_wrap=True, highlight=False)
    if one.error:
        console.print(Text.assemble((f"{one.place}  ", "bold"), ("not reached: ", "red"), one.error.message))
        if one.error.hint:
            console.print(Text(f"  {one.error.hint}"))
        return
    hello, clock = one.hello, one.clock
    assert hello is not None
    assert clock is not None
    kernel = hello["kernel"]
    who = f"{hello['cpus']} CPUs, {'root' if hello['uid'] == 0 else 'user ' + str(hello['uid'])}"
    console.print(
        Text.assemble(
            (f"{one.place}  ", "bold"),
            f"{hello['hostname']}, Linux {kernel['release']} {kernel['machine']}, {who}",
        )
    )
    console.print(Text(f"  reached  in {one.opened_s:.2f} s"))
    console.print(Text(f"  clock    {_clock(clock)}"))
    console.print(Text(f"  TCP      {' '.join(one.algorithms) or '?'}"))
    if not one.lacks:
        console.print(Text("  able     all that Rush Hour can do there"))
    for lack in one.lacks:
        console.print(Text.assemble(("  lacks    ", "yellow"), (lack.what, "bold"), f": {lack.cost}"))
        if lack.remedy:
            console.print(Text(f"           {lack.remedy}"))


def _clock(clock: Offset) -> str:
    if not clock.error_ns:
        return "this machine's"
    return f"{clock.ns / 1e9:+.6f} s from this machine's, known to {clock.error_ns / 1e3:.0f} µs"

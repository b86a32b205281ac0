"""`rushhour fleet`: workers on ssh hosts, started, looked at and ended."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rushhour.cli import SETTINGS
from rushhour.cli.screen import echo, tell_json
from rushhour.quantities.words import plural

if TYPE_CHECKING:
    from rushhour.fleet.status import Host, Status

_NAME = click.option("--name", metavar="NAME", help="Which fleet.  [default: the only one, else `default`]")


@click.group(context_settings=SETTINGS)
def fleet() -> None:
    """Start workers on ssh hosts, look at them, end them.

    Example: rushhour fleet up hosts.toml
    """


@fleet.command(short_help="Start a scheduler here, and workers elsewhere.")
@click.argument("hosts", type=click.Path(dir_okay=False, path_type=Path), metavar="HOSTS")
@_NAME
@click.option("--scheduler", metavar="PLACE", help="Where the scheduler is.  [default: local]")
@click.option(
    "--listen", metavar="ADDRESS", help="Where it listens.  [default: as the hosts see its machine]"
)
@click.option(
    "--port", type=click.IntRange(1, 65535), metavar="PORT", help="[default: 8786, or any if it is taken]"
)
@click.option(
    "--wheels", type=click.Path(file_okay=False, path_type=Path), metavar="FOLDER",
    help="Send these wheels along, for hosts without a package index.",
)  # fmt: skip
@click.option(
    "--days",
    type=click.IntRange(1, 3650),
    default=30,
    show_default=True,
    help="How long certificates are valid.",
)
@click.option("--ssh-config", type=click.Path(dir_okay=False), help="A configuration for `ssh -F`.")
def up(
    hosts: Path,
    *,
    name: str | None,
    scheduler: str | None,
    listen: str | None,
    port: int | None,
    wheels: Path | None,
    days: int,
    ssh_config: str | None,
) -> int:
    """Start a scheduler here, and workers at the machines of the inventory HOSTS.

    A host needs Python 3.11 or newer and a login by key; the rest is set up there, once. All talk by TLS,
    with certificates of this fleet. A host that cannot take part is named and set aside. Of a fleet that
    is up what is missing is started.

    Exit code: 0 all take part, 1 some were set aside, 2 none can.

    Example: rushhour fleet up hosts.toml --name lab
    """
    from rushhour.extras import need
    from rushhour.fleet import state

    need("fleet", "rushhour fleet")
    from rushhour.fleet.up import Asked
    from rushhour.fleet.up import up as start
    from rushhour.lab.host.inventory import load_inventory

    asked = Asked(_address(listen), port, scheduler, wheels, ssh_config, days)
    chosen = name or state.DEFAULT
    made = start(chosen, load_inventory(hosts, fewest=1), asked, lambda text: echo(text, err=True))
    workers = sum(one.workers for one in made.members.values() if one.state == "up")
    aside = [one.name for one in made.members.values() if one.state != "up"]
    echo(f"fleet {chosen}: {plural(workers, 'worker')}; use it with --on fleet:{chosen}")
    if aside:
        echo(f"not in it: {', '.join(aside)}; the same command tries them again", err=True)
    return 1 if aside else 0


@fleet.command()
@_NAME
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def status(name: str | None, *, as_json: bool) -> int:
    """Show the workers of a fleet, and who is missing.

    Exit code: 0 all that was started is there, 1 something is missing, 2 the scheduler does not answer.

    Example: rushhour fleet status
    """
    from rushhour.fleet import state
    from rushhour.fleet.status import look

    found = look(state.known(_chosen(name)))
    if as_json:
        tell_json(found.document())
    else:
        _tell(found)
    if found.error is not None:
        return 2
    return 0 if found.whole else 1


@fleet.command(short_help="End a fleet, also one that was left half-started.")
@_NAME
@click.option(
    "--purge",
    is_flag=True,
    help="Remove from the hosts also environments and kernels kept for the next time.",
)
@click.option("--forget", is_flag=True, help="Forget the fleet even if a host cannot be reached.")
def down(name: str | None, *, purge: bool, forget: bool) -> None:
    """End a fleet: every process at every host, keys and scratch; also one that was left half-started.

    Example: rushhour fleet down
    """
    from rushhour.fleet.down import down as end

    chosen = _chosen(name)
    ended = end(chosen, purge=purge, forget=forget, tell=lambda text: echo(text, err=True))
    echo(f"fleet {chosen} is down: {ended} process{'es' * (ended != 1)} ended")


@fleet.command(short_help="Download what hosts without a package index need.")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--python", metavar="VERSION", help="The hosts' Python: 3.12.  [default: as here]")
def wheels(folder: Path, python: str | None) -> None:
    """Download into FOLDER what hosts without a package index need, for `fleet up --wheels`.

    Example: rushhour fleet wheels wheels --python 3.12
    """
    from rushhour.extras import need
    from rushhour.fleet import wheel

    need("fleet", "rushhour fleet")
    echo(
        f"{folder}: {plural(wheel.fetch(folder, python), 'wheel')}; "
        f"use it with `rushhour fleet up --wheels {shlex.quote(str(folder))}`"
    )


def _chosen(name: str | None) -> str:
    from rushhour.fleet import state

    names = state.names()
    return name or (names[0] if len(names) == 1 else state.DEFAULT)


def _address(text: str | None) -> str | None:
    from ipaddress import ip_address

    from rushhour.errors import UsageError

    if text is None:
        return None
    try:
        return str(ip_address(text))
    except ValueError:
        raise UsageError(
            f"--listen {text!r} is not an IP address", hint="for example --listen 192.0.2.1"
        ) from None


def _tell(found: Status) -> None:
    from rich.text import Text

    from rushhour.cli.screen import print_table, printer

    console = printer(highlight=False)
    fleet = found.fleet
    console.print(Text.assemble((f"fleet {fleet.name}", "bold"), f"  {fleet.scheduler or 'no scheduler'}"))
    console.print(Text(f"begun {fleet.begun}, certificates valid until {fleet.ends}"))
    if found.error:
        console.print(Text.assemble(("error: ", "bold red"), found.error.message))
        console.print(Text(f"  {found.error.hint}"))
    headings = ("host", "state", "workers", "busy", "memory", "tasks", "rushhour")
    rows = [_row(host) for host in found.hosts]
    print_table(console, headings, rows, wordy=("host",), right=("workers", "busy", "memory", "tasks"))
    for host in found.hosts:
        for text in [host.why] * bool(host.why) + [host.hint] * bool(host.why and host.hint) + [*host.lacks]:
            console.print(Text(f"{host.name}: {text}"), soft_wrap=True)
    if found.others:
        console.print(Text(f"{plural(len(found.others), 'further worker')}: {', '.join(found.others)}"))


def _row(host: Host) -> list[str]:
    from rushhour.quantities.short import size

    name = host.name if host.at == host.name else f"{host.name} ({host.at})"
    if host.state in {"aside", "lost"} and not host.workers:
        return [name, host.state, f"0/{host.asked}" if host.asked else "", "", "", "", ""]
    memory = f"{size(host.used)} of {size(host.memory)}"
    workers = f"{host.workers}/{host.asked}"
    return [name, host.state, workers, str(host.busy), memory, str(host.tasks), host.version]

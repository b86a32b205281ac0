"""`rushhour doctor`: what this machine can do and what not."""

from __future__ import annotations

import click

from rushhour.cli import SETTINGS


@click.command(context_settings=SETTINGS, short_help="Say what this machine can do, and what mends it.")
@click.option(
    "--lab", "labs", multiple=True, type=click.Choice(["uml", "netns", "hosts"]),
    help="The lab that the exit code is about; may be repeated.  [default: uml]",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def doctor(labs: tuple[str, ...], *, as_json: bool) -> int:
    """Say what this machine can and cannot do, with the commands that mend it.

    It looks at the processor and its extended state, memory and /dev/shm, namespaces, Landlock, filters of
    system calls, Python's packages, compilers, and whether each built kernel boots. Nothing is changed. It
    takes some seconds.

    Exit code: 0 if the lab can run here, 1 if not.

    Example: rushhour doctor --lab netns
    """
    from rushhour.lab.doctor.tell import main

    return main(labs, as_json=as_json)

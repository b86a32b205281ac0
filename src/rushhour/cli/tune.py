"""`rushhour tune`: settings for a path."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rushhour.cli import INTERRUPTED, SETTINGS
from rushhour.cli.profile import SSH_CONFIG, SUDO
from rushhour.cli.screen import console, echo, tell_json

if TYPE_CHECKING:
    from rushhour.tune.live import Wanted
    from rushhour.tune.plan import Plan


@click.command(context_settings=SETTINGS, short_help="Recommend, apply and verify settings for a path.")
@click.argument("a")
@click.argument("b")
@click.option("--rtt", metavar="TIME", help='Round trip of the path ("80ms"); default: measured.')
@click.option("--rate", metavar="RATE", help='What the path carries ("1gbit"); default: measured.')
@click.option("--memory", metavar="SIZE", help='What TCP\'s buffers may take at each end ("2GB").')
@click.option("--profile", metavar="NAME", help="The changes of a profile instead.")
@click.option("--optional", is_flag=True, help="With the profile's optional changes.")
@click.option("--apply", "do_apply", is_flag=True, help="Apply at both ends, until --revert or a restart.")
@click.option("--verify", is_flag=True, help="Measure before and after; without --apply then put it back.")
@click.option("--revert", "do_revert", is_flag=True, help="Put back what --apply keeps at both ends.")
@click.option("--persist", is_flag=True, help="Print what keeps it over a restart; nothing is written.")
@click.option("--address-a", metavar="ADDRESS", help="Address of A on the path; default: by the routes.")
@click.option("--address-b", metavar="ADDRESS", help="Address of B, likewise.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), help="Folder; default: results/tune/A..B/TIME."
)
@click.option("--ssh-config", type=click.Path(path_type=Path), metavar="FILE", help=SSH_CONFIG)
@click.option("--sudo", is_flag=True, help=SUDO)
@click.option("--json", "as_json", is_flag=True, help="The plan as one JSON document on standard output.")
def tune(
    a: str, b: str, *, rtt: str | None, rate: str | None, memory: str | None, profile: str | None,
    optional: bool, do_apply: bool, verify: bool, do_revert: bool, persist: bool, address_a: str | None,
    address_b: str | None, out: Path | None, ssh_config: Path | None, sudo: bool, as_json: bool,
) -> int:  # fmt: skip
    """Recommend settings for the path between A and B, each with its reason and its source.

    A and B are each `local`, `netns:NAME`, or a host as `ssh` knows it. Settings that are right
    already are left out. Without --apply or --verify nothing is changed. Applied settings are read
    back; a change that one host refuses undoes all others on both.

    \b
    Exit code:
        0    done
        1    --verify found it worse, or --revert could not put everything back
        2    a host cannot be reached or refuses a change; an invalid argument
        130  interrupted

    Example: rushhour tune local alice --rtt 80ms --rate 1gbit
    """  # noqa: D301 - click wants the letter itself
    from rushhour.cli.waiting import waiting
    from rushhour.diagnosis.live import Asked
    from rushhour.errors import UsageError
    from rushhour.lab.profile import find_profile
    from rushhour.tune.live import Wanted, tune

    ends = Asked(a, b, ssh_config=ssh_config, sudo=sudo, address_a=address_a, address_b=address_b, out=out)
    if do_revert:
        if do_apply or verify or persist:
            raise UsageError(
                "--revert takes no other option", hint=f"rushhour tune {shlex.join([a, b])} --revert"
            )
        return _revert(ends, as_json=as_json)
    found = find_profile(profile) if profile is not None else None
    if found is not None and (rtt or rate or memory):
        raise UsageError("--profile has its own values: it takes no --rtt, --rate or --memory")
    wanted = Wanted(ends, _number("--rtt", rtt), _number("--rate", rate), _memory(memory), found, optional,
                    do_apply, verify)  # fmt: skip
    try:
        with waiting(console(stderr=True)) as tell:
            plan, folder = tune(wanted, tell)
    except KeyboardInterrupt:
        back = f"what was applied so far is put back by: rushhour tune {shlex.join([a, b])} --revert"
        echo(f"interrupted; {back if do_apply or verify else 'nothing was changed'}", err=True)
        return INTERRUPTED
    _tell(plan, folder, wanted, persist=persist, as_json=as_json)
    return int(plan.verified is not None and plan.verified["verdict"] == "worse")


def _number(option: str, word: str | None) -> float | None:
    from rushhour.errors import UsageError
    from rushhour.quantities.units import Duration, Rate, UnitError

    if word is None:
        return None
    try:
        value = float(Duration.parse(word).ns if option == "--rtt" else Rate.parse(word).bps)
    except UnitError as error:
        raise UsageError(f"{option}: {error}") from error
    if value <= 0:
        raise UsageError(f"{option} {word}: it must be above zero")
    return value


def _memory(word: str | None) -> int | None:
    from rushhour.errors import UsageError
    from rushhour.quantities.units import Size, UnitError

    if word is None:
        return None
    try:
        return int(Size.parse(word).bytes)
    except (UnitError, AttributeError) as error:
        raise UsageError(f"--memory {word!r}: a size in bytes like 512MB is needed") from error


def _revert(ends: object, *, as_json: bool) -> int:
    from rushhour.cli.restore import failed, tell_undone
    from rushhour.diagnosis.live import Asked
    from rushhour.tune.live import revert

    assert isinstance(ends, Asked)
    told = revert(ends)
    if as_json:
        tell_json(told)
    else:
        for place, undone in zip((ends.a, ends.b), told.values(), strict=True):
            tell_undone(place, undone)
    return int(failed(told))


def _tell(plan: Plan, folder: Path, wanted: Wanted, *, persist: bool, as_json: bool) -> None:
    from rushhour.cli.screen import printer
    from rushhour.report.tune import screen
    from rushhour.tune.plan import persistent

    if as_json:
        tell_json(plan.document())
    elif persist:
        echo("\n\n".join(persistent(plan, end) for end in ("a", "b")))
    else:
        screen(plan, printer(highlight=False), verify=wanted.verify)
        echo(f"\n{folder}/tune.json")
        if next_step := _next(plan, wanted):
            echo(next_step, err=True)


def _next(plan: Plan, wanted: Wanted) -> str:
    """What one may do now; empty where there is nothing to apply, or nothing came of it."""
    ends = shlex.join([wanted.ends.a, wanted.ends.b])
    if wanted.apply:
        made = any(done["changed"] for done in (plan.applied or {}).values())
        return f"to put it back: rushhour tune {ends} --revert" if made else ""
    if not any(plan.changes(end) for end in ("a", "b")):
        return ""
    if plan.verified is None:
        return "to apply it: the same command with --apply --verify"
    helped = plan.verified["verdict"] == "better"
    return "to apply it until --revert: the same command with --apply" if helped else ""

"""`rushhour compare --packetdrill`: packetdrill's scripts on two kernels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.cli import INTERRUPTED
from rushhour.cli.screen import echo, tell_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.lab.base import Tested
    from rushhour.packetdrill.comparing import Change
    from rushhour.packetdrill.outcome import Outcome
    from rushhour.packetdrill.scripts import Tree

VARIANTS = ("ipv4", "ipv6", "mapped")
# What `--json` has anyway: how many of them a terminal is told.
_SHOWN = 40


@dataclass(frozen=True)
class Asked:
    """What is compared, as the command says it."""

    base: str
    candidate: str
    paths: Sequence[Path]
    binary: Path | None
    source: str | None
    addresses: Sequence[str]
    least: str | None
    jobs: int | None
    out: Path | None
    forms: Sequence[str]
    as_json: bool


def compare_scripts(asked: Asked) -> int:
    """Run the scripts on both kernels, write the folder, say what changed; the exit code."""
    from rushhour.lab import clock, commands, drill
    from rushhour.packetdrill import comparing, running, scripts, telling
    from rushhour.verdict import place

    tree = scripts.find(asked.paths)
    kernels = _kernels(asked.base, asked.candidate)
    program = drill.find(asked.binary, asked.source, asked.paths, say)
    variants = chosen(asked.addresses, tree)
    least_ns = _least(asked.least)
    how = running.Drill(program, (), variants, asked.jobs or len(commands.cpus()), packets=True)
    folder = asked.out or place.folder_for(asked.base, asked.candidate, clock.now())
    begun = clock.monotonic()
    with place.alone(folder):
        try:
            outcomes = [running.carry_out(how, tree, kernel) for kernel in kernels]
        except KeyboardInterrupt:
            echo("interrupted", err=True)
            return INTERRUPTED
        changes = [
            comparing.compare(base, candidate, _text(tree, base), least_ns)
            for base, candidate in zip(*outcomes, strict=True)
        ]
        document = telling.compared(changes, kernels, program.identity(), least_ns)
        report = telling.compared_report(changes, kernels, program.identity(), clock.monotonic() - begun)
        telling.keep(folder, document, report, changes, asked.forms)
    if asked.as_json:
        tell_json(document)
    else:
        _show(changes, report.headline, folder)
    return int(document["exit"])


def chosen(addresses: Sequence[str], tree: Tree) -> tuple[str, ...]:
    """The kinds of addresses that `--ip` names, all where it names none, in the usual order.

    Raises:
        UsageError: no script is written for them.
    """
    from rushhour.errors import UsageError
    from rushhour.packetdrill import running

    variants = tuple(one for one in VARIANTS if not addresses or one in addresses)
    if not running.planned(tree, variants):
        raise UsageError("no script is written for these addresses", hint="leave out --ip")
    return variants


def _kernels(base: str, candidate: str) -> tuple[Tested, Tested]:
    from rushhour.errors import UsageError
    from rushhour.lab import kernel as kernels

    for name in (base, candidate):
        if Path(name).is_dir():
            raise UsageError(
                "with --packetdrill both sides are kernels, and this is a folder",
                where=name,
                hint="`rushhour kernel list` says which there are",
            )
    one, other = (kernels.find(name) for name in (base, candidate))
    ticks = [kernel.identity.get("hz") for kernel in (one, other)]
    if ticks[0] != ticks[1]:
        raise UsageError(
            f"the kernels' ticks differ (HZ {ticks[0]} and {ticks[1]}), and with them all timers",
            hint="build both with the same HZ",
        )
    return one, other


def _least(word: str | None) -> int:
    from rushhour.errors import UsageError
    from rushhour.packetdrill.comparing import LEAST_NS
    from rushhour.quantities.units import Duration, UnitError

    if word is None:
        return LEAST_NS
    try:
        return Duration.parse(word).ns
    except UnitError as error:
        raise UsageError(
            f"--minimum: {error}", hint='with --packetdrill it is a time, for example "10us"'
        ) from error


def _text(tree: Tree, outcome: Outcome) -> str:
    return tree.files[outcome.script.path].read_text(encoding="utf-8", errors="replace")


def say(text: str) -> None:
    """Tell what is done before scripts run."""
    echo(text, err=True)


def _show(changes: Sequence[Change], headline: str, folder: Path) -> None:
    from rushhour.packetdrill import telling

    told = [lines for change in changes if (lines := telling.changed(change))]
    for lines in told[:_SHOWN]:
        echo("\n".join([lines[0], *(f"     {line}" for line in lines[1:])]))
    if len(told) > _SHOWN:
        echo(f"… and {len(told) - _SHOWN} more")
    for line in telling.left_out(changes):
        echo(line)
    echo(f"{headline}\n\n{folder / telling.COMPARED}")

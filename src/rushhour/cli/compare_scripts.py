"""`rushhour compare --packetdrill`: packetdrill's scripts on two kernels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.cli.screen import echo, tell_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.lab.base import Tested
    from rushhour.packetdrill.comparing import Change

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
    from rushhour.lab import clock
    from rushhour.packetdrill import pairs, telling
    from rushhour.verdict import place

    kernels = _kernels(asked.base, asked.candidate)
    scripts = pairs.find(
        asked.paths, asked.binary, asked.source, addresses=asked.addresses, jobs=asked.jobs,
        least_ns=_least(asked.least), tell=say,
    )  # fmt: skip
    folder = asked.out or place.folder_for(asked.base, asked.candidate, clock.now())
    with place.alone(folder):
        made = scripts.compare(*kernels)
        telling.keep(folder, made.document, made.report, made.changes, asked.forms)
    if asked.as_json:
        tell_json(made.document)
    else:
        _show(made.changes, made.report.headline, folder)
    return int(made.document["exit"])


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

"""`rushhour packetdrill`: packetdrill's scripts in virtual kernels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rushhour.cli import SETTINGS
from rushhour.cli.compare_scripts import VARIANTS, say
from rushhour.cli.screen import echo, tell_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.export.case import Report
    from rushhour.packetdrill.outcome import Outcome

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(
    context_settings=SETTINGS, short_help="Run packetdrill's scripts on a kernel, in virtual time."
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH...")
@click.option("--binary", type=_FILE, metavar="FILE", help="packetdrill's program; default: see below.")
@click.option("--source", metavar="TREE[@REVISION]", help="Build packetdrill from this clone of its source.")
@click.option("--kernel", metavar="K", help="Kernel under test; default: the latest version.")
@click.option("--ip", "addresses", multiple=True, type=click.Choice(VARIANTS), help="Only these addresses.")
@click.option(
    "--tolerance", metavar="TIME", help='How late a packet may be ("10us"); default: packetdrill\'s.'
)
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Scripts at once; default: one per CPU."
)
@click.option("--tap", type=_FILE, metavar="FILE", help="Write the outcomes as TAP.")
@click.option("--junit", type=_FILE, metavar="FILE", help="Write the outcomes as JUnit XML.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def packetdrill(
    paths: Sequence[Path], *, binary: Path | None, source: str | None, kernel: str | None,
    addresses: Sequence[str], tolerance: str | None, jobs: int | None, tap: Path | None,
    junit: Path | None, as_json: bool,
) -> int:  # fmt: skip
    """Run packetdrill's scripts, each in a virtual kernel of its own.

    PATHs are .pkt files, or folders of them.

    Each script runs with IPv4, IPv6 and IPv4-mapped IPv6 addresses, unless its name ends in v4 or v6.
    Time is virtual: an outcome depends on script, packetdrill and kernel, not on this machine, and is
    the same each time.

    The program is the one named; else the one in PATH, or of the source in whose tree the scripts lie.

    \b
    Exit code:
        0    all passed
        1    some did not
        2    nothing could be run
        130  interrupted

    Example: rushhour packetdrill ~/linux/tools/testing/selftests/net/packetdrill --ip ipv4
    """  # noqa: D301 - click wants the letter itself
    from rushhour.lab import clock, commands, drill
    from rushhour.lab import kernel as kernels
    from rushhour.packetdrill import pairs, running, scripts, telling

    tree = scripts.find(paths)
    program = drill.find(binary, source, paths, say)
    under_test = kernels.find(kernel) if kernel else kernels.default()
    variants = pairs.chosen(addresses, tree)
    how = running.Drill(program, _tolerance(tolerance), variants, jobs or len(commands.cpus()))
    begun = clock.monotonic()
    outcomes = running.carry_out(how, tree, under_test, _silent if as_json else _tell)
    seconds = clock.monotonic() - begun
    report = telling.report(outcomes, under_test, program.identity(), seconds)
    _write(report, tap, junit)
    if as_json:
        tell_json(telling.document(outcomes, under_test, program.identity()))
    else:
        virtual = sum(one.took_s for one in outcomes)
        echo(f"{under_test.release}: {report.headline}; {virtual:.1f} s of virtual time in {seconds:.1f} s")
    return int(any(one.status != "pass" for one in outcomes))


def _silent(_: Outcome) -> None:
    pass


def _tell(outcome: Outcome) -> None:
    """What did not pass, as it comes."""
    from rushhour.packetdrill import telling

    if outcome.status != "pass":
        head, *below = telling.details(outcome)
        echo("\n".join([f"{outcome.status.upper()} {head}", *(f"     {line}" for line in below)]))


def _tolerance(word: str | None) -> tuple[str, ...]:
    from rushhour.errors import UsageError
    from rushhour.quantities.units import Duration, UnitError

    if word is None:
        return ()
    try:
        microseconds = Duration.parse(word).ns / 1000
    except UnitError as error:
        raise UsageError(f"--tolerance: {error}") from error
    if microseconds != int(microseconds):
        raise UsageError(f"--tolerance {word}: packetdrill takes whole microseconds")
    return (f"--tolerance_usecs={int(microseconds)}",)


def _write(report: Report, tap: Path | None, junit: Path | None) -> None:
    from rushhour.export.formats import FORMATS
    from rushhour.files import finished as files

    for form, place in (("tap", tap), ("junit", junit)):
        if place is not None:
            files.put(FORMATS[form].write(report), place)

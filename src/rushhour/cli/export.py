"""`rushhour export`: verdicts and results in the formats of other people's machines."""

from __future__ import annotations

from pathlib import Path

import click

from rushhour.cli import SETTINGS
from rushhour.cli.screen import echo

# Named here again: asking the formats would import them to print a help page.
NAMES = ("junit", "tap", "ktap", "kcidb", "tmt", "nipa", "openmetrics", "github", "markdown")


@click.command(context_settings=SETTINGS, short_help="Results as JUnit, TAP, KCIDB, tmt and more.")
@click.argument("results", type=click.Path(path_type=Path), metavar="RESULTS")
@click.option("--to", "forms", type=click.Choice(NAMES), multiple=True, required=True, help="The format.")
@click.option(
    "--out", type=click.Path(path_type=Path),
    help="The file to write, or - ; a folder for several formats. Default: standard output.",
)  # fmt: skip
def export(results: Path, forms: tuple[str, ...], out: Path | None) -> None:
    """Write RESULTS, a folder of `rushhour compare` or `rushhour run`, for another program.

    \b
    junit        Jenkins, GitLab, GitHub
    tap, ktap    kselftest's tools, prove, netdev's CI; kunit.py
    kcidb        KernelCI's database (nothing is submitted)
    tmt          custom results of a tmt test
    nipa         netdev's CI, as a remote executor
    openmetrics  GitLab's metrics report, Prometheus
    github       annotations of a workflow's step
    markdown     a pull request, a job's summary

    Each cell is a test case: same and better pass, worse fails, invalid is an error, inconclusive is skipped.
    Of plain runs those pass that are valid and keep what their scenario expects.

    Example: rushhour export results/compare/debian-6.12..mine/latest --to junit --out junit.xml
    """  # noqa: D301 - click wants the letter itself
    from rushhour.errors import UsageError
    from rushhour.export import FORMATS, gather
    from rushhour.files import finished as files

    several = len(forms) > 1
    if several and out is None:
        raise UsageError("several formats need a folder", hint="name it with --out")
    report = gather(results)
    for form in forms:
        text = FORMATS[form].write(report)
        if out is None or str(out) == "-":
            echo(text, nl=False)
            continue
        place = out / FORMATS[form].file if several or out.is_dir() else out
        files.put(text, place)
        echo(place)

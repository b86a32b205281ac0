"""`rushhour export`: verdicts and results in the formats of other people's machines."""

from __future__ import annotations

from pathlib import Path

import click

from rushhour.cli import SETTINGS
from rushhour.cli.screen import console, echo
from rushhour.export.formats import FORMATS

_WIDTH = max(map(len, FORMATS))
_TABLE = "\n".join(f"{name:<{_WIDTH}}  {one.reader}" for name, one in FORMATS.items())
_HELP = f"""Write RESULTS, a folder of `rushhour compare` or `rushhour run`, for another program.

\b
{_TABLE}

Each cell is a test case: same and better pass, worse fails, invalid is an error, inconclusive is skipped.
Of plain runs those pass that are valid and keep what their scenario expects; of more than 5000 these have
no numbers.

Example: rushhour export results/compare/debian-6.12..mine/latest --to junit --out junit.xml
"""


@click.command(
    context_settings=SETTINGS, help=_HELP, short_help="Results as JUnit, TAP, KCIDB, tmt and more."
)
@click.argument("results", type=click.Path(path_type=Path), metavar="RESULTS")
@click.option(
    "--to", "forms", type=click.Choice([*FORMATS]), multiple=True, required=True, help="The format."
)
@click.option(
    "--out", type=click.Path(path_type=Path),
    help="The file to write, or - ; a folder for several formats. Default: standard output.",
)  # fmt: skip
def export(results: Path, forms: tuple[str, ...], out: Path | None) -> None:
    """See `_HELP`."""
    from rushhour.cli.waiting import watched
    from rushhour.errors import UsageError
    from rushhour.export.gather import gather
    from rushhour.files import finished as files

    several = len(forms) > 1
    if several and out is None:
        raise UsageError("several formats need a folder", hint="name it with --out")
    with watched(console(stderr=True)) as tell:
        report = gather(results, tell)
    for form in forms:
        text = FORMATS[form].write(report)
        if out is None or str(out) == "-":
            echo(text, nl=False)
            continue
        place = out / FORMATS[form].file if several or out.is_dir() else out
        files.put(text, place)
        echo(place)

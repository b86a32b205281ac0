"""`rushhour report`: a result set as a page, as text, as figures, as tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rushhour.cli import SETTINGS
from rushhour.cli.screen import console, echo, tell_json

if TYPE_CHECKING:
    from rushhour.record.result_set import ResultSet

FORMATS = ("html", "md", "png", "svg", "pdf", "csv", "parquet")
_FOLDERS = {"png": "figures", "svg": "figures", "pdf": "figures", "csv": "tables", "parquet": "tables"}


@click.command(context_settings=SETTINGS, short_help="Write a page, figures or tables of results.")
@click.argument("records", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RECORDS...")
@click.option(
    "--out", type=click.Path(path_type=Path), help="The file to write (a folder for figures and tables)."
)
@click.option("--format", "form", type=click.Choice(FORMATS), default="html", show_default=True)
@click.option(
    "--where", "levels", multiple=True, metavar="FACTOR=LEVEL", help="Only the runs of these cells."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def report(
    records: tuple[Path, ...], out: Path | None, form: str, *, levels: tuple[str, ...], as_json: bool
) -> None:
    """Write a report of RECORDS: a folder that `rushhour run` made, one run in it, or several of a study.

    \b
    html           one offline page: tables, zoomable plots, definitions
    md             the same tables and definitions as Markdown
    png, svg, pdf  the figures of the scenario; one for each run (of a sweep of
                   more than 40 none, where there are such), one for each metric
    csv, parquet   metrics and series

    Of runs of which only the metrics were kept (rushhour run --keep metrics) there are no series and no
    curves: what could not be made, and the command that makes their tables again, stand on standard error.

    Without --out it goes next to the records, that of several folders into this one. A page of more than
    5000 runs has curves and rows of cells that are evenly chosen; --where makes one of the cells you name.

    Example: rushhour report results/window-scaling/latest --format svg
    """  # noqa: D301 - click wants the letter itself
    from rushhour.cli.waiting import read_by
    from rushhour.errors import UsageError
    from rushhour.record.folders import read_sets
    from rushhour.record.result_set import ResultSet

    several = read_sets(records[0]) if len(records) == 1 else [ResultSet.open(folder) for folder in records]
    if levels and several is not None:
        raise UsageError("--where is for one set of runs", hint="name one folder of results")
    sets = [_part(ResultSet.open(records[0]), levels)] if several is None else several
    with read_by(console(stderr=True), sets):
        if several is None:
            made = write(sets[0], out or _beside(records[0], form, levels), form)
        else:
            folder = records[0] if len(records) == 1 else Path()
            made = write_study(several, out or folder / _name(form), form)
    if as_json:
        document = {"format": form, "runs": sum(map(len, sets)), "files": [str(path) for path in made]}
        tell_json(document)
    else:
        for path in made:
            echo(path)


def write(results: ResultSet, out: Path, form: str) -> list[Path]:
    """Write one format; the files that were made."""
    if form == "html":
        from rushhour.report import html

        return [html.write(results, out)]
    if form == "md":
        from rushhour.files import finished as files
        from rushhour.report import markdown

        files.put(markdown.render(results), out)
        return [out]
    if form in ("csv", "parquet"):
        from rushhour.report import export

        return export.write(results, out, form, _tell)
    from rushhour.report.gallery import draw

    return draw(results, out, form, _tell)


def write_study(sets: list[ResultSet], out: Path, form: str) -> list[Path]:
    """Write one report of several sets, or the figures or tables of each into a folder of its own."""
    if form == "html":
        from rushhour.report import study_html

        study_html.write(sets, out)
        return [out]
    if form == "md":
        from rushhour.files import finished as files
        from rushhour.report import study_markdown
        from rushhour.report.study import gathered

        files.put(study_markdown.render(gathered(sets, out.parent)), out)
        return [out]
    made = []
    for one in sets:
        made += write(one, out / one.name.replace("/", "-"), form) if one.folders() else []
    return made


def _tell(text: str) -> None:
    """What a person should know, beside what was written."""
    console(stderr=True).print(text, style="yellow", highlight=False, markup=False, soft_wrap=True)


def _name(form: str) -> str:
    return _FOLDERS.get(form, f"report.{form}")


def _part(results: ResultSet, levels: tuple[str, ...]) -> ResultSet:
    """The runs of the cells with these `FACTOR=LEVEL`s; without any, all."""
    from rushhour.errors import UsageError

    if not levels:
        return results
    pairs = [word.partition("=") for word in levels]
    for name, equals, _ in pairs:
        if not name or not equals:
            raise UsageError(f"--where {name}: it takes FACTOR=LEVEL", hint="for example --where cc=cubic")
    return results.where({name: level for name, _, level in pairs})


def _beside(records: Path, form: str, levels: tuple[str, ...] = ()) -> Path:
    # A record is never written to again: what is made of a single run goes beside its folder.
    records = records.resolve()
    name = _name(form)
    if levels:
        from rushhour.running.prepare import plain

        name = plain("-".join(levels).replace("/", "-")) + f"-{name}"
    if (records / "manifest.json").is_file():
        return records.parent / f"{records.name}-{name}"
    return records / name

"""`rushhour list`: the catalogue, by study."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from rushhour.cli import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from rushhour.spec import Study, StudyFile


@click.command("list", context_settings=SETTINGS, short_help="List the studies and scenarios that ship.")
@click.argument("words", nargs=-1, metavar="[STUDY | WORD...]")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def list_scenarios(words: tuple[str, ...], *, as_json: bool) -> None:
    """List the scenarios that ship, the chapters of one STUDY, or what has all WORDs in name and question.

    Example: rushhour list tomasov
    """
    from rich.console import Console

    from rushhour import spec

    studies = spec.studies()
    chosen = studies.get(words[0].strip("/")) if len(words) == 1 else None
    entries = [
        entry
        for study in ([chosen] if chosen else studies.values())
        for entry in _entries(study)
        if chosen or all(word.casefold() in _text(entry) for word in words)
    ]
    if as_json:
        click.echo(json.dumps(entries, indent=1, ensure_ascii=False))
        return
    if not entries:
        click.echo("no scenario of the catalogue has these words; `rushhour list` shows all", err=True)
        return
    console = Console()
    if chosen:
        _chapters(chosen, entries, console)
    else:
        _studies(studies, entries, console)
    about = f"all of it: rushhour run {chosen.name}" if chosen else "chapters of a study: rushhour list STUDY"
    click.echo(f"To look at one: rushhour show NAME · to run it: rushhour run NAME · {about}", err=True)


def _entries(study: StudyFile) -> list[dict[str, Any]]:
    from rushhour import spec

    about = _about(study)
    entries = []
    for file in study.scenarios:
        scenario = spec.load_scenario(file)
        chapter = next((c.title for c in about.chapter if file.stem in c.scenarios), None) if about else None
        entries.append(
            {
                "name": file.name,
                "study": study.name,
                "chapter": chapter,
                "title": scenario.title,
                "question": scenario.question,
                "runs": scenario.sweep.size * scenario.repeat,
                "duration_s": scenario.span.ns / 1e9,
                "published": file.published is not None,
            }
        )
    return entries


def _about(study: StudyFile) -> Study | None:
    from rushhour.spec import load_study

    # Whether each scenario has its chapter matters to whom runs the study, not to whom looks around.
    return None if study.file is None else load_study(study.file)


def _text(entry: dict[str, Any]) -> str:
    return f"{entry['name']} {entry['title']} {entry['question']}".casefold()


def _studies(studies: dict[str, StudyFile], entries: Sequence[dict[str, Any]], console: Console) -> None:
    from rich.text import Text

    for name, study in studies.items():
        mine = [entry for entry in entries if entry["study"] == name]
        if not mine:
            continue
        about = _about(study)
        title = f"{about.title}, {about.author}" if about and about.author else about.title if about else ""
        console.print(Text.assemble((name, "bold"), f"  {title}" if title else ""))
        _table(mine, console)


def _chapters(study: StudyFile, entries: Sequence[dict[str, Any]], console: Console) -> None:
    from rich.padding import Padding
    from rich.text import Text

    about = _about(study)
    if about is None:
        _table(entries, console)
        return
    console.print(Text(about.title, "bold"))
    for text in (about.author, about.document):
        if text:
            console.print(Text(" ".join(text.split()), "dim"))
    if about.summary:
        console.print(Text("\n" + " ".join(about.summary.split())))
    for number, chapter in enumerate(about.chapter, 1):
        section = f"  section {chapter.section}" if chapter.section else ""
        console.print(Text.assemble((f"\n{number}  {chapter.title}", "bold"), (section, "dim")))
        if chapter.text:
            console.print(Padding(Text(" ".join(chapter.text.split())), (0, 0, 0, 3)))
        named = {entry["name"].rpartition("/")[2]: entry for entry in entries}
        _table([named[name] for name in chapter.scenarios if name in named], console)


def _table(entries: Sequence[dict[str, Any]], console: Console) -> None:
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True, style="dim")
    table.add_column(ratio=1)
    for entry in entries:
        count = f"{entry['runs']} run{'s' if entry['runs'] > 1 else ''}"
        runs = f"{count} of {entry['duration_s']:g} s"
        table.add_row(Text(entry["name"]), runs, Text(str(entry["question"] or entry["title"])))
    console.print(Padding(table, (0, 0, 1, 3)))

"""`rushhour list`: the catalogue."""

from __future__ import annotations

import json

import click

from rushhour.cli import SETTINGS


@click.command("list", context_settings=SETTINGS, short_help="List the scenarios that ship.")
@click.argument("words", nargs=-1, metavar="[WORD]...")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def list_scenarios(words: tuple[str, ...], *, as_json: bool) -> None:
    """List the scenarios that ship; with WORDs those that have them in name, title or question.

    Example: rushhour list fairness
    """
    from rushhour import spec

    entries = []
    for name, file in spec.catalogue().items():
        scenario = spec.load_scenario(file)
        entry = {
            "name": name,
            "title": scenario.title,
            "question": scenario.question,
            "runs": scenario.sweep.size * scenario.repeat,
            "duration_s": scenario.span.ns / 1e9,
        }
        text = f"{name} {scenario.title} {scenario.question}".casefold()
        if all(word.casefold() in text for word in words):
            entries.append(entry)
    if as_json:
        click.echo(json.dumps(entries, indent=1, ensure_ascii=False))
    elif entries:
        _table(entries)
        click.echo("To look at one: rushhour show NAME · to run it: rushhour run NAME", err=True)
    else:
        click.echo("no scenario of the catalogue has these words; `rushhour list` shows all", err=True)


def _table(entries: list[dict[str, object]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("scenario", no_wrap=True)
    table.add_column("runs", justify="right")
    table.add_column("each", justify="right", no_wrap=True)
    table.add_column("question", ratio=1)
    for entry in entries:
        question = str(entry["question"] or entry["title"])
        table.add_row(
            Text(str(entry["name"])), str(entry["runs"]), f"{entry['duration_s']:g} s", Text(question)
        )
    Console().print(table)

"""`rushhour list`: the catalogue, by study, or what of it has some words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from rushhour.cli import SETTINGS
from rushhour.cli.screen import echo, tell_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.console import Console

    Entry = Mapping[str, Any]

WIDE = 120
"""From this width on a scenario is a row; in less its question stands below its name."""


@click.command("list", context_settings=SETTINGS, short_help="List or search the studies and scenarios.")
@click.argument("words", nargs=-1, metavar="[STUDY | WORD...]")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def list_scenarios(words: tuple[str, ...], *, as_json: bool) -> None:
    """List all scenarios, the chapters of one STUDY, or the scenarios with all WORDs.

    Words are searched in names, titles and questions, in the titles of studies and chapters, and in the
    keys and values of a scenario (`fq_codel`, `tcp_rmem`); where only those have one, they are shown.

    Example: rushhour list buffer bbr
    """
    from rushhour.cli.contents import contents

    studies = {study["name"]: study for study in contents()["studies"]}
    chosen = studies.get(words[0].strip("/")) if len(words) == 1 else None
    entries = [
        entry
        for study in ([chosen] if chosen else studies.values())
        for entry in _entries(study, () if chosen else words)
    ]
    if as_json:
        tell_json(entries)
        return
    if not entries:
        echo(f"no scenario of the catalogue has {_quoted(words)}{_near(words)}", err=True)
        return
    _tell(entries, studies, chosen)


def _tell(entries: Sequence[Entry], studies: Mapping[str, Entry], chosen: Entry | None) -> None:
    from rushhour.cli.pages import program
    from rushhour.cli.screen import printer

    console = printer()
    if chosen:
        _chapters(chosen["about"], entries, console)
    else:
        _studies(studies, entries, console)
    if absent := list(dict.fromkeys(one for entry in entries for one in _absent(entry))):
        from rushhour.lab.loading import how_to_get

        echo(f"Programs that are not on this machine: {', '.join(absent)}\n  {how_to_get(*absent)}", err=True)
    name = program()
    about = f"All of it: {name} run {chosen['name']}" if chosen else f"Chapters of a study: {name} list STUDY"
    echo(f"To look at one: {name} show NAME · to run it: {name} run NAME\n{about}", err=True)


def _entries(study: Entry, words: Sequence[str]) -> Iterator[Entry]:
    """What is said of each scenario of a study that has all words."""
    title = study["about"].get("title")
    for row in study["scenarios"]:
        said = (row["name"], row["title"], row["question"], title, row["chapter"])
        found = _found(words, said, row["name"])
        if found is not None:
            yield {**row, **({"found": found} if found else {})}


def _found(words: Sequence[str], said: Iterable[str | None], name: str) -> list[str] | None:
    """Where in the file the words are that nothing that is said has; None where one is nowhere."""
    from rushhour.cli import names

    text = " ".join(part for part in said if part).casefold()
    places: dict[str, None] = {}
    for word in (word.casefold() for word in words):
        if word in text:
            continue
        place = next(
            (place for key, values in _keys(names.document(name), "") if (place := _at(word, key, values))),
            None,
        )
        if place is None:
            return None
        places[place] = None
    return list(places)


def _at(word: str, key: str, values: Sequence[str]) -> str:
    """A key and what of it has the word; empty where neither has it."""
    having = [value for value in values if word in value.casefold()]
    if having:
        return f"{key} = {', '.join(dict.fromkeys(having))}"
    return key if word in key.casefold() else ""


_PROSE = frozenset({"title", "question", "description", "guards", "caption", "source", "document"})


def _keys(value: object, path: str) -> Iterator[tuple[str, list[str]]]:
    """Every key of a document (`topology.queue`, also one that varies) with its values; prose is left out."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in _PROSE:
                yield from _keys(inner, path if key in ("sweep", "together") else f"{path}.{key}".lstrip("."))
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for item in value:
            yield from _keys(item, path)
    else:
        yield path, [str(item) for item in (value if isinstance(value, list) else [value])]


def _absent(entry: Entry) -> list[str]:
    """What this machine lacks of the programs that a scenario runs."""
    if not entry.get("needs"):
        return []
    from rushhour.lab.loading import there

    return [need for need in entry["needs"] if there(need) is None]


def _near(words: Sequence[str]) -> str:
    """What was likely meant, where a word is mistyped; else that all can be listed."""
    from difflib import get_close_matches

    from rushhour.cli import names

    known = {part for name in names.scenarios() for part in (*name.split("/"), *re.split("[/-]", name))}
    meant = [next(iter(get_close_matches(word, known, n=1, cutoff=0.7)), word) for word in words]
    return (
        f'; did you mean "{" ".join(meant)}"?' if meant != list(words) else "; without words all are listed"
    )


def _quoted(words: Sequence[str]) -> str:
    return " and ".join(f'"{word}"' for word in words)


def _studies(studies: Mapping[str, Entry], entries: Sequence[Entry], console: Console) -> None:
    from rich.text import Text

    for name, study in studies.items():
        mine = [entry for entry in entries if entry["study"] == name]
        if not mine:
            continue
        about = study["about"]
        title = ", ".join(filter(None, (about.get("title"), about.get("author"))))
        console.print(Text.assemble((name, "bold"), f"  {title}" if title else ""))
        _list(mine, console)


def _chapters(about: Entry, entries: Sequence[Entry], console: Console) -> None:
    from rich.padding import Padding
    from rich.text import Text

    if not about:
        _list(entries, console)
        return
    console.print(Text(about["title"], "bold"))
    for text in (about["author"], about["document"]):
        if text:
            console.print(Text(" ".join(text.split()), "dim"))
    if about["summary"]:
        console.print(Text("\n" + " ".join(about["summary"].split())))
    console.print()
    for number, chapter in enumerate(about["chapter"], 1):
        section = f"  section {chapter['section']}" if chapter["section"] else ""
        console.print(Text.assemble((f"{number}  {chapter['title']}", "bold"), (section, "dim")))
        if chapter["text"]:
            console.print(Padding(Text(" ".join(chapter["text"].split())), (0, 0, 0, 3)))
        named = {entry["name"].rpartition("/")[2]: entry for entry in entries}
        _list([named[name] for name in chapter["scenarios"] if name in named], console)


def _list(entries: Sequence[Entry], console: Console) -> None:
    """Scenarios, a row for each or, where that is too wide, the question below the name."""
    from rich.padding import Padding
    from rich.text import Text

    from rushhour.report.grid import Grid

    table = Grid(show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True, style="dim")
    table.add_column()
    for entry in entries:
        lacks = ", ".join(_absent(entry))
        more = Text("; ".join(entry.get("found", ())), "cyan"), Text(lacks and f"lacks {lacks}", "yellow")
        lines = [Text(str(entry["question"] or entry["title"])), *filter(None, more)]
        if console.width >= WIDE:
            table.add_row(Text(entry["name"]), _runs(entry), Text("  ").join(lines))
            continue
        console.print(Text.assemble("   ", entry["name"], "  ", (_runs(entry), "dim")))
        for line in lines:
            console.print(Padding(line, (0, 0, 0, 6)))
    if console.width >= WIDE:
        console.print(Padding(table, (0, 0, 0, 3)))
    console.print()


def _runs(entry: Entry) -> str:
    return f"{entry['runs']} run{'s' if entry['runs'] > 1 else ''} of {entry['duration_s']:g} s"

"""docs/mutants.md: between two marks the table that this writes; in found.csv every judgement."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .patches import Mutant
    from .results import Judgement

PAGE = Path(__file__).parent.parent / "docs" / "mutants.md"
FOUND = Path(__file__).parent / "found.csv"
BEGIN, END = "<!-- the table begins -->", "<!-- the table ends -->"
COLUMNS = ("mutant", "area", "what", "verdict", "by", "build_s", "judge_s")

Rows = Sequence[tuple["Mutant", "Judgement | None"]]


def write(rows: Rows, path: Path = PAGE, found: Path = FOUND) -> None:
    """Put the table into the page, and every judgement into the file beside it."""
    before, _, rest = path.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n{table(rows)}{END}{after}")
    found.write_text(judgements(rows))


def table(rows: Rows) -> str:
    """What was found, as Markdown: in sum, faults by area, harmless changes, faults that were missed."""
    faults = [(mutant, found) for mutant, found in rows if mutant.fault]
    harmless = [(mutant, found) for mutant, found in rows if not mutant.fault]
    missed = [(mutant, found) for mutant, found in faults if found and not found.caught]
    lines = [*_sum(faults, harmless), "", *_faults(faults)]
    if missed:
        lines += ["", *_missed(missed)]
    if loud := [row for row in harmless if row[1] and not row[1].quiet]:
        lines += [
            "",
            *(
                f"False alarm: {_link(mutant)}, **{found.verdict}** by {by(found)}."
                for mutant, found in loud
                if found
            ),
        ]
    lines += ["", f"Harmless changes: {_links(mutant for mutant, _ in harmless)}."]
    return "\n".join(lines) + "\n"


def judgements(rows: Rows) -> str:
    """Every mutant with its judgement, as CSV: by which cell and metric it was noticed."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for mutant, found in _ordered(rows):
        seconds = (f"{found.build_s:.0f}", f"{found.judge_s:.0f}") if found else ("", "")
        writer.writerow((mutant.name, mutant.area, mutant.subject, caught(found), by(found), *seconds))
    return text.getvalue()


def caught(found: Judgement | None) -> str:
    """A judgement in a word."""
    if found is None:
        return "not judged"
    if found.caught:
        return "caught"
    return found.verdict if found.whole else f"{found.verdict} (quick suite)"


def _sum(faults: Rows, harmless: Rows) -> Iterator[str]:
    judged = [found for _, found in faults if found]
    quiet = [found for _, found in harmless if found]
    yield (
        f"**{sum(found.caught for found in judged)} of {len(judged)} faults caught"
        f" ({_share(judged)}), {sum(not found.quiet for found in quiet)} false alarms in"
        f" {len(quiet)} harmless changes.**"
    )
    if unjudged := len(faults) + len(harmless) - len(judged) - len(quiet):
        yield f"{unjudged} were not judged to the end yet; `make mutants` goes on with them."


def _share(judged: list[Judgement]) -> str:
    return f"{sum(found.caught for found in judged) / len(judged):.0%}" if judged else "none judged"


def _faults(rows: Rows) -> Iterator[str]:
    yield "| area | caught | by name | not judged |"
    yield "|---|---|---|---|"
    for area, group in groupby(_ordered(rows), key=lambda row: row[0].area):
        mutants = list(group)
        judged = [(mutant, found) for mutant, found in mutants if found]
        hits = sum(found.caught for _, found in judged)
        names = _links(mutant for mutant, _ in judged)
        rest = _links(mutant for mutant, found in mutants if not found)
        yield f"| {area} | {f'{hits} of {len(judged)}' if judged else '-'} | {names} | {rest} |"


def _ordered(rows: Rows) -> list[tuple[Mutant, Judgement | None]]:
    return sorted(rows, key=lambda row: (not row[0].fault, row[0].area, row[0].name))


def _links(mutants: Iterable[Mutant]) -> str:
    return ", ".join(map(_link, mutants))


def _link(mutant: Mutant) -> str:
    folder = "faults" if mutant.fault else "harmless"
    return f"[{mutant.name}](../mutants/{folder}/{mutant.name}.patch)"


def _missed(rows: Rows) -> Iterator[str]:
    yield "| mutant | what a user would see | verdict | why it is missed |"
    yield "|---|---|---|---|"
    for mutant, found in rows:
        yield f"| {mutant.name} | {mutant.symptom} | {caught(found)} | {mutant.missed or 'not known'} |"


def by(found: Judgement | None) -> str:
    """By which cell and metric it was noticed, with the change."""
    if found is None or not found.scenario:
        return ""
    where = f"{found.scenario} {found.cell}".strip()
    change = "" if found.change is None else f" {found.change:+.2%}"
    what = f"{found.metric}{change}" if found.metric else _short(found.reason)
    return f"{where}: {what}"


def _short(reason: str) -> str:
    line = reason.splitlines()[0] if reason else ""
    return line if len(line) <= 100 else f"{line[:97]}…"

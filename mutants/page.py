"""docs/mutants.md: between two marks the table that this writes; in found.csv every judgement."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from . import results
from .groups import group_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .patches import Mutant
    from .results import Judgement

PAGE = Path(__file__).parent.parent / "docs" / "mutants.md"
BEGIN, END = "<!-- the table begins -->", "<!-- the table ends -->"

Rows = Sequence[tuple["Mutant", "Judgement | None"]]


def write(rows: Rows, path: Path = PAGE, found: Path = results.FOUND) -> None:
    """Put the table into the page, and every judgement into the file."""
    before, _, rest = path.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n{table(rows)}{END}{after}", "utf-8")
    found.write_text(judgements(rows), "utf-8")


def table(rows: Rows) -> str:
    """What was found, as Markdown: in sum, faults by area, harmless changes, faults that were missed."""
    by_kind: dict[str, list[tuple[Mutant, Judgement | None]]] = defaultdict(list)
    for row in _ordered(rows):
        by_kind[row[0].kind].append(row)
    faults, harmless, mechanical = (by_kind[kind] for kind in ("faults", "harmless", "mechanical"))
    missed = [(mutant, found) for mutant, found in faults if found and not found.caught]
    lines = [*_sum(faults, harmless), "", *_faults(faults)]
    if missed:
        lines += ["", *_missed(missed)]
    loud = [(mutant, found) for mutant, found in harmless if found and not found.quiet]
    for mutant, found in loud:
        lines += ["", f"False alarm: {_link(mutant)}, **{found.verdict}** by {by(found)}."]
    lines += ["", f"Harmless changes: {_links(mutant for mutant, _ in harmless)}."]
    if mechanical:
        lines += ["", "### Those by rule", "", *_mechanical(mechanical)]
    return "\n".join(lines) + "\n"


def judgements(rows: Rows) -> str:
    """Every mutant with its judgement, as CSV: what `results.recall` reads where nothing newer is known."""
    text = io.StringIO()
    made = [results.row_of(mutant.name, found) for mutant, found in _ordered(rows)]
    writer = csv.DictWriter(text, list(made[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(made)
    return text.getvalue()


def caught(found: Judgement | None) -> str:
    """A judgement in a word."""
    if found is None:
        return "not judged"
    if found.caught:
        return "caught"
    word = "equal to the byte" if found.verdict == "same" and found.equal else found.verdict
    return word if found.whole else f"{word} (not the whole suite)"


def _sum(faults: Rows, harmless: Rows) -> Iterator[str]:
    judged = [found for _, found in faults if found]
    quiet = [found for _, found in harmless if found]
    yield (
        f"**{sum(found.caught for found in judged)} of {len(judged)} faults caught"
        f" ({_share(judged)}), {sum(not found.quiet for found in quiet)} false alarms in"
        f" {len(quiet)} harmless changes.**"
    )
    yield _old([*judged, *quiet])
    if unjudged := len(faults) + len(harmless) - len(judged) - len(quiet):
        yield f"{unjudged} were not judged to the end yet; `make mutants` goes on with them."


def _old(judged: Sequence[Judgement]) -> str:
    """How many judgements say what they rest on; the others come from before that was noted."""
    new = [found for found in judged if found.known]
    said = (
        f"{len(new)} of these {len(judged)} judgements say what they rest on, {sum(f.caught for f in new)}"
        " of them catches"
    )
    if old := len(judged) - len(new):
        said += f"; {old} are older and to be confirmed: `make mutants` judges them again"
    return f"{said}."


def _share(judged: Sequence[Judgement]) -> str:
    return f"{sum(found.caught for found in judged) / len(judged):.0%}" if judged else "none judged"


def _faults(rows: Rows) -> Iterator[str]:
    yield "| area | caught | by name | not judged |"
    yield "|---|---|---|---|"
    for area, group in groupby(rows, key=lambda row: row[0].area):
        mutants = list(group)
        judged = [(mutant, found) for mutant, found in mutants if found]
        hits = sum(found.caught for _, found in judged)
        names = _links(mutant for mutant, _ in judged)
        rest = _links(mutant for mutant, found in mutants if not found)
        yield f"| {area} | {f'{hits} of {len(judged)}' if judged else '-'} | {names} | {rest} |"


def _mechanical(rows: Rows) -> Iterator[str]:
    """By group of files: what was caught of what is no equal; then every one that was not caught."""
    yield "| group | caught | of what differs | equal to the byte | differs, not caught | not judged |"
    yield "|---|---|---|---|---|---|"
    groups: dict[str, list[Judgement | None]] = defaultdict(list)
    for mutant, found in rows:
        groups[group_of(mutant.files[0])].append(found)
        groups["**all**"].append(found)
    for name, mine in sorted(groups.items(), key=lambda entry: (entry[0] == "**all**", entry[0])):
        judged = [found for found in mine if found]
        hits, equal = sum(found.caught for found in judged), sum(found.equal for found in judged)
        share = f"{hits / (len(judged) - equal):.0%}" if len(judged) > equal else "-"
        left = len(judged) - hits - equal
        yield f"| {name} | {hits} | {share} | {equal} | {left} | {len(mine) - len(judged)} |"
    calm = [(mutant, found) for mutant, found in rows if found and not found.caught]
    if calm:
        yield ""
        yield "| not caught | the change | verdict | cells that ran | of them differ | why, where known |"
        yield "|---|---|---|---|---|---|"
        for mutant, found in calm:
            subject = mutant.subject.replace("|", "\\|")
            counts = f"{found.cells} | {found.differ}"
            yield f"| {_link(mutant)} | `{subject}` | {caught(found)} | {counts} | {mutant.missed or ''} |"


def _ordered(rows: Rows) -> list[tuple[Mutant, Judgement | None]]:
    kinds = {"faults": 0, "harmless": 1, "mechanical": 2}
    return sorted(rows, key=lambda row: (kinds[row[0].kind], row[0].area, row[0].name))


def _links(mutants: Iterable[Mutant]) -> str:
    return ", ".join(map(_link, mutants))


def _link(mutant: Mutant) -> str:
    return f"[{mutant.name}](../mutants/{mutant.kind}/{mutant.name}.patch)"


def _missed(rows: Sequence[tuple[Mutant, Judgement]]) -> Iterator[str]:
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

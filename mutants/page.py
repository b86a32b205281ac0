"""docs/mutants.md: what people wrote, and between two marks the table that this writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .patches import Mutant
    from .results import Judgement

PAGE = Path(__file__).parent.parent / "docs" / "mutants.md"
BEGIN, END = "<!-- the table begins -->", "<!-- the table ends -->"

Rows = Sequence[tuple["Mutant", "Judgement | None"]]


def write(rows: Rows, path: Path = PAGE) -> None:
    """Put the table into the page."""
    before, _, rest = path.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n{table(rows)}{END}{after}")


def table(rows: Rows) -> str:
    """What was found, as Markdown: in sum, faults by area, harmless changes, faults that were missed."""
    faults = [(mutant, found) for mutant, found in rows if mutant.fault]
    harmless = [(mutant, found) for mutant, found in rows if not mutant.fault]
    missed = [(mutant, found) for mutant, found in faults if found and not found.caught]
    lines = [*_sum(faults, harmless), "", "### Faults", "", *_faults(faults)]
    if missed:
        lines += ["", "### Missed", "", *_missed(missed)]
    lines += ["", "### Harmless changes", "", *_harmless(harmless)]
    return "\n".join(lines) + "\n"


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
    yield ""
    yield "| area | faults | caught |"
    yield "|---|---|---|"
    areas = Counter(mutant.area for mutant, found in faults if found)
    hits = Counter(mutant.area for mutant, found in faults if found and found.caught)
    for area in sorted(areas):
        yield f"| {area} | {areas[area]} | {hits[area]} |"


def _share(judged: list[Judgement]) -> str:
    return f"{sum(found.caught for found in judged) / len(judged):.0%}" if judged else "none judged"


def _faults(rows: Rows) -> Iterator[str]:
    yield "| mutant | area | what | | by | build s | judge s |"
    yield "|---|---|---|---|---|---|---|"
    for mutant, found in sorted(rows, key=lambda row: (row[0].area, row[0].name)):
        yield (
            f"| [{mutant.name}](../mutants/faults/{mutant.name}.patch) | {mutant.area} | {mutant.subject}"
            f" | {caught(found)} | {by(found)} | {_seconds(found)} |"
        )


def _missed(rows: Rows) -> Iterator[str]:
    yield "| mutant | what a user would see | verdict | why it is missed |"
    yield "|---|---|---|---|"
    for mutant, found in rows:
        yield f"| {mutant.name} | {mutant.symptom} | {caught(found)} | {mutant.missed or 'not known'} |"


def _harmless(rows: Rows) -> Iterator[str]:
    yield "| mutant | area | what | | build s | judge s |"
    yield "|---|---|---|---|---|---|"
    for mutant, found in rows:
        said = caught(found) if found is None or found.quiet else f"**{found.verdict}**: {by(found)}"
        yield (
            f"| [{mutant.name}](../mutants/harmless/{mutant.name}.patch) | {mutant.area} | {mutant.subject}"
            f" | {said} | {_seconds(found)} |"
        )


def by(found: Judgement | None) -> str:
    """By which cell and metric it was noticed, with the change."""
    if found is None or not found.scenario:
        return ""
    where = f"{found.scenario} {found.cell}".strip()
    change = "" if found.change is None else f" {found.change:+.2%}"
    what = f"{found.metric}{change}" if found.metric else _short(found.reason)
    return f"{where}: {what}".replace("|", "\\|")


def _short(reason: str) -> str:
    line = reason.splitlines()[0] if reason else ""
    return line if len(line) <= 100 else f"{line[:97]}…"


def _seconds(found: Judgement | None) -> str:
    return f"{found.build_s:.0f} | {found.judge_s:.0f}" if found else " | "

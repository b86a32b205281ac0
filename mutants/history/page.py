"""docs/recall.md: between two marks the tables that this writes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from . import corpus, found

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mutants.patches import Mutant

    from .corpus import Row
    from .found import Found

PAGE = Path(__file__).parent.parent.parent / "docs" / "recall.md"
BEGIN, END = "<!-- the tables begin -->", "<!-- the tables end -->"
REASONS = {
    "nothing": "users see nothing of it: the same by other means, checks for developers",
    "race": "it needs two processors, or an instant between two steps; the laboratory's kernels have one",
    "memory": "memory is used after it was freed: [sanitizers](kernels.md#sanitizers) see that where it runs",
    "error": "an error has to happen first, and none does in the suite",
    "input": "it needs a setting that no administrator means",
    "peer": "it needs packets that no honest peer sends",
    "absent": "it needs a device, a feature or a setting that no cell has",
    "tracer": "only a tracepoint says it: the packets, the counters and the errors are the same",
    "onesided": "it needs data both ways in one connection, and among them an old ACK that comes late",
    "gap": "**users can see it, and no cell shows it**",
}


def write(path: Path = PAGE) -> None:
    """Put the tables into the page."""
    before, _, rest = path.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n{tables(corpus.read(), corpus.load(), found.read())}{END}{after}")


def tables(rows: Sequence[Row], judged: Sequence[Mutant], known: Mapping[str, Found]) -> str:
    """What there is, what was noticed, why the rest was not, and each hunk."""
    parts = [_sum(rows, judged, known), _folders(rows), _reasons(judged, known), _each(rows, judged, known)]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _sum(rows: Sequence[Row], judged: Sequence[Mutant], known: Mapping[str, Found]) -> Iterator[str]:
    done = [known[one.name] for one in judged if one.name in known]
    compiled = [one for one in done if one.verdict != "failed"]
    yield (
        f"**{len(rows)} hunks. {sum(one.noticed for one in compiled)} of the {len(compiled)} that were judged"
        " were noticed.**"
    )
    if rest := len(judged) - len(done):
        yield f"{rest} are not judged yet."


def _folders(rows: Sequence[Row]) -> Iterator[str]:
    names = (
        "folder",
        "hunks",
        "in a covered file",
        "of an executed function",
        "of executed lines",
        "can be judged",
    )
    yield f"| {' | '.join(names)} |"
    yield "|---|---|---|---|---|---|"
    for folder in sorted({_folder(row) for row in rows}):
        inside = [row for row in rows if _folder(row) == folder]
        counts = (
            len(inside),
            sum(row.function_cells is not None for row in inside),
            sum(row.executed for row in inside),
            sum(bool(row.line_cells) for row in inside),
            sum(bool(row.patch) for row in inside),
        )
        yield f"| `{folder}` | {' | '.join(map(str, counts))} |"


def _folder(row: Row) -> str:
    return "/".join(row.file.split("/")[:2])


def _reasons(judged: Sequence[Mutant], known: Mapping[str, Found]) -> Iterator[str]:
    quiet = [one for one in judged if one.name in known and not known[one.name].noticed]
    counts = Counter(one.missed for one in quiet)
    yield "| why not | hunks | means |"
    yield "|---|---|---|"
    for reason, count in sorted(counts.items(), key=lambda pair: -pair[1]):
        yield f"| {reason} | {count} | {REASONS[reason or '']} |"


def _each(rows: Sequence[Row], judged: Sequence[Mutant], known: Mapping[str, Found]) -> Iterator[str]:
    places = {row.patch: row for row in rows if row.patch}
    yield "| hunk, its update | without it a user would see | cells: function, lines | noticed by |"
    yield "|---|---|---|---|"
    for one in sorted(judged, key=lambda mutant: (places[mutant.name].file, places[mutant.name].line)):
        row = places[one.name]
        cells = f"{row.function_cells}, {row.line_cells}"
        link = f"[{Path(row.file).name}:{row.line}](../mutants/history/hunks/{one.name}.patch)"
        yield f"| {link} {one.subject} | {one.symptom} | {cells} | {_said(one, known.get(one.name))} |"


def _said(one: Mutant, judgement: Found | None) -> str:
    if judgement is None:
        return "not judged"
    if judgement.noticed:
        return f"**{judgement.by}**"
    return {"same": f"no: {one.missed}", "identical": "no: the same image"}.get(
        judgement.verdict, f"{judgement.verdict}: {judgement.by}"
    )

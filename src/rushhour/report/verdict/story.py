"""A verdict's document as people read it: a headline, facts, the cells with what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.errors import RecordError, ReportError
from rushhour.quantities.words import every, plural, quantity
from rushhour.record.document import read
from rushhour.record.verdict_file import AGAIN, FORMAT, VerdictFile
from rushhour.report.verdict import beside
from rushhour.report.verdict.advice import advice
from rushhour.report.verdict.cell import known_change, short_label, told_cell
from rushhour.report.verdict.common import groups
from rushhour.report.verdict.departure import number_of, told
from rushhour.report.verdict.order import ordered
from rushhour.verdict.vocabulary import DEPARTS, ORDER, SHOWN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rushhour.record.verdict_file import ComparedSide, MissingCell
    from rushhour.report.verdict.advice import Step
    from rushhour.report.verdict.cell import Cell, Known
    from rushhour.report.verdict.common import Group


@dataclass(frozen=True)
class Side:
    """The base or the candidate: its name, what it is in a line, where its records are."""

    name: str
    what: str


@dataclass(frozen=True)
class Story:
    """A whole comparison in words."""

    verdict: str
    headline: str
    lead: str
    base: Side
    candidate: Side
    facts: Sequence[tuple[str, str]]
    counts: Sequence[tuple[str, int]]
    identical: int
    cells: Sequence[Cell]
    same: Sequence[Cell]
    missing: Sequence[tuple[str, str]]
    notes: Sequence[str]
    changes: Sequence[tuple[Known, int]]
    unexplained: int | None
    steps: Sequence[Step]
    version: str
    beside: bool = False
    """Whether it is of one kernel with keys changed, and so no verdict (`beside.py`)."""

    @property
    def groups(self) -> list[Group]:
        """Cells that part in the same way."""
        return groups(self.cells)

    @property
    def areas(self) -> list[str]:
        """The areas of the cells that are not the same, in order."""
        return list(dict.fromkeys(cell.area for cell in self.cells if cell.area))


def story(document: Mapping[str, object]) -> Story:
    """Read a verdict's document.

    Raises:
        ReportError: it is not a verdict, has a newer version, or was damaged.
    """
    whole = read_verdict(document)
    try:
        return _story(whole)
    except (LookupError, ValueError, OverflowError) as error:  # a word that is no verdict, half an interval
        raise ReportError(f"the verdict is incomplete ({error!r})", hint=AGAIN) from error


def read_verdict(document: Mapping[str, object]) -> VerdictFile:
    """A verdict's document, typed.

    Raises:
        ReportError: it is not a verdict, has a newer version, or was damaged.
    """
    if isinstance(document, VerdictFile):
        return document
    if document.get("format") != FORMAT:
        raise ReportError(
            f"this verdict cannot be read: its format is {document.get('format')!r}, not {FORMAT!r}",
            hint="give the verdict.json that `rushhour compare` wrote",
        )
    try:
        return read(VerdictFile, document, "")
    except RecordError as error:
        raise ReportError(f"the verdict is incomplete: {error.message}", hint=AGAIN) from error


def _story(document: VerdictFile) -> Story:
    areas = _areas(document)
    cells = [told_cell(number, cell, areas, document) for number, cell in enumerate(ordered(document.cells))]
    identical = sum(cell.identical for cell in document.cells)
    counted: dict[str, int] = {name: document.counts.get(name, 0) for name in ORDER}
    verdict, counts = told(document.verdict, counted, number_of(document.cells))
    base, candidate = map(_side, document.sides)
    whole = Story(
        verdict,
        _headline(verdict, counts, identical),
        f"{_called(document.candidate)} against {_called(document.base)}",
        base,
        candidate,
        _facts(document),
        [*counts.items()],
        identical,
        [cell for cell in cells if cell.verdict != "same"],
        [cell for cell in cells if cell.verdict == "same"],
        [(_name(entry), entry.reason) for entry in document.missing],
        [*_unfinished(document), *document.notes],
        [(known_change(one), one.cells) for one in document.known.changes],
        document.known.unexplained,
        advice(document),
        document.rushhour,
    )
    changed = beside.changes(document)
    return beside.told(whole, changed) if changed else whole


def _unfinished(document: VerdictFile) -> list[str]:
    """What is said of a comparison that ended before all cells were judged."""
    judged, planned = len(document.cells), document.planned
    if not document.stopped:
        return []
    of = f": {judged} of {plural(planned, 'cell')} were judged" if planned > judged else ""
    return [f"It ended before the whole was judged{of}"]


def _headline(verdict: str, counts: Mapping[str, int], identical: int) -> str:
    total, number, departing = sum(counts.values()), counts.get(verdict, 0), counts.get(DEPARTS, 0)
    of = f"{number} of {plural(total, 'cell')}"
    if verdict == "same":
        if identical == total:
            which = f"{every(total, 'cell')} are " if total > 1 else ""
            return f"Same: {which}equal to the byte"
        if not identical:
            return f"Same: no change that matters in {plural(total, 'cell')}"
        be = "is" if identical == 1 else "are"
        return (
            f"Same: {identical} of {total} cells {be} equal to the byte, no change that matters in the others"
        )
    more = f"; {departing} more behave otherwise" if verdict == "worse" and departing else ""
    behave = "behaves" if number == 1 else "behave"
    return SHOWN[verdict].headline.format(of=of, behave=behave) + more


def _side(side: ComparedSide) -> Side:
    kernel = side.kernel
    name, called = str(side.name or kernel.name or "records"), _called(side)
    if called != name:
        return Side(called, f"kernel {name}")
    release = f"Linux {kernel.release}" if kernel.release else ""
    what = f"{release} ({kernel.name})" if kernel.name not in ("", name) and release else release
    return Side(name, what)


def _called(side: ComparedSide) -> str:
    """What a side is called in a title: of one that was built for a comparison, what it was built of."""
    kernel = side.kernel
    source, name = kernel.source, str(side.name or kernel.name or "records")
    commit, revision = source.commit or "", source.revision or ""
    if not commit or commit[:12] not in name:
        return name
    at = commit[:12] if commit.startswith(revision) else revision
    return f"Linux {kernel.release} at {at}{f' with {source.sanitizers}' if source.sanitizers else ''}"


def _facts(document: VerdictFile) -> list[tuple[str, str]]:
    rule, variable = document.rule, document.variable
    facts = [("Base", _about(document.base)), ("Candidate", _about(document.candidate))]
    varied = ", ".join(map(str, variable)) if isinstance(variable, list) else str(variable or "kernel")
    facts.append(("What differs", f"the {varied}"))
    labs = list(dict.fromkeys(side.lab for side in document.sides if side.lab))
    facts.append(("Lab", " and ".join(f"{lab}, virtual time" if lab == "uml" else lab for lab in labs)))
    if rule:
        least = f"{100 * rule.minimum:g} % or what a scenario says"
        facts.append(("Matters from", f"{least}, at {100 * rule.confidence:g} % confidence"))
        facts.append(("Seeds", f"{rule.seeds} in cells that differ, at most {rule.max_seeds}"))
    made = document.made.replace("T", " ").replace("Z", " UTC")
    if made:
        facts.append(("Made", f"{made} in {quantity(document.elapsed_s, 's')}"))
    return [(label, text) for label, text in facts if text]


def _about(side: ComparedSide) -> str:
    one, image = _side(side), side.kernel.image_sha256[:12]
    return " · ".join(text for text in (one.name, one.what, image and f"image {image}") if text)


def _name(entry: MissingCell) -> str:
    return f"{entry.scenario} {short_label(entry.label)}".strip()


def _areas(document: VerdictFile) -> dict[str, str]:
    """The area of each scenario: the chapter of its study, where the catalogue knows it."""
    from rushhour.spec.catalog import studies  # noqa: PLC0415 - loads the models of scenarios

    named = {cell.scenario for cell in document.cells}
    found = {name: name.rpartition("/")[0] for name in named}
    for name, study in studies().items():
        loaded = study.load() if any(one.startswith(f"{name}/") for one in named) else None
        for chapter in loaded.chapter if loaded else ():
            found.update(
                {f"{name}/{stem}": chapter.title for stem in chapter.scenarios if f"{name}/{stem}" in named}
            )
    return found

"""A verdict's document as people read it: a headline, facts, the cells with what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rushhour.errors import ReportError
from rushhour.quantities.words import quantity
from rushhour.report.verdict import beside
from rushhour.report.verdict.advice import advice
from rushhour.report.verdict.cell import known_change, plural, short_label, told_cell
from rushhour.report.verdict.common import groups
from rushhour.report.verdict.departure import DEPARTS, number_of, told
from rushhour.report.verdict.order import ORDER, ordered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rushhour.report.verdict.advice import Step
    from rushhour.report.verdict.cell import Cell, Known
    from rushhour.report.verdict.common import Group
FORMAT = "rushhour-verdict/1"
WORDS = {
    "worse": "Worse",
    "invalid": "Invalid",
    "inconclusive": "Inconclusive",
    "better": "Better",
    "same": "Same",
    DEPARTS: "Departs",
    "differs": "Beside each other",
}


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


def story(document: Mapping[str, Any]) -> Story:
    """Read a verdict's document.

    Raises:
        ReportError: it is not a verdict, has a newer version, or was damaged.
    """
    if document.get("format") != FORMAT:
        raise ReportError(
            f"this verdict cannot be read: its format is {document.get('format')!r}, not {FORMAT!r}",
            hint="give the verdict.json that `rushhour compare` wrote",
        )
    try:
        return _story(document)
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise ReportError(
            f"the verdict is incomplete ({error!r})", hint="compare again, or take it from a copy"
        ) from error


def _story(document: Mapping[str, Any]) -> Story:
    areas, known = _areas(document), document.get("known") or {}
    cells = [
        told_cell(number, cell, areas, document) for number, cell in enumerate(ordered(document["cells"]))
    ]
    identical = sum(cell.get("identical") is True for cell in document["cells"])
    counted = {name: int(document["counts"].get(name, 0)) for name in ORDER}
    verdict, counts = told(str(document["verdict"]), counted, number_of(document["cells"]))
    base, candidate = (_side(document[side]) for side in ("base", "candidate"))
    whole = Story(
        verdict,
        _headline(verdict, counts, identical),
        f"{candidate.name} against {base.name}",
        base,
        candidate,
        _facts(document),
        [*counts.items()],
        identical,
        [cell for cell in cells if cell.verdict != "same"],
        [cell for cell in cells if cell.verdict == "same"],
        [(_name(entry), str(entry.get("reason", ""))) for entry in document.get("missing") or []],
        [*_unfinished(document), *(str(note) for note in document.get("notes") or [])],
        [(known_change(one), int(one.get("cells") or 0)) for one in known.get("changes") or []],
        known.get("unexplained"),
        advice(document),
        str(document.get("rushhour", "")),
    )
    changed = beside.changes(document)
    return beside.told(whole, changed) if changed else whole


def _unfinished(document: Mapping[str, Any]) -> list[str]:
    """What is said of a comparison that ended before all cells were judged."""
    judged, planned = len(document["cells"]), int(document.get("planned") or 0)
    if not document.get("stopped"):
        return []
    of = f": {judged} of {plural(planned, 'cell')} were judged" if planned > judged else ""
    return [f"It ended before the whole was judged{of}"]


def _headline(verdict: str, counts: Mapping[str, int], identical: int) -> str:
    total, number, departing = sum(counts.values()), counts.get(verdict, 0), counts.get(DEPARTS, 0)
    of = f"{number} of {plural(total, 'cell')}"
    if verdict == "same":
        if identical == total:
            return f"Same: {f'all {total} cells are ' if total > 1 else ''}equal to the byte"
        if not identical:
            return f"Same: no change that matters in {plural(total, 'cell')}"
        be = "is" if identical == 1 else "are"
        return (
            f"Same: {identical} of {total} cells {be} equal to the byte, no change that matters in the others"
        )
    return {
        "worse": f"Worse: {of}" + (f"; {departing} more behave otherwise" if departing else ""),
        DEPARTS: f"Departs: {of} behave{'s' if number == 1 else ''} otherwise, and none is worse for users",
        "better": f"Better: {of}, and none worse",
        "inconclusive": f"Inconclusive: in {of} the runs cannot tell a change from chance",
        "invalid": f"Invalid: {of} could not be compared",
    }[verdict]


def _side(side: Mapping[str, Any]) -> Side:
    kernel = side.get("kernel") or {}
    name = str(side.get("name") or kernel.get("name") or "records")
    release = f"Linux {kernel['release']}" if kernel.get("release") else ""
    known = str(kernel.get("name") or "")
    what = f"{release} ({known})" if known not in ("", name) and release else release
    return Side(name, what)


def _facts(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    base, candidate, rule = document["base"], document["candidate"], document.get("rule") or {}
    variable = document.get("variable")
    facts = [(word, _about(side)) for word, side in (("Base", base), ("Candidate", candidate))]
    varied = ", ".join(map(str, variable)) if isinstance(variable, list) else str(variable or "kernel")
    facts.append(("What differs", f"the {varied}"))
    labs = list(dict.fromkeys(str(side.get("lab")) for side in (base, candidate) if side.get("lab")))
    facts.append(("Lab", " and ".join(f"{lab}, virtual time" if lab == "uml" else lab for lab in labs)))
    if rule:
        least = f"{100 * float(rule.get('minimum', 0)):g} % or what a scenario says"
        facts.append(("Matters from", f"{least}, at {100 * float(rule.get('confidence', 0)):g} % confidence"))
        facts.append(("Seeds", f"{rule.get('seeds')} in cells that differ, at most {rule.get('max_seeds')}"))
    made = str(document.get("made", "")).replace("T", " ").replace("Z", " UTC")
    if made:
        facts.append(("Made", f"{made} in {quantity(float(document.get('elapsed_s') or 0), 's')}"))
    return [(label, text) for label, text in facts if text]


def _about(side: Mapping[str, Any]) -> str:
    one, kernel = _side(side), side.get("kernel") or {}
    image = str(kernel.get("image_sha256") or "")[:12]
    return " · ".join(text for text in (one.name, one.what, image and f"image {image}") if text)


def _name(entry: Mapping[str, Any]) -> str:
    return f"{entry.get('scenario', '')} {short_label(str(entry.get('label') or ''))}".strip()


def _areas(document: Mapping[str, Any]) -> dict[str, str]:
    """The area of each scenario: the chapter of its study, where the catalogue knows it."""
    from rushhour.spec.catalog import studies  # noqa: PLC0415 - loads the models of scenarios

    named = {str(cell["scenario"]) for cell in document["cells"]}
    found = {name: name.rpartition("/")[0] for name in named}
    for name, study in studies().items():
        loaded = study.load() if any(one.startswith(f"{name}/") for one in named) else None
        for chapter in loaded.chapter if loaded else ():
            found.update(
                {f"{name}/{stem}": chapter.title for stem in chapter.scenarios if f"{name}/{stem}" in named}
            )
    return found

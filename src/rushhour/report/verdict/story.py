"""A verdict's document as people read it: a headline, facts, the cells with what was measured."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rushhour.errors import ReportError
from rushhour.metrics.catalog import METRICS
from rushhour.quantities.words import NONE, quantity, scale_for
from rushhour.report.verdict import beside
from rushhour.report.verdict.advice import advice, of_cell
from rushhour.report.verdict.common import groups
from rushhour.report.verdict.departure import DEPARTS, departs, number_of, told
from rushhour.report.verdict.order import ORDER, ordered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rushhour.report.verdict.advice import Step
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
MAX_LINES = 24
"""Lines of what a run said last."""
REACH = 6.0
"""How many times the least difference that matters the scale of a bar reaches to either side."""
_FACTOR = re.compile(r"(?<![^\s,])(?:[\w-]+\.)+([\w-]+)=")
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True)
class Side:
    """The base or the candidate: its name, what it is in a line, where its records are."""

    name: str
    what: str


@dataclass(frozen=True)
class Bar:
    """A change and its interval in units of the least that matters, cut at `REACH`; None where unknown."""

    at: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Metric:
    """One judged metric in words."""

    name: str
    scope: str
    base: str
    candidate: str
    change: str
    interval: str
    minimum: str
    better: str
    verdict: str
    reason: str
    bar: Bar | None


@dataclass(frozen=True)
class Known:
    """A known change of the kernel that explains a cell: the commit, why, how that is known."""

    commit: str
    subject: str
    since: str
    why: str
    proof: str
    also: Sequence[str] = ()

    @property
    def name(self) -> str:
        """Commit, subject and release in a line."""
        return f"{self.commit[:12]} {self.subject} ({self.since})".strip()


@dataclass(frozen=True)
class Cell:
    """One cell: what it is, what it guards, what was found; `source` is its part of the document.

    `failures` are runs that did not come to an end, of each side the first: which, and its last words.
    """

    number: int
    verdict: str
    scenario: str
    title: str
    label: str
    area: str
    guards: str
    reason: str
    seeds: int
    metrics: Sequence[Metric]
    broken: Sequence[str]
    failures: Sequence[tuple[str, str]]
    warnings: Sequence[str]
    divergence: Mapping[str, Any] | None
    known: Sequence[Known]
    steps: Sequence[Step]
    source: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Scenario and factors in a line."""
        return f"{self.scenario} {self.label}".strip()

    @property
    def short(self) -> str:
        """The reason up to what else is known of the change: enough for a line of a table."""
        return sentence(self.reason.partition(", more than")[0].partition(", but ")[0])

    @property
    def telling(self) -> list[Metric]:
        """The metrics that decide: those that are as the cell is; of equal ones none."""
        return [metric for metric in self.metrics if metric.verdict == self.verdict != "same"]


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
            f"this is no verdict that can be read: its format is {document.get('format')!r}, not {FORMAT!r}",
            hint="give the verdict.json that `rushhour compare` wrote",
        )
    try:
        return _story(document)
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise ReportError(
            f"the verdict is not whole ({error!r})", hint="compare again, or take it from a copy"
        ) from error


def _story(document: Mapping[str, Any]) -> Story:
    areas, known = _areas(document), document.get("known") or {}
    ranked = [_cell(number, cell, areas, document) for number, cell in enumerate(ordered(document["cells"]))]
    cells = [_departing(cell) for cell in ranked]
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
        [(_known(one), int(one.get("cells") or 0)) for one in known.get("changes") or []],
        known.get("unexplained"),
        advice(document),
        str(document.get("rushhour", "")),
    )
    changed = beside.changes(document)
    return beside.told(whole, changed) if changed else whole


def _departing(cell: Cell) -> Cell:
    """A cell in which only metrics without a better side changed: it behaves otherwise, and harms nobody."""
    if not departs(cell.source):
        return cell
    metrics = [
        replace(metric, verdict=DEPARTS) if metric.verdict == "worse" else metric for metric in cell.metrics
    ]
    return replace(cell, verdict=DEPARTS, metrics=metrics)


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


def plural(count: int, noun: str) -> str:
    """A number with its noun."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


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
    return f"{entry.get('scenario', '')} {_label(str(entry.get('label') or ''))}".strip()


def _label(text: str) -> str:
    """Factors by the last part of their names: `queue=codel`."""
    return _FACTOR.sub(r"\1=", text)


def _cell(
    number: int, cell: Mapping[str, Any], areas: Mapping[str, str], document: Mapping[str, Any]
) -> Cell:
    scenario = str(cell["scenario"])
    broken = [
        str(entry["text"])
        for entry in cell.get("expectations") or []
        if entry.get("base") and entry.get("candidate") is False
    ]
    metrics = sorted(map(_metric, cell.get("metrics") or []), key=lambda one: ORDER.index(one.verdict))
    return Cell(
        number,
        str(cell["verdict"]),
        scenario,
        str(cell.get("title") or scenario),
        _label(str(cell.get("label") or "")),
        areas.get(scenario, ""),
        " ".join(str(cell.get("guards") or "").split()),
        sentence(str(cell.get("reason") or "")),
        len(cell.get("seeds") or []),
        metrics,
        broken,
        list(_failures(cell)),
        [str(warning) for warning in cell.get("warnings") or []],
        cell.get("divergence"),
        [_known(entry) for entry in cell.get("known") or []],
        of_cell(cell, document),
        cell,
    )


def _known(entry: Mapping[str, Any]) -> Known:
    also = tuple(str(one) for one in entry.get("also") or [])
    texts = {key: str(entry.get(key) or "") for key in ("commit", "subject", "since", "why", "proof")}
    return Known(**texts, also=also)


def _failures(cell: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for side in ("base", "candidate"):
        runs = (cell.get("runs") or {}).get(side) or []
        failed = [run for run in runs if run.get("error")]
        if failed:
            number = f"{len(failed)} of {plural(len(runs), 'run')}"
            lines = str(failed[0]["error"]).strip().splitlines()
            yield f"{side}: {number} failed, with seed {failed[0].get('seed')}", "\n".join(lines[-MAX_LINES:])


def sentence(text: str) -> str:
    """A reason with a capital letter and a full stop; names of metrics stay as they are."""
    text = text.strip()
    if text and text.partition(" ")[0] not in METRICS:
        text = text[0].upper() + text[1:]
    return text if not text or text[-1] in ".!?" else f"{text}."


def _metric(entry: Mapping[str, Any]) -> Metric:
    unit = str(entry.get("unit") or "")
    means = [(entry.get(side) or {}).get("mean") for side in ("base", "candidate")]
    scale = scale_for(means, unit)
    scope = str(entry.get("scope") or "")
    return Metric(
        str(entry["metric"]),
        "" if scope == "total" else scope,
        scale.with_unit(means[0]),
        scale.with_unit(means[1]),
        _change(entry, unit),
        _interval(entry, unit),
        str(entry.get("minimum") or ""),
        str(entry.get("better") or ""),
        str(entry["verdict"]),
        sentence(str(entry.get("reason") or "")),
        _bar(entry),
    )


def _in_share(entry: Mapping[str, Any]) -> bool:
    """Whether a change is said as a share: where that is what its minimum is, and the base is not tiny."""
    change = entry.get("change")
    return change is not None and str(entry.get("minimum") or "%").endswith("%") and abs(change) < 10


def _change(entry: Mapping[str, Any], unit: str) -> str:
    if _in_share(entry):
        return _percent(float(entry["change"]))
    difference = entry.get("difference")
    return NONE if difference is None else _signed(float(difference), unit)


def _interval(entry: Mapping[str, Any], unit: str) -> str:
    share = _in_share(entry)
    interval = entry.get("interval" if share else "difference_interval")
    if not interval:
        return ""
    ends = [float(end) for end in interval]
    if useless(ends[0], ends[1], 1.0 if share else abs(float((entry.get("base") or {}).get("mean") or 0.0))):
        return ""
    low, high = ((_percent(end) if share else _signed(end, unit)) for end in ends)
    # The same in every seed: the change itself says it.
    return f"{low} … {high}" if low != high else ""


def useless(low: float, high: float, whole: float) -> bool:
    """Whether an interval says nothing: it reaches as far as the whole value to both sides, or is endless."""
    return not (math.isfinite(low) and math.isfinite(high)) or (low < -whole and high > whole)


def _percent(share: float) -> str:
    size = abs(100 * share)
    digits = 0 if size >= 100 else 1 if size >= 1 else 2
    return f"{_sign(share)}{size:.{digits}f} %"


def _signed(value: float, unit: str) -> str:
    return f"{_sign(value)}{quantity(abs(value), unit)}"


def _sign(value: float) -> str:
    return "+" if value > 0 else MINUS if value < 0 else ""


def _bar(entry: Mapping[str, Any]) -> Bar | None:
    least, difference = entry.get("least"), entry.get("difference")
    if not least or difference is None:
        return None
    low, high = entry.get("difference_interval") or (None, None)
    at, low, high = (
        None if value is None else _cut(float(value) / least) for value in (difference, low, high)
    )
    return None if at is None else Bar(at, low, high)


def _cut(value: float) -> float:
    return max(-REACH, min(REACH, value))


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

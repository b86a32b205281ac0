"""Several result sets as one report: chapters as the study has them, each with its scenarios.

Takes result sets, gives what is to be shown of them, free of how; `study_html` and `study_markdown` show it.
Sets are read one after the other, and of each only what is shown is kept.
"""

from __future__ import annotations

import os
from base64 import b64encode
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pydantic import ValidationError

from rushhour.quantities.words import plural
from rushhour.report.abreast import each
from rushhour.report.answer import answer
from rushhour.report.definitions import definitions
from rushhour.report.figure import Collector, page, paper
from rushhour.report.gather import about, reasons, views
from rushhour.report.model import kernel_name
from rushhour.report.palette import Palette
from rushhour.report.published import sheets, tally
from rushhour.report.reproduce import ASKED, reproduction
from rushhour.report.tables import cells_table, flows_table
from rushhour.report.topology import topology_svg
from rushhour.spec import Chapter, Study
from rushhour.spec.sweep import known_sweep
from rushhour.summary.comparison import compare
from rushhour.summary.expectations import held_said

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rushhour.record.result_set import ResultSet
    from rushhour.report.definitions import Definition
    from rushhour.report.figure.description import Drawing
    from rushhour.report.model import RunView
    from rushhour.report.published import Sheet
    from rushhour.report.tables import Table

_POINTS = 24_000
"""Samples of the one figure of a single run whose scenario asks for none."""


@dataclass(frozen=True)
class Section:
    """One scenario: what was asked, what came out, what it is held against; without runs, why there are none.

    `figures` are drawings with their packed text (`report/figure/page.py`), `picture` an SVG in base64 of a
    single run where the scenario names no figure.
    """

    name: str
    title: str
    question: str
    page: str | None
    answer: str = ""
    changed: tuple[str, ...] = ()
    description: str = ""
    conditions: str = ""
    topology: str = ""
    runs: int = 0
    invalid: int = 0
    judged: int = 0
    held: int = 0
    unexpected: tuple[str, ...] = ()
    figures: list[tuple[Drawing, str]] = field(default_factory=list)
    picture: str = ""
    table: Table | None = None
    sheets: list[Sheet] = field(default_factory=list)
    quick: bool = False
    skipped: tuple[tuple[str, str], ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    command: str = ""
    definitions: Mapping[str, Definition] = field(default_factory=dict)

    @property
    def state(self) -> str:
        """Whether it is to be trusted, in words."""
        if not self.runs and self.skipped and not self.failed:
            return f"not run: {self.skipped[0][1]}"
        parts = [f"{self.runs} run{'s' if self.runs != 1 else ''}"]
        parts += [f"{self.invalid} invalid"] if self.invalid else ["all valid"] if self.runs else []
        parts += [f"{len(self.failed)} failed" if self.runs else "failed"] if self.failed else []
        if self.judged:
            parts.append(held_said(self.held, self.judged))
        return ", ".join(parts)

    @property
    def tally(self) -> tuple[int, int]:
        """How many published numbers agree, and of how many."""
        return tally(self.sheets)

    @property
    def sound(self) -> bool:
        """Whether all runs that the kernel can carry out exist, are valid and came out as expected."""
        there = bool(self.runs or self.skipped)
        return there and not self.invalid and not self.failed and self.held == self.judged


@dataclass(frozen=True)
class Part:
    """A chapter with the scenarios of it that there are results of."""

    number: int
    chapter: Chapter
    sections: list[Section]

    @property
    def tally(self) -> tuple[int, int]:
        """How many published numbers agree, and of how many."""
        return tally(sheet for section in self.sections for sheet in section.sheets)


@dataclass(frozen=True)
class Whole:
    """A study's report. `kernels` and the rest are facts that its sets share."""

    title: str
    author: str
    document: str
    summary: str
    parts: list[Part]
    kernels: list[str]
    commands: list[tuple[str, str]]
    version: str

    @property
    def sections(self) -> list[Section]:
        """The scenarios of all chapters."""
        return [section for part in self.parts for section in part.sections]

    @property
    def tally(self) -> tuple[int, int]:
        """How many published numbers agree, and of how many."""
        return tally(sheet for section in self.sections for sheet in section.sheets)

    @property
    def definitions(self) -> Mapping[str, Definition]:
        """The definitions of every metric that the tables show."""
        return {name: entry for section in self.sections for name, entry in section.definitions.items()}


def gathered(sets: Sequence[ResultSet], beside: Path) -> Whole:
    """Read result sets for one report; `beside` is the folder of the report, for links to the sets' own."""
    with closing(each(section, sets, beside)) as sections:
        found = [(_study(one), drawn) for one, drawn in zip(sets, sections, strict=True)]
    titles = list(dict.fromkeys(study.title for study, _ in found if study is not None))
    alone = next(study for study, _ in found if study is not None) if len(titles) == 1 else None
    manifests = [next(iter(one)).manifest for one in sets if one.folders()]
    return Whole(
        title=alone.title if alone else " · ".join(titles) or plural(len(sets), "scenario"),
        author=alone.author or "" if alone else "",
        document=_line(alone.document) if alone else "",
        summary=_line(alone.summary) if alone else "",
        parts=_parts(found),
        kernels=list(dict.fromkeys(kernel_name(manifest.kernel) for manifest in manifests)),
        commands=_commands(sets),
        version=manifests[0].rushhour or "" if manifests else "",
    )


def _study(results: ResultSet) -> Study | None:
    if not results.about.study:
        return None
    try:
        return Study.model_validate(
            {key: value for key, value in results.about.study.items() if key != "name"}
        )
    except ValidationError:  # of another version: its scenarios get chapters of their own
        return None


def _parts(found: Sequence[tuple[Study | None, Section]]) -> list[Part]:
    """Chapters in their order; a scenario of none is one of its own."""
    parts: list[tuple[Chapter, list[Section]]] = []
    for study in dict.fromkeys(study.title for study, _ in found if study is not None):
        mine = [(one, section) for one, section in found if one is not None and one.title == study]
        for chapter in mine[0][0].chapter:
            by_name = {section.name.rpartition("/")[2]: section for _, section in mine}
            sections = [by_name[name] for name in chapter.scenarios if name in by_name]
            parts += [(chapter, sections)] if sections else []
    placed = {id(section) for _, sections in parts for section in sections}
    for _, section in found:
        if id(section) not in placed:
            parts.append((Chapter(title=section.title, scenarios=("x",)), [section]))
    return [Part(number, chapter, sections) for number, (chapter, sections) in enumerate(parts, 1)]


def section(results: ResultSet, beside: Path) -> Section:
    """What a report says of one of its sets.

    Raises:
        RecordError: a record cannot be read.
    """
    bare = _bare(results, beside)
    if not results.folders():
        return bare
    collector = Collector.of(results)
    alone = len(results) == 1 and not collector.figures
    palette = Palette()
    runs, picture = [], ""
    for plain in views(results, curves=alone, total_points=_POINTS, also=collector):
        run = replace(plain, flows=palette.flows(plain.flows))
        picture = b64encode(paper.draw_run(run, "svg")).decode() if alone and run.panels else ""
        runs.append(run)
    head = about(results)
    return replace(
        bare,
        answer=answer(results.about, runs),
        description=head.description,
        conditions=_conditions(runs),
        topology=topology_svg(next(iter(results))),
        runs=len(runs),
        invalid=sum(not run.valid for run in runs),
        judged=sum(len(run.verdicts) for run in runs),
        held=sum(verdict.ok for run in runs for verdict in run.verdicts),
        unexpected=_unexpected(runs),
        figures=[(drawing, page.packed(drawing)) for drawing in map(palette.figure, collector.drawings())],
        picture=picture,
        table=cells_table(runs, split=True) if len(runs) > 1 else flows_table(runs[0]),
        sheets=sheets(results.once(compare)),
        command=next((command for what, command in reproduction(results).commands if what == ASKED), ""),
        definitions=definitions(runs),
    )


def _bare(results: ResultSet, beside: Path) -> Section:
    """What is said of a set before its runs are read."""
    made, scenario = results.about, results.about.scenario
    name, unsaid = results.name, known_sweep(scenario.resolved.sweep).unsaid
    report = results.path / "report.html"
    return Section(
        name,
        scenario.title or name,
        scenario.resolved.question,
        os.path.relpath(report, beside) if report.is_file() else None,
        changed=made.asked.sets,
        quick=made.quick,
        skipped=reasons(made.skipped, unsaid),
        failed=reasons(made.failures, unsaid),
    )


def _conditions(runs: Sequence[RunView]) -> str:
    first = runs[0]
    same = all(run.conditions == first.conditions for run in runs)
    return " · ".join(first.conditions) if same else ""


def _unexpected(runs: Sequence[RunView]) -> tuple[str, ...]:
    found = (f"{run.label}: {verdict.message}" for run in runs for verdict in run.verdicts if not verdict.ok)
    return tuple(dict.fromkeys(found))


def _commands(sets: Sequence[ResultSet]) -> list[tuple[str, str]]:
    """How to get the same again: the kernels, then the study as it was asked for, else each scenario."""
    kernels: dict[str, str] = {}
    asked: dict[str, str] = {}
    for one in (one for one in sets if one.folders()):
        for what, command in reproduction(one).commands:
            if what == ASKED:
                asked[command] = one.name
            elif "saved as" not in what:
                kernels[command] = what
    whole = {command.replace(f" {name}", f" {name.rpartition('/')[0]}", 1) for command, name in asked.items()}
    if len(whole) == 1 and all("/" in name for name in asked.values()):
        asked = {whole.pop(): "As it was asked for"}
    return [(what, command) for command, what in (kernels | asked).items()]


def _line(text: str | None) -> str:
    return " ".join((text or "").split())

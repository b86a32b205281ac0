"""The report as Markdown: for a commit message, an issue, a mail."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rushhour.quantities.words import capital, plural, quantity
from rushhour.report.answer import answer
from rushhour.report.definitions import definitions
from rushhour.report.gather import about, views
from rushhour.report.machines import distrusted, links_said, work_said
from rushhour.report.model import kept_said, lasting
from rushhour.report.published import sheets
from rushhour.report.tables import cells_table, flows_table
from rushhour.report.warned import MOST_WARNINGS, warned
from rushhour.report.why import unexplained
from rushhour.spec.quick import QUICK_LOOK
from rushhour.summary.comparison import compare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.record.result_set import ResultSet
    from rushhour.report.gather import About
    from rushhour.report.model import RunView
    from rushhour.report.published import Sheet
    from rushhour.report.tables import Table

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")


def render(results: ResultSet) -> str:
    """The report as text; the same records give the same text."""
    runs = list(views(results, curves=False, explained=len(results) == 1))
    head = about(results)
    lines = [f"# {said(head.title)}", ""]
    lines += [f"*{said(head.question)}*", ""] if head.question else []
    found = answer(results.about, runs)
    lines += [f"**{said(found)}**", ""] if found else []
    lines += [*_facts(runs), *_changed(head), ""]
    lines += [*table(flows_table(runs[0]) if len(runs) == 1 else cells_table(runs, split=True)), ""]
    lines += [*_missing(head), ""]
    if len(runs) == 1:
        lines += [*_numbers(runs[0]), "", *_why(runs[0]), ""]
    lines += [*_state(runs), ""]
    for sheet in sheets(results.once(compare)):
        lines += [*published(sheet), ""]
    defined = definitions(runs).values()
    lines += ["## Definitions", ""] if defined else []
    lines += [f"* `{entry.name}`: {said(' '.join(entry.text.split()))}" for entry in defined]
    return "\n".join(lines).rstrip() + "\n"


def said(text: str) -> str:
    """Text that Markdown shows as it stands, in one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _facts(runs: list[RunView]) -> Iterator[str]:
    first = runs[0]
    if all(run.conditions == first.conditions for run in runs):
        yield f"* path: {said(' · '.join(first.conditions))}"
    yield f"* kernel: {said(', '.join(dict.fromkeys(run.kernel for run in runs)))}"
    yield f"* lab: {said(first.lab)}"
    if work := work_said(runs):
        yield f"* machine: {said(work)}"
    if kept := kept_said(runs):
        yield f"* kept: {said(kept)}"
    yield f"* seed: {', '.join(str(seed) for seed in sorted({run.seed for run in runs})[:20])}"
    yield f"* duration: {lasting(runs)}, runs: {len(runs)}"


def _changed(head: About) -> Iterator[str]:
    if head.changed:
        yield f"* changed: {said(' · '.join(head.changed))}"


def table(found: Table) -> Iterator[str]:
    """A table of cells or flows."""
    titles = [
        f"{column.title} [{column.scale.unit}]" if column.scale.unit else column.title
        for column in found.columns
    ]
    yield "| " + " | ".join(said(text) for text in [*found.heads, *titles]) + " |"
    yield "|" + "---|" * len(found.heads) + "---:|" * len(found.columns)
    for row in found.rows:
        texts = [column.scale.text(value) for column, value in zip(found.columns, row.values, strict=True)]
        heads = [said(head) for head in row.head]
        if not row.valid and heads:
            heads[0] += " (invalid)"
        yield "| " + " | ".join([*heads, *texts]) + " |"


def _missing(head: About) -> Iterator[str]:
    if head.quick:
        yield f"A quick look: {QUICK_LOOK}."
    for word, pairs in (("skipped", head.skipped), ("failed", head.failed)):
        yield from (f"* {word}, {said(cell)}: {said(reason)}" for cell, reason in pairs)


def published(sheet: Sheet, level: int = 3) -> Iterator[str]:
    """One published table beside what was measured."""
    read = f", {sheet.read}" if sheet.read else ""
    yield f"{'#' * level} {said(sheet.title)}"
    yield ""
    yield f"{said(sheet.source)}{read}: {said(sheet.verdict)} (`{sheet.about}`)."
    yield ""
    unit = f" [{said(sheet.unit)}]" if sheet.unit else ""
    heads = [*map(said, sheet.heads), f"published{unit}", f"measured{unit}", "difference", "agrees"]
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(sheet.heads) + "---:|---:|---:|---|"
    for line in sheet.lines:
        agrees = said(line.note) if line.agrees is None else "yes" if line.agrees else "no"
        cells = [*map(said, line.head), line.published, line.measured, line.difference, agrees]
        yield "| " + " | ".join(cells) + " |"
    for text in sheet.notes:
        yield ""
        yield said(text)


def _numbers(run: RunView) -> Iterator[str]:
    yield "| metric | of | value | note |"
    yield "|---|---|---:|---|"
    for value in run.metrics:
        number = quantity(value.value, value.unit)
        yield f"| `{value.metric}` | {said(value.scope)} | {number} | {said(value.note or '')} |"


def _why(run: RunView) -> Iterator[str]:
    for one in run.why:
        yield f"* **{said(one.flow)}**: {said(one.words)}."
        for found in one.said:
            remedy = f" {found.advice}" if found.advice else ""
            remedy += f" Expected: {found.expected}." if found.expected else ""
            yield f"  {said(found.says + remedy)}"
            if found.command:
                yield f"  `{found.command}`"
    if rest := unexplained(run):
        yield f"* {rest}"


def _state(runs: list[RunView]) -> Iterator[str]:
    invalid = [run for run in runs if not run.valid]
    if invalid:
        yield f"**Invalid. {capital(distrusted(len(invalid), len(runs)))}:**"
        yield ""
        for run in invalid:
            yield f"* {said(run.label)}: {said('; '.join(run.reasons) or 'no reason was recorded')}"
    else:
        yield f"Valid. {links_said(runs)}"
    failed = [(run, verdict) for run in runs for verdict in run.verdicts if not verdict.ok]
    for run, verdict in failed:
        yield f"* not as expected, {said(run.label)}: {said(verdict.message)}"
    warnings, left_out = warned(runs, MOST_WARNINGS)
    for warning in warnings:
        yield f"* warning: {said(warning)}"
    if left_out:
        yield f"* and {plural(left_out, 'more warning')}"

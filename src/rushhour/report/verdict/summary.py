"""The verdict as Markdown, for a pull request or a job's summary: what GitHub and GitLab both render."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.quantities.words import plural
from rushhour.report.markdown import said
from rushhour.report.verdict.rows import rows
from rushhour.report.verdict.story import story
from rushhour.verdict.vocabulary import SHOWN, title

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rushhour.record.verdict_file import DivergenceFile
    from rushhour.report.verdict.advice import Step
    from rushhour.report.verdict.cell import Cell, Metric
    from rushhour.report.verdict.story import Story

LIMIT = 60_000
"""Bytes of a summary: a comment on GitHub may have 65 536 letters."""
MAX_LISTED = 40
"""Cells in the table; of more, the first."""
MAX_TOLD = 12
"""Cells that are told in full."""
MAX_METRICS = 6
MAX_GROUPS = 5


def markdown(document: Mapping[str, object]) -> str:
    """The summary as text of at most `LIMIT` bytes; cells that do not fit are counted.

    Raises:
        ReportError: this is no verdict's document, or one of a newer version.
    """
    whole = story(document)
    head = "\n".join(_head(whole)) + "\n"
    tail = "\n".join(_tail(whole)) + "\n"
    room = LIMIT - len((head + tail).encode("utf-8", "replace")) - 200
    told: list[str] = []
    for number, cell in enumerate(whole.cells):
        text = "\n".join(_cell(cell)) + "\n"
        room -= len(text.encode())
        if room < 0 or number == MAX_TOLD:
            left = len(whole.cells) - number
            told.append(f"\nThe report tells {plural(left, 'more cell')} in full.\n")
            break
        told.append(text)
    return head + "".join(told) + tail


def _head(whole: Story) -> Iterator[str]:
    yield f"## {SHOWN[whole.verdict].sign} {said(whole.headline)}"
    yield ""
    yield said(whole.lead)
    yield ""
    counted = [f"{SHOWN[name].sign} {count} {name}" for name, count in whole.counts if count]
    yield " · ".join(counted) + (f" ({whole.identical} equal to the byte)" if whole.identical else "")
    yield ""
    if not whole.cells:
        return
    yield "| verdict | cell | why |"
    yield "|---|---|---|"
    for cell in whole.cells[:MAX_LISTED]:
        yield f"| {SHOWN[cell.verdict].sign} {cell.verdict} | {said(cell.name)} | {said(cell.short)} |"
    if len(whole.cells) > MAX_LISTED:
        yield ""
        yield f"and {plural(len(whole.cells) - MAX_LISTED, 'more cell')}"
    yield ""
    for group in whole.groups[:MAX_GROUPS]:
        yield f"* **{len(group.cells)} cells diverge at {said(group.what)}.** {said(group.sentence)}"
    yield ""
    for change, cells in whole.changes:
        yield f"* **Known change, {plural(cells, 'cell')}.** {said(change.name)}"
    if whole.unexplained:
        yield f"* No known change explains {plural(whole.unexplained, 'cell')}."
    yield ""


def _cell(cell: Cell) -> Iterator[str]:
    heading = f"<b>{_plain(cell.title)}</b> {_plain(cell.label)}"
    yield f"<details><summary>{SHOWN[cell.verdict].sign} {heading}</summary>"
    yield ""
    yield said(cell.reason)
    yield ""
    if cell.guards:
        yield f"**What it guards.** {said(cell.guards)}."
        yield ""
    yield from (f"* known change: {said(change.name)}. {said(change.why)}" for change in cell.known)
    yield from [""] if cell.known else []
    yield from (f"* broken: {said(text)}" for text in cell.broken)
    yield from (f"* mended: {said(text)}, which the base does not keep" for text in cell.mended)
    yield from [""] if cell.broken or cell.mended else []
    for which, words in cell.failures:
        yield from (f"The {said(which)}:", "", "```", words.replace("`", "'"), "```", "")
    if cell.divergence:
        yield f"**Where the runs diverge.** {said(cell.divergence.sentence)}"
        yield ""
        yield from _events(cell.divergence)
    yield from _metrics(cell.telling[:MAX_METRICS])
    yield from _steps(cell.steps)
    yield "</details>"
    yield ""


def _events(divergence: DivergenceFile) -> Iterator[str]:
    found = rows(divergence)
    if found is not None:
        yield from ("```diff", found.text().replace("`", "'"), "```", "")


def _metrics(metrics: Sequence[Metric]) -> Iterator[str]:
    if not metrics:
        return
    yield "| metric | base | candidate | change | matters from | verdict |"
    yield "|---|--:|--:|--:|--:|---|"
    for metric in metrics:
        change = f"{metric.change} ({metric.interval})" if metric.interval else metric.change
        name = f"{metric.name} {metric.scope}".strip()
        cells = [name, metric.base, metric.candidate, change, metric.minimum, metric.verdict]
        yield "| " + " | ".join(map(said, cells)) + " |"
    yield ""


def _tail(whole: Story) -> Iterator[str]:
    if whole.missing:
        yield f"<details><summary>{len(whole.missing)} not compared</summary>"
        yield ""
        yield from (f"* {said(name)}: {said(reason)}" for name, reason in whole.missing[:MAX_LISTED])
        if len(whole.missing) > MAX_LISTED:
            yield f"* and {len(whole.missing) - MAX_LISTED} more"
        yield "</details>"
        yield ""
    if whole.steps:
        yield "**What to do next**"
        yield ""
        yield from _steps(whole.steps)
    yield "| what was compared | |"
    yield "|---|---|"
    yield from (f"| {said(label)} | {said(text)} |" for label, text in whole.facts)
    yield from (f"\n{said(note)}" for note in whole.notes)
    yield ""
    yield f"{title(whole.verdict)}: Rush Hour {said(whole.version)}"


def _steps(steps: Sequence[Step]) -> Iterator[str]:
    for step in steps:
        yield from ([f"{said(step.what)}:", ""] if step.what else [])
        yield from ("```sh", step.command.replace("`", "'"), "```", "")


def _plain(text: str) -> str:
    """Text inside HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

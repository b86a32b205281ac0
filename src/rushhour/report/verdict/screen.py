"""The verdict in the terminal: the first screen says what was found, where, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from rushhour.quantities.words import plural
from rushhour.report.command import Command
from rushhour.report.grid import Grid
from rushhour.report.verdict.rows import rows
from rushhour.report.verdict.story import story
from rushhour.verdict.vocabulary import SHOWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Console, ConsoleOptions, RenderableType

    from rushhour.report.verdict.cell import Cell
    from rushhour.report.verdict.rows import Rows
    from rushhour.report.verdict.story import Story

MAX_LISTED = 8
"""Cells in the table."""
MAX_TOLD = 1
"""Cells that are told with their metrics and the events around their divergence."""
MAX_METRICS = 5
MAX_GROUPS = 3
MAX_MISSING = 2
MAX_LINES = 8
_SIGNS = {"-": "red", "+": "cyan", " ": "dim"}


def terminal(document: Mapping[str, object], folder: Path = Path()) -> RenderableType:
    """What a console prints of a verdict.

    Args:
        document: The verdict's.
        folder: Where it lies, from where the reader gives commands.

    Raises:
        ReportError: this is no verdict's document, or one of a newer version.
    """
    whole = story(document)
    parts: list[RenderableType] = [Text(), *_head(whole)]
    # Of two runs held beside each other the first lines have said it.
    if whole.cells and not (whole.beside and len(whole.cells) == 1):
        parts += [Text(), _table(whole)]
    if whole.groups:
        parts += [Text(), *_groups(whole)]
    mended = sum(bool(cell.mended) for cell in whole.cells)
    if mended:
        keeps = "keeps" if mended == 1 else "keep"
        told_of = f"{plural(mended, 'cell')} {keeps} what the scenario expects and the base does not"
        parts += [Text(), Text(told_of, "green")]
    if whole.changes:
        parts += [Text(), *_changes(whole)]
    told = [cell for cell in whole.cells if cell.verdict in ("worse", "better")] or whole.cells
    for cell in told[:MAX_TOLD]:
        parts += [Text(), *_cell(cell, folder)]
    parts += [Text(), *_tail(whole)] if whole.missing or whole.notes or whole.steps else []
    return Group(*parts)


def _head(whole: Story) -> Iterator[RenderableType]:
    yield Text(whole.headline, SHOWN[whole.verdict].colour)
    yield Text(whole.lead)
    counts = [Text(f"{count} {name}", SHOWN[name].colour) for name, count in whole.counts if count]
    line = Text(" · ").join(counts)
    if whole.identical:
        line.append(f" ({whole.identical} equal to the byte)", "dim")
    yield line
    rule = [text for label, text in whole.facts if label in ("Lab", "Matters from")]
    yield Text(" · ".join(rule), "dim")


def _table(whole: Story) -> RenderableType:
    table = Grid()
    table.add_column("verdict", no_wrap=True)
    table.add_column("cell")
    table.add_column("why")
    for cell in whole.cells[:MAX_LISTED]:
        table.add_row(Text(cell.verdict, SHOWN[cell.verdict].colour), Text(cell.name), Text(cell.short))
    left = len(whole.cells) - MAX_LISTED
    if left <= 0:
        return table
    return Group(table, Text(f"and {plural(left, 'more cell')} in the report", "dim"))


def _groups(whole: Story) -> Iterator[RenderableType]:
    for group in whole.groups[:MAX_GROUPS]:
        yield Text.assemble((f"{len(group.cells)} cells", "bold"), f" diverge at {group.what}")


def _changes(whole: Story) -> Iterator[RenderableType]:
    for change, cells in whole.changes:
        yield Text.assemble((plural(cells, "cell"), "bold"), f" as known of {change.name}")
    if whole.unexplained:
        yield Text(f"{plural(whole.unexplained, 'cell')} of no known cause", "yellow")


def _cell(cell: Cell, folder: Path) -> Iterator[RenderableType]:
    yield Text.assemble((cell.verdict, SHOWN[cell.verdict].colour), " ", (cell.name, "bold"))
    if cell.guards:
        yield _indented(Text.assemble(("guards  ", "dim"), cell.guards))
    for text in cell.mended:
        yield _indented(Text.assemble(("mends   ", "green"), f"{text}, which the base does not keep"))
    for change in cell.known:
        yield _indented(Text.assemble(("known   ", "dim"), change.name))
    for which, words in cell.failures:
        yield _indented(Text(f"The {which}", "dim"))
        yield _indented(Text("\n".join(words.splitlines()[-MAX_LINES:])), 4)
    if cell.telling:
        yield _indented(_metrics(cell))
    if cell.divergence:
        yield _indented(Text.assemble(("parts   ", "dim"), cell.divergence.sentence))
        found = rows(cell.divergence)
        if found is not None:
            yield _indented(_Events(found), 4)
    for step in cell.steps:
        yield Command("try     ", step.outside(folder), indent=2)


@dataclass(frozen=True)
class _Events:
    """The rows around a divergence, in as many blocks as the width asks for: no value is cut."""

    rows: Rows

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> Iterator[Text]:
        for line in self.rows.text(before=3, after=6, room=options.max_width).splitlines():
            yield Text(line, _SIGNS.get(line[:1], ""), overflow="fold")


def _metrics(cell: Cell) -> RenderableType:
    table = Grid()
    # Names may be broken, numbers may not; nothing is left out.
    table.add_column("metric")
    table.add_column("of", min_width=9)
    judged = any(metric.minimum for metric in cell.telling)
    for title, width in (
        ("base", None),
        ("candidate", None),
        ("change", 8),
        *([("from", 5)] if judged else []),
    ):
        table.add_column(title, justify="right", no_wrap=True, min_width=width)
    for metric in cell.telling[:MAX_METRICS]:
        values = [metric.scope, metric.base, metric.candidate, metric.change]
        values += [metric.minimum] if judged else []
        table.add_row(Text(metric.name, SHOWN[metric.verdict].colour), *map(Text, values))
    left = len(cell.telling) - MAX_METRICS
    return Group(table, Text(f"and {plural(left, 'more metric')}", "dim")) if left > 0 else table


def _indented(part: RenderableType, by: int = 2) -> RenderableType:
    return Padding(part, (0, 0, 0, by))


def _tail(whole: Story) -> Iterator[RenderableType]:
    for name, reason in whole.missing[:MAX_MISSING]:
        yield Text.assemble(("not compared  ", "dim"), f"{name}: {reason}")
    if len(whole.missing) > MAX_MISSING:
        yield Text(f"and {len(whole.missing) - MAX_MISSING} more not compared", "dim")
    for note in whole.notes:
        yield Text.assemble(("note  ", "dim"), note)
    for step in whole.steps:
        if step.what:
            yield Text(step.what, "dim")
        yield Command("" if step.what else "next  ", step.command, indent=2 if step.what else 0)

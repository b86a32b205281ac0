"""A diagnosis on the terminal: the answer first, then what to type, then the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from rushhour.quantities.words import plural
from rushhour.report.diagnosis.story import counts, many, measured, place, rose
from rushhour.report.grid import Grid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from rushhour.causes.finding import Finding
    from rushhour.diagnosis.diagnosis import Diagnosis

COLOURS = {"critical": "bold red", "warning": "yellow", "note": "cyan"}
MOST_NOTES = 6
MOST_FAILED = 4


def screen(diagnosis: Diagnosis, *, every: bool = False) -> RenderableType:
    """What a console prints; `every` for all rows of the side-by-side table, all notes and all counters."""
    parts: list[RenderableType] = [Text(), *_head(diagnosis)]
    notes = 0
    for number, finding in enumerate(diagnosis.findings, 1):
        if finding.severity != "note":
            parts += [Text(), *_finding(diagnosis, number, finding)]
        elif every or notes < MOST_NOTES:
            notes += 1
            parts += [Text(), *_finding(diagnosis, number, finding, brief=not every)]
    left = sum(one.severity == "note" for one in diagnosis.findings) - notes
    parts += [Text(f"and {plural(left, 'more note')}: --all", "dim")] if left > 0 else []
    if diagnosis.case.measured:
        parts += [Text(), _measured(diagnosis)]
    parts += [Text(), *_sides(diagnosis, every=every)]
    if every:
        parts += [Text(), _counters(diagnosis)]
    parts += _failed(diagnosis, every=every)
    return Group(*parts)


def _head(diagnosis: Diagnosis) -> Iterator[RenderableType]:
    yield Text(diagnosis.answer, "bold green" if diagnosis.sound else "bold red")
    told = [Text(f"{count} {many(name, count)}", COLOURS[name]) for name, count in counts(diagnosis)]
    a, b = diagnosis.case.a.place, diagnosis.case.b.place
    yield Text(" · ").join([Text(f"a = {a}, b = {b}", "dim"), *told])


def _finding(
    diagnosis: Diagnosis, number: int, finding: Finding, *, brief: bool = False
) -> Iterator[RenderableType]:
    case = diagnosis.case
    head = Text.assemble((f"{number}  ", "dim"), (finding.severity, COLOURS[finding.severity]))
    share = f", {finding.limited:.0%} of the time" if finding.limited is not None else ""
    head.append(f"  {finding.key}, {finding.layer} at {place(case, finding.where)}{share}", "dim")
    yield head
    rows = Grid(show_header=False)
    rows.add_column(style="dim", no_wrap=True)
    rows.add_column()
    if finding.title != diagnosis.answer:
        rows.add_row("", Text(finding.title))
    if finding.gain and not brief:
        rows.add_row("gain", finding.gain)
    for command in finding.fix:
        rows.add_row(f"on {command.end}", Text(command.text, "bold"))
        if command.persistent and not brief:
            rows.add_row("to keep", Text(command.persistent))
    for one in () if brief else finding.evidence:
        rows.add_row(one.end, Text(f"{one.what}: {one.value}", "dim"))
    if finding.source and not brief:
        rows.add_row("source", Text(finding.source, "dim"))
    yield Padding(rows, (0, 0, 0, 3))


def _measured(diagnosis: Diagnosis) -> RenderableType:
    table = Grid()
    table.add_column("measured", no_wrap=True)
    for way in ("a→b", "b→a"):
        table.add_column(way)
    for line in measured(diagnosis):
        table.add_row(line.name, *map(Text, line.values))
    return table


def _sides(diagnosis: Diagnosis, *, every: bool) -> Iterator[RenderableType]:
    chosen = [row for row in diagnosis.table if every or row.differs]
    if not chosen:
        yield Text(f"No setting differs that matters ({len(diagnosis.table)} compared: --all).", "dim")
        return
    table = Grid()
    table.add_column("settings" if every else "what differs", no_wrap=True)
    table.add_column(f"a = {diagnosis.case.a.place}")
    table.add_column(f"b = {diagnosis.case.b.place}")
    table.add_column("", style="dim")
    group = ""
    for row in chosen:
        if every and row.group != group:
            group = row.group
            table.add_row(Text(group, "bold"))
        style = "yellow" if row.differs else ""
        table.add_row(row.name, Text(row.a, style), Text(row.b, style), row.note)
    yield table
    if not every:
        yield Text(f"of {len(diagnosis.table)} compared: --all shows every one", "dim")


def _counters(diagnosis: Diagnosis) -> RenderableType:
    table = Grid()
    table.add_column("counters that rose")
    for end in ("a", "b"):
        table.add_column(end, justify="right")
    for row in rose(diagnosis):
        table.add_row(*row)
    return table


def _failed(diagnosis: Diagnosis, *, every: bool) -> list[RenderableType]:
    chosen = list(diagnosis.failed.items())
    told = chosen if every else chosen[:MOST_FAILED]
    lines: list[RenderableType] = [
        Text.assemble(("not known  ", "dim"), f"{what}: {' '.join(why.split())}") for what, why in told
    ]
    if len(chosen) > len(told):
        lines.append(Text(f"and {len(chosen) - len(told)} more that could not be read: --all", "dim"))
    return [Text(), *lines] if lines else []

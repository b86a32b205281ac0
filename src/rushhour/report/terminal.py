"""The result in the terminal: a table, small charts over time, whether to trust it, where the report is."""

from __future__ import annotations

from dataclasses import replace
from textwrap import wrap
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Group
from rich.constrain import Constrain
from rich.padding import Padding
from rich.text import Text

from rushhour.quantities.words import capital, quantity
from rushhour.report.answer import answer
from rushhour.report.figure import Collector, over_run, screen
from rushhour.report.figure.overview import overviews
from rushhour.report.gather import about, views
from rushhour.report.grid import HEADING, Grid
from rushhour.report.machines import distrusted, links_said, work_said
from rushhour.report.model import kept_said, lasting
from rushhour.report.palette import Palette
from rushhour.report.printed import printed
from rushhour.report.published import REACH, sheets
from rushhour.report.tables import cells_table, flows_table
from rushhour.report.warned import warned
from rushhour.report.why import unexplained
from rushhour.spec.quick import QUICK_LOOK
from rushhour.summary.comparison import compare
from rushhour.summary.expectations import held_said

if TYPE_CHECKING:
    from collections.abc import Iterator, Sized
    from pathlib import Path

    from rich.console import Console, RenderableType

    from rushhour.record.result_set import ResultSet
    from rushhour.report.gather import About
    from rushhour.report.model import RunView
    from rushhour.report.published import Line, Sheet
    from rushhour.report.study import Whole
    from rushhour.report.tables import Column, Table

MAX_ROWS = 48
MAX_FLOWS = 16
"""Flows with a row of their own; charts are drawn of the first three."""
MAX_WIDTH = 120
"""Wider than this a chart is no easier to read."""
_CHARTS = ("cwnd", "rtt", "queue", "owd", "transactions")
_POINTS = 24_000
_NARROW = 8
"""Letters that a column of words has at least; longer words are broken."""
_MOST = 5
"""Invalid runs, expectations that do not hold, warnings: so many of each are told."""


def print_results(results: ResultSet, console: Console, report: Path | None = None) -> None:
    """Print what a result set says, in the width of the console; its index was written just now.

    Args:
        results: The runs.
        console: Where to; without colour everything is still said.
        report: The HTML report, if one was written.
    """
    single = len(results) == 1
    collector = Collector.of(results, lambda figure: figure.x is not None)
    # Every record was looked through when the index was written.
    taken = views(results, curves=single, total_points=_POINTS, also=collector, verify=False)
    runs = list(taken)
    width = min(console.width, MAX_WIDTH)
    console.print()
    head = about(results)
    console.print(_head(head, runs, answer(results.about, runs), width))
    table = flows_table(runs[0]) if single else cells_table(runs, split=True)
    # Only what has no width, a pipe, has room for more than is easy to read.
    room = width if console.is_terminal else max(width, console.width)
    if table.rows:
        console.print(_table(table, room, cells=not single))
    if single:
        totals = _totals(cells_table(runs), width)
        console.print(totals)
        console.print(printed(runs[0].programs, width))
        console.print(_why(runs[0], width))
        if not console.options.ascii_only:
            console.print(_charts(runs[0], width))
    elif not console.options.ascii_only:
        figure = _figure(runs, collector, width)
        console.print(figure) if figure is not None else None
    for sheet in sheets(results.once(compare)):
        console.print(compared(sheet))
    for line in _missing(head):
        console.print(line)
    console.print(_state(runs))
    if report is not None:
        console.print(Text.assemble(("Report  ", "bold"), str(report)), soft_wrap=True)


def print_study(whole: Whole, console: Console, report: Path | None = None) -> None:
    """Print what a study's report says in a line for each scenario."""
    table = Grid()
    for head, justify in (("", "left"), ("runs", "left"), ("published", "right")):
        table.add_column(head, justify="right" if justify == "right" else "left")
    for part in whole.parts:
        table.add_row(Text(f"{part.number} {part.chapter.title}", "bold"))
        for section in part.sections:
            agreeing, measured = section.tally
            state = Text(section.state, "" if section.sound else "yellow")
            table.add_row(Text(f"  {section.title}"), state, f"{agreeing} of {measured}" if measured else "")
    agreeing, measured = whole.tally
    console.print()
    console.print(Text(whole.title, "bold"))
    console.print(table)
    if measured:
        console.print(
            f"{agreeing} of {measured} published values lie within their tolerance.", highlight=False
        )
    if report is not None:
        console.print(Text.assemble(("Report  ", "bold"), str(report)), soft_wrap=True)


def _head(head: About, runs: list[RunView], said: str, width: int) -> RenderableType:
    first = runs[0]
    lines = [Text(head.title, "bold")]
    lines += [Text(head.question, "italic")] if head.question else []
    lines += [Text(said, "bold")] if said else []
    lines += [Text.assemble(("Changed  ", "bold yellow"), " · ".join(head.changed))] if head.changed else []
    same = all(run.conditions == first.conditions for run in runs)
    if same and first.conditions:
        lines += _filled(first.conditions, width)
    kernels = list(dict.fromkeys(run.kernel for run in runs))
    shown = ", ".join(kernels[:3]) + (f" and {len(kernels) - 3} more" if len(kernels) > 3 else "")
    seeds = sorted({run.seed for run in runs})
    seed = f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds)} seeds"
    count = f" · {len(runs)} runs" if len(runs) > 1 else ""
    lines.append(Text(f"{shown} · {first.lab} · {seed} · {lasting(runs)}{count}", "dim"))
    return Constrain(Group(*lines, Text()), width)


def _table(table: Table, width: int, *, cells: bool) -> RenderableType:
    shown = replace(table, rows=table.rows[: MAX_ROWS if cells else MAX_FLOWS])
    titles, heads = _heads(shown, cells=cells)
    widths = _widths([titles, *heads], width // 2)
    columns = _fitting(shown, sum(2 + one for one in widths), width)
    rich = Grid(header_style="none")
    for place, (title, one) in enumerate(zip(titles, widths, strict=True)):
        rich.add_column(Text(title, "dim"), max_width=one, style="" if place else "bold")
    for column in columns:
        rich.add_column(Text(_heading(column), "dim", justify="right"), justify="right", no_wrap=True)
    for head, row in zip(heads, shown.rows, strict=True):
        pairs = zip(columns, row.values, strict=False)
        style = "" if row.valid else "strike dim"
        words = ("\n".join(wrap(said, one)) for said, one in zip(head, widths, strict=True))
        rich.add_row(*map(Text, words), *(Text(column.scale.text(value), style) for column, value in pairs))
    notes = []
    if left := len(table.rows) - len(shown.rows):
        notes.append(f"{left} more {'cells' if cells else 'flows'}")
    if cells and len(columns) < len(table.columns):
        notes.append("more columns: " + ", ".join(column.title for column in table.columns[len(columns) :]))
    return Group(rich, *([Text("In the report: " + "; ".join(notes), "dim")] if notes else []), Text())


def _heads(table: Table, *, cells: bool) -> tuple[list[str], list[list[str]]]:
    """Titles and texts of the columns before the numbers: factors, repetitions, invalid runs; or flows."""
    titles, heads = list(table.heads), [list(row.head) for row in table.rows]
    if cells and any(row.count > 1 for row in table.rows):
        titles.append("runs")
        heads = [[*head, str(row.count)] for head, row in zip(heads, table.rows, strict=True)]
    if cells and not all(row.valid for row in table.rows):
        titles.append("")
        heads = [[*head, "" if row.valid else "invalid"] for head, row in zip(heads, table.rows, strict=True)]
    return titles, heads


def _heading(column: Column) -> str:
    first, _, rest = column.title.partition(" ")
    lines = [first, rest] if len(column.title) > 9 and rest else [column.title]
    if max(map(len, lines)) > HEADING:
        lines = wrap(column.title, HEADING)
    return "\n".join([*lines, column.scale.unit] if column.scale.unit else lines)


def _widths(heads: list[list[str]], width: int) -> list[int]:
    """Widths of the columns before the numbers; the widest are narrowed until all have so much together."""
    widths = [max(map(cell_len, texts)) for texts in zip(*heads, strict=True)]
    most = max(widths, default=0)
    while most > _NARROW and sum(2 + min(one, most) for one in widths) > width:
        most -= 1
    return [min(one, most) for one in widths]


def _fitting(table: Table, used: int, width: int) -> list[Column]:
    """As many columns as the width holds beside what is used of it, from the first."""
    columns = []
    for place, column in enumerate(table.columns):
        texts = [column.scale.text(row.values[place]) for row in table.rows] + _heading(column).split("\n")
        used += 2 + max(map(len, texts))
        if used > width + 2:
            break
        columns.append(column)
    return columns


def _totals(table: Table, width: int) -> RenderableType:
    """The metrics of the run as a whole, several to a line."""
    if not table.rows:
        return Text()
    parts = [
        f"{column.title} {quantity(value, column.unit)}"
        for column, value in zip(table.columns, table.rows[0].values, strict=True)
        if value is not None
    ]
    return Group(*_filled(parts, width), Text())


def _filled(parts: list[str], width: int) -> list[Text]:
    """As many parts to a line as it holds; a line ends between parts, not between a number and its unit."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + 3 + len(part) <= width:
            lines[-1] += f" · {part}"
        else:
            lines.append(part)
    return [Text(line) for line in lines]


def _why(run: RunView, width: int) -> RenderableType:
    """What limited each flow: the shares of its time, the sentences, and what would help."""
    parts: list[RenderableType] = []
    for one in run.why:
        parts.append(Text.assemble((one.flow, "bold"), "  ", (one.words, "dim")))
        for said in one.said:
            parts.append(Padding(Text(said.says), (0, 0, 0, 2)))
            if said.advice:
                expected = f" Expected: {said.expected}." if said.expected else ""
                parts.append(Padding(Text.assemble(("→ ", "bold"), said.advice + expected), (0, 0, 0, 2)))
            parts += [Padding(Text(words, "cyan"), (0, 0, 0, 4)) for words in said.commands]
    if rest := unexplained(run):
        parts.append(Text(rest, "dim"))
    return Constrain(Group(*parts, Text()), width) if parts else Group()


def _charts(run: RunView, width: int) -> RenderableType:
    looks = [flow.look for flow in run.flows]
    drawn = [over_run.figure(panel, run.duration_s, looks) for panel in run.panels if panel.id in _CHARTS]
    parts = [line for plot in drawn for line in screen.curves(plot, width)]
    if parts:
        parts.append(screen.instants(0.0, run.duration_s, width))
    return Group(*parts, Text())


def _figure(runs: list[RunView], collector: Collector, width: int) -> RenderableType | None:
    """What is compared at a glance: the scenario's first figure over a factor, else the first overview."""
    palette = Palette()
    for run in runs:
        palette.flows(run.flows)
    drawn = collector.drawings()
    if drawn:
        return screen.show(palette.figure(drawn[0]), width)
    found = next((palette.overview(one) for one in overviews(runs)), None)
    drawing = None if found is None else found.plot or found.matrix
    return None if drawing is None else screen.show(drawing, width)


def compared(sheet: Sheet) -> RenderableType:
    """One published table beside what was measured."""
    table = Grid(header_style="none")
    for head in sheet.heads:
        table.add_column(Text(head, "dim"))
    for head in ("published", "measured", "difference"):
        table.add_column(Text(head, "dim", justify="right"), justify="right", no_wrap=True)
    table.add_column(Text(f"within {sheet.agrees}", "dim"), no_wrap=True)
    for line in sheet.lines[:MAX_ROWS]:
        dot = (
            Text(line.note, "dim")
            if line.agrees is None
            else Text(_dot(line), "" if line.agrees else "yellow")
        )
        numbers = (line.published, line.measured, line.difference)
        table.add_row(*map(Text, line.head), *map(Text, numbers), dot)
    unit = f", {sheet.unit}" if sheet.unit else ""
    read = f", {sheet.read}" if sheet.read else ""
    left = len(sheet.lines) - MAX_ROWS
    # What does not agree is not left without the reason that is known.
    cause = sheet.cause if sheet.agreeing < sheet.measured else ""
    return Group(
        Text.assemble((sheet.title, "bold"), f"{unit}  ", (f"{sheet.source}{read}: {sheet.verdict}", "dim")),
        table,
        *([Text(f"In the report: {left} more", "dim")] if left > 0 else []),
        *([Constrain(Text.assemble(("Why  ", "bold"), cause), MAX_WIDTH)] if cause else []),
        Text(),
    )


def _dot(line: Line) -> str:
    """The scale of a dot in letters: brackets around what agrees, `o` where the number lies."""
    half = 3 * round(REACH)
    scale = [" "] * (2 * half + 1)
    scale[half - 3], scale[half], scale[half + 3] = "[", "·", "]"
    if line.place is not None:
        scale[half + round(half * line.place)] = "o" if not line.beyond else "<" if line.place < 0 else ">"
    return "".join(scale)


def _missing(head: About) -> Iterator[Text]:
    """What is not in the tables, and why."""
    if head.quick:
        yield Text.assemble(("Quick look  ", "bold"), f"{QUICK_LOOK}.")
    for word, style, pairs in (("Skipped", "yellow", head.skipped), ("Failed", "red", head.failed)):
        for cell, reason in pairs[:8]:
            yield Text.assemble((f"- {word}  ", f"bold {style}"), (cell, "bold"), f"  {reason}")
        if len(pairs) > 8:
            yield Text(f"  and {len(pairs) - 8} more; set.json has all of them", "dim")


def _state(runs: list[RunView]) -> RenderableType:
    invalid = [run for run in runs if not run.valid]
    if not invalid:
        lines = [Text.assemble(("✓ Valid  ", "bold green"), links_said(runs))]
    else:
        said = capital(distrusted(len(invalid), len(runs)))
        lines = [Text.assemble(("✗ Invalid  ", "bold red"), f"{said}.")]
        for run in invalid[:_MOST]:
            name = f"{run.label}: " if len(runs) > 1 else ""
            lines += [Text(f"  {name}{reason}") for reason in run.reasons[:3] or ["no reason was recorded"]]
        lines += _more(len(invalid))
    lines += _verdicts(runs)
    work = work_said(runs)
    lines += [Text.assemble(("Machine  ", "bold"), work)] if work else []
    kept = kept_said(runs)
    lines += [Text.assemble(("Kept  ", "bold"), kept)] if kept else []
    warnings, left_out = warned(runs, _MOST)
    lines += [Text.assemble(("! Warning  ", "bold yellow"), warning) for warning in warnings]
    lines += _more(len(warnings) + left_out)
    return Group(*lines)


def _verdicts(runs: list[RunView]) -> Iterator[Text]:
    """What the scenario expects: that all holds, or what does not."""
    judged = [(run, verdict) for run in runs for verdict in run.verdicts]
    if not judged:
        return
    failed = [(run, verdict) for run, verdict in judged if not verdict.ok]
    if not failed:
        yield Text.assemble(("✓ As expected  ", "bold green"), f"{_held(judged, failed)}.")
        return
    yield Text.assemble(("✗ Not as expected  ", "bold red"), f"{_held(judged, failed)}.")
    for run, verdict in failed[:_MOST]:
        yield Text(f"  {run.label}: {verdict.message}" if len(runs) > 1 else f"  {verdict.message}")
    yield from _more(len(failed))


def _held(judged: Sized, failed: Sized) -> str:
    return capital(held_said(len(judged) - len(failed), len(judged)))


def _more(count: int) -> list[Text]:
    """How many of so many find no room."""
    return [Text(f"  and {count - _MOST} more; the report has them", "dim")] if count > _MOST else []

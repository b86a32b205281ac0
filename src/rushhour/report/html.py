"""The report as one HTML file: no network, no server, opens from a mail attachment.

Words and tables are in the page as they stand; the curves travel packed (`report/embed.py`) and are drawn
in the browser by uPlot, run by run as they are looked at. A Content-Security-Policy with the hashes of the
page's own script and style forbids everything else, so nothing a scenario or record says can act.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rushhour.files.finished import put
from rushhour.quantities.words import capital, quantity
from rushhour.report import gather, payload
from rushhour.report.answer import answer
from rushhour.report.definitions import definitions
from rushhour.report.figure import Collector, page
from rushhour.report.figure.description import Plot
from rushhour.report.figure.overview import overviews
from rushhour.report.gather import about, views
from rushhour.report.machines import distrusted, lab_said, links_said, machines, work_said
from rushhour.report.model import kept_said, lasting
from rushhour.report.palette import Palette
from rushhour.report.published import sheets
from rushhour.report.reproduce import reproduction
from rushhour.report.shell import PLOTS, digest, joined, template
from rushhour.report.tables import cells_table, flows_table
from rushhour.report.thin import Thin
from rushhour.report.topology import topology_svg
from rushhour.report.warned import MOST_WARNINGS, warned
from rushhour.summary import index
from rushhour.summary.comparison import compare
from rushhour.summary.expectations import held_said

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rushhour.metrics.value import MetricValue
    from rushhour.record.record import Record
    from rushhour.record.result_set import ResultSet
    from rushhour.report.figure.description import Drawing
    from rushhour.report.figure.overview import Overview
    from rushhour.report.gather import About
    from rushhour.report.model import RunView
    from rushhour.report.tables import Table

_SCRIPTS = (*PLOTS, "figures.js", "page.js")
_STYLES = ("uplot/uPlot.min.css", "report.css")
MAX_ROWS = 600
"""Rows of the cells table that are written into the page; all are in the index."""


def write(results: ResultSet, path: Path, text: str | None = None) -> Path:
    """Write the report of a result set to `path`, whole or not at all; `text` is it, if it was drawn before.

    Raises:
        RecordError: a record cannot be read.
        ReportError: the file cannot be written.
    """
    put(render(results) if text is None else text, path)
    return path


def render(results: ResultSet) -> str:
    """The page as text; the same records give the same text."""
    head = about(results)
    packed, slim, several = [], [], len(results) > 1
    collector = Collector.of(results)
    palette, thin = Palette(), Thin(results)
    thinned = _Thinned(collector, thin)
    for plain in views(results, also=thinned):
        run = replace(plain, flows=palette.flows(plain.flows))
        packed.append(payload.packed(run, programs=several) if run.panels else "")
        # Only the words of a run are kept in memory, its curves are packed by now.
        slim.append(replace(run, panels=[]))
    shown = _shown(packed)
    large = len(shown) < len(slim)
    figures = _drawn(collector, palette, linked=not large)
    compared = [run for run, has in zip(slim, thinned.drawn, strict=True) if has]
    swept = _swept(compared, palette, linked=not large)
    # A page without figures needs no scripts for them.
    needed = [name for name in _SCRIPTS if figures or swept or name != "figures.js"]
    script, style = joined(needed), joined(_STYLES)
    table = cells_table(slim, split=len(slim) > 1)
    rows = _linked(table, shown) if large else replace(table, rows=table.rows[:MAX_ROWS])
    flows = flows_table(slim[0]) if len(slim) == 1 else None
    return template("report.html").render(
        about=head,
        answer=answer(results.about, slim),
        facts=_facts(head, slim),
        runs=slim,
        **_trust(slim),
        warnings=warned(slim, MOST_WARNINGS),
        links=links_said(slim),
        topology=topology_svg(results.record(slim[0].name)),
        varied=any(run.conditions != slim[0].conditions for run in slim),
        cells=rows if len(slim) > 1 else None,
        left_out=len(table.rows) - len(rows.rows),
        folder=results.path.name if large else "",
        thinned=thin.notes,
        repeated=any(row.count > 1 for row in table.rows),
        flows=flows,
        totals=_totals(table) if len(slim) == 1 else [],
        bars=_bars(flows or rows),
        overviews=swept,
        pickers=_pickers([slim[place] for place in shown]),
        definitions=definitions(slim),
        published=sheets(results.once(compare)),
        figures=figures,
        again=reproduction(results),
        environment=_environment(head, slim),
        index=payload.index([slim[place] for place in shown]),
        packed=[packed[place] for place in shown],
        kept=kept_said(slim),
        undrawn=packed.count("") if len(packed) > gather.MAX_DRAWN else 0,
        script=script,
        style=style,
        script_hash=digest(script),
        style_hash=digest(style),
    )


class _Thinned:
    """What takes figures of evenly chosen cells; `drawn` says of each run whether it is of one."""

    def __init__(self, collector: Collector, thin: Thin) -> None:
        self._collector, self._thin = collector, thin
        self.drawn: list[bool] = []

    def wants(self, factors: Mapping[str, object]) -> bool:
        self.drawn.append(self._thin.has(factors))
        return self.drawn[-1] and self._collector.wants(factors)

    def take(self, record: Record, metrics: Sequence[MetricValue], run: int) -> None:
        self._collector.take(record, metrics, run)


def _shown(packed: Sequence[str]) -> list[int]:
    """The positions of the runs that can be picked: all, or of a large set those with curves."""
    every = range(len(packed))
    return [place for place in every if packed[place]] if len(packed) > index.WHOLE else [*every]


def _linked(table: Table, shown: Sequence[int]) -> Table:
    """The rows of a large set whose cells have a run to be picked, with that run's place among these."""
    rows = []
    for row in table.rows:
        # The runs of a cell stand side by side.
        place = bisect_left(shown, row.run)
        if place < len(shown) and shown[place] < row.run + row.count:
            rows.append(replace(row, run=place))
    return replace(table, rows=rows[:MAX_ROWS])


def overview(results: ResultSet) -> str:
    """The figures of a set and each metric over its sweep, as a part of another page.

    The page has the report's style, uPlot and the scripts of figures.

    Raises:
        RecordError: a record cannot be read.
    """
    collector, palette = Collector.of(results), Palette()
    seen = views(results, curves=False, also=collector)
    runs = [replace(run, flows=palette.flows(run.flows)) for run in seen]
    return template("overview.html").render(
        figures=_drawn(collector, palette), overviews=_swept(runs, palette)
    )


def _pickers(runs: list[RunView]) -> dict[str, list[str]]:
    levels: dict[str, dict[str, None]] = {}
    for run in runs:
        for key, value in run.factors.items():
            levels.setdefault(key, {})[value] = None
    return {key: list(values) for key, values in levels.items() if len(values) > 1}


def _facts(head: About, runs: list[RunView]) -> list[tuple[str, str]]:
    first = runs[0]
    same = all(run.conditions == first.conditions for run in runs)
    kernels = list(dict.fromkeys(run.kernel for run in runs))
    seeds = sorted({run.seed for run in runs})
    facts = [
        ("Path", " · ".join(first.conditions) if same else "varies, see each run"),
        ("Kernel", ", ".join(kernels)),
        ("Lab", lab_said(head.manifest)),
        ("Duration", lasting(runs)),
        (
            "Seed",
            str(first.seed) if len(seeds) == 1 else f"{first.seed} and {len(seeds) - 1} derived from it",
        ),
    ]
    work = work_said(runs)
    facts += [("Machine", work)] if work else []
    facts += [("Runs", str(head.runs))] if head.runs > 1 else []
    return facts + ([("Source", head.source)] if head.source else [])


def _environment(head: About, runs: list[RunView]) -> list[tuple[str, str]]:
    manifest = head.manifest
    kernel, agent, host = manifest.kernel, manifest.agent, manifest.host
    rows = [(f"kernel {key.replace('_', ' ')}", kernel.get(key)) for key in sorted(kernel)]
    rows += [(f"agent {key}", agent.get(key)) for key in sorted(agent)]
    rows += [
        ("Rush Hour", manifest.rushhour),
        ("lab", manifest.lab),
        ("record format", manifest.format),
    ]
    rows += [("run key", manifest.key)] if len(runs) == 1 else []
    rows += machines(manifest)
    rows += [(f"host {key.replace('_', ' ')}", host.get(key)) for key in sorted(host)]
    return [(label, str(value)) for label, value in rows if value not in (None, "")]


def _drawn(collector: Collector, palette: Palette, *, linked: bool = True) -> list[tuple[Drawing, str]]:
    """The figures of the scenario, each with its packed text."""
    drawings = map(palette.figure, collector.drawings())
    return [(drawing, _packed(drawing, linked=linked)) for drawing in drawings]


def _swept(runs: list[RunView], palette: Palette, *, linked: bool = True) -> list[tuple[Overview, str]]:
    """Each metric over the sweep, with the packed text of its lines."""
    found = [palette.overview(one) for one in overviews(runs)]
    return [(one, "" if one.plot is None else _packed(one.plot, linked=linked)) for one in found]


def _packed(drawing: Drawing, *, linked: bool) -> str:
    """A drawing's text; one that is not linked leads to no run."""
    if not linked and isinstance(drawing, Plot):
        facets = (
            replace(facet, traces=tuple(replace(trace, runs=()) for trace in facet.traces))
            for facet in drawing.facets
        )
        drawing = replace(drawing, facets=tuple(facets))
    return page.packed(drawing)


def _trust(runs: Sequence[RunView]) -> dict[str, Any]:
    """Whether the runs are to be trusted and came out as expected: the page's values for it."""
    invalid = [run for run in runs if not run.valid]
    verdicts = [verdict for run in runs for verdict in run.verdicts]
    held = sum(verdict.ok for verdict in verdicts)
    return {
        "invalid": invalid,
        "distrusted": capital(distrusted(len(invalid), len(runs))),
        "judged": len(verdicts),
        "held": held,
        "expected": capital(held_said(held, len(verdicts))),
    }


def _totals(table: Table) -> list[tuple[str, str, str]]:
    """Title, value in words and metric of what holds for a single run as a whole."""
    pairs = zip(table.columns, table.rows[0].values, strict=True)
    return [
        (column.title, quantity(value, column.unit), column.metric)
        for column, value in pairs
        if value is not None
    ]


def _bars(table: Table) -> list[list[int]]:
    """For each number of each row its share of the column's greatest, in twentieths: the bar behind it."""
    greatest = []
    for place, column in enumerate(table.columns):
        sizes = [abs(row.values[place] or 0.0) for row in table.rows]
        least, most = min(sizes, default=0.0), max(sizes, default=0.0)
        # Where the column's own digits show no difference, there is nothing to look at.
        greatest.append(most if column.scale.text(most) != column.scale.text(least) else 0.0)
    each = (zip(row.values, greatest, strict=True) for row in table.rows)
    return [[round(20 * abs(value) / most) if value and most else 0 for value, most in row] for row in each]

"""All figures of a result set as files: those of the scenario, one a run, one for each metric of a sweep."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rushhour.errors import ReportError
from rushhour.files.finished import put
from rushhour.plain import slug
from rushhour.record.slim import again
from rushhour.report.figure import Collector, paper
from rushhour.report.figure.overview import overviews
from rushhour.report.gather import views
from rushhour.report.model import kept_said
from rushhour.report.palette import Palette

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rushhour.record.result_set import ResultSet
    from rushhour.report.figure.description import Drawing
    from rushhour.report.model import RunView

_FEW = 8
"""Letters that are named where a figure lacks some."""
_POINTS = 4_000_000
MAX_RUNS = 40
"""Runs up to which each has a figure of its own, where the scenario says which figures it wants."""


def draw(
    results: ResultSet, folder: Path, form: str, tell: Callable[[str], None] = lambda _: None
) -> list[Path]:
    """Draw every figure into a folder, as `png`, `svg` or `pdf`; the files in order.

    What is drawn of tables is left out where only the metrics were kept, and `tell` is told so.

    Raises:
        ReportError: there is nothing to draw, or a file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReportError(
            f"cannot make the folder: {error.strerror}", where=str(folder), hint="choose another with --out"
        ) from error
    made: list[Path] = []
    slim: list[RunView] = []
    boxes: set[str] = set()
    collector = Collector.of(results)
    few = len(results) <= MAX_RUNS or not collector.figures
    palette = Palette()
    for place, plain in enumerate(views(results, curves=few, total_points=_POINTS, also=collector)):
        run = replace(plain, flows=palette.flows(plain.flows))
        if run.panels:
            made.append(folder / f"run-{place:03d}{_slug(run.label)}.{form}")
            results.tell(f"drawing {made[-1].name}")
            put(paper.draw_run(run, form, boxes), made[-1])
        slim.append(replace(run, panels=[]))
    for name, drawing in _compared(collector, slim, palette):
        made.append(folder / f"{name}.{form}")
        results.tell(f"drawing {made[-1].name}")
        put(paper.draw(drawing, form, boxes), made[-1])
    missing = kept_said(slim)
    if not made:
        raise ReportError(
            "the records hold nothing that can be drawn",
            where=str(results.path),
            hint=f"{missing} {_made_again(results)}" if missing else "switch on [readings] in the scenario",
        )
    if missing:
        tell(f"{missing}\n  {_made_again(results)}")
    if boxes:
        tell(_without(boxes))
    return made


def _without(boxes: set[str]) -> str:
    """What is said of letters that are drawn as boxes."""
    few = sorted(boxes)[:_FEW]
    more = f" and {len(boxes) - len(few)} more" if len(boxes) > len(few) else ""
    return (
        f"No font of this machine has {', '.join(few)}{more}: a box stands for each.\n"
        "  Install a font that has them, such as Noto Sans, or choose --format svg, where words stay words."
    )


def _made_again(results: ResultSet) -> str:
    """How the tables of runs are had that nobody kept."""
    return next((again(one.path, one.manifest) for one in results if not one.has_tables), "")


def _compared(collector: Collector, runs: list[RunView], palette: Palette) -> Iterator[tuple[str, Drawing]]:
    """The figures that compare cells, with the names of their files: the scenario's, then the overviews."""
    for number, drawing in enumerate(map(palette.figure, collector.drawings()), 1):
        yield f"figure-{number:02d}{_slug(drawing.title)}", drawing
    for overview in map(palette.overview, overviews(runs)):
        for name, drawn in (("sweep-lines", overview.plot), ("sweep", overview.matrix)):
            if drawn is not None:
                yield f"{name}-{overview.metric}", replace(drawn, title=f"{runs[0].title}: {drawn.title}")


def _slug(label: str) -> str:
    words = slug(label)
    return f"-{words}" if words else ""

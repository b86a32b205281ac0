"""The document of the metrics: docs/metrics.md, rendered from the catalogue.

Run `python -m rushhour.metrics.document > docs/metrics.md` after a change; a test compares the two.
"""

from __future__ import annotations

from textwrap import shorten

from rushhour.metrics.catalog import METRICS
from rushhour.metrics.value import STATISTICS
from rushhour.series.series import SERIES

_HEAD = """\
# Metrics and series

*Rendered from the catalogue by `python -m rushhour.metrics.document`; do not edit.*

A **metric** is one number of one run at one scope: `total`, `flow:NAME`, `end:LABEL` (a link end: one
direction's egress, or an ingress), `class:NAME` (a class of a link end; with the end's label where several
ends have classes), `kind:KIND` (all flows of a kind, where there are several kinds) or `group:NAME` (all
copies or arrivals of one `[[flow]]`; the flows of an arrival process have no scope of their own). A metric
that is undefined in a run has no value and says why; it is never a made-up zero. Its name ends in its unit;
without one it is a count or a fraction. Braces in a name stand for statistics, one metric each: `min`
(least), `mean`, `p50` (median), `p95`, `p99` (percentiles), `max` (greatest).

Times count from the start of the experiment. A flow is **active** from its connection to the last byte that
arrived; where that is unknown because the experiment ended first, to the end of its sender. **After the
warm-up** means the part of a window that lies after the scenario's `warmup`. Windows are cut to readings that
exist; nothing is interpolated between readings.

## Metrics

| metric | unit | better | scopes | definition |
|---|---|---|---|---|
"""

_SERIES = """
## Series

Raw samples, one series per flow, per link end, or of the run as a whole. Where two tables are named, the
first that the record has is read.

| series | unit | of | from | meaning |
|---|---|---|---|---|
"""


def render() -> str:
    """The whole document as Markdown. The six metrics of a distribution share a row."""
    rows: dict[str, str] = {}
    for metric in METRICS.values():
        name, definition = metric.name, metric.definition
        for statistic, words in STATISTICS.items():
            if name.endswith(f"_{statistic}_us") and definition.startswith(f"The {words} of "):
                name = name.replace(f"_{statistic}_us", f"_{{{','.join(STATISTICS)}}}_us")
                definition = definition.replace(f"The {words} of", "Statistics of", 1)
        cells = (f"`{name}`", metric.unit, metric.better, ", ".join(metric.scopes), definition)
        rows[name] = _row(*cells)
    series = [
        _row(
            f"`{name}`",
            kind.unit or "1",
            kind.scope,
            ", ".join(f"`{table}`" for table in kind.sources),
            kind.meaning,
        )
        for name, kind in SERIES.items()
    ]
    return _HEAD + "".join(rows.values()) + _SERIES + "".join(series)


def names() -> str:
    """Every metric by name with the beginning of its definition, for `rushhour.cli.names`."""
    return "".join(f"{metric.name}\t{_beginning(metric.definition)}\n" for metric in METRICS.values())


def _beginning(definition: str) -> str:
    return shorten(definition.partition(". ")[0].removesuffix("."), 72, placeholder=" …")


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


if __name__ == "__main__":
    print(render(), end="")

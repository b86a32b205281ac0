"""The document of the metrics: docs/metrics.md, rendered from the catalogue.

Run `python -m rushhour.metrics.document > docs/metrics.md` after a change; a test compares the two.
"""

from __future__ import annotations

from textwrap import shorten
from typing import TYPE_CHECKING

from rushhour.metrics.catalog import METRICS
from rushhour.metrics.value import STATISTICS
from rushhour.series.series import SERIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rushhour.metrics.value import Metric

_HEAD = """\
# Metrics and series

*Rendered from the catalogue by `python -m rushhour.metrics.document`; do not edit.*

A **metric** is one number of one run at one scope:

| scope | is |
|---|---|
| `total` | the whole run; counters of hosts: all hosts together |
| `flow:NAME`, `kind:KIND` | a flow (not of an arrival process); all flows of a kind |
| `group:NAME` | all copies or arrivals of a `[[flow]]` |
| `end:LABEL`, `node:NAME` | an egress or ingress; a node |
| `class:NAME` | a class of an end, with the end's label where several ends have classes |

A metric that is undefined in a run has no value and says why; it is never a made-up zero. Its name ends in
its unit; without one it is a count or a fraction. Braces stand for statistics, one metric each: `min`,
`mean`, `p50` (median), `p95`, `p99` (percentiles), `max`. The arrow is the better side (↑ higher, ↓ lower).

Times and counters count from the start of the experiment. A flow is **active** from its connection to the
last byte that arrived; where its receiver never comes to an end, as of datagrams, to the end of its sender
or the last data known to have arrived, whichever is later. **After the warm-up**: later than the scenario's
`warmup`. Windows are cut to readings; nothing is interpolated. `tcpi_` fields are those of the last sample,
unless said otherwise.

## Metrics

| metric | unit, scopes | definition |
|---|---|---|
"""

_SERIES = """
## Series

Raw samples, one series per flow, per link end, or of the run. The first table that the record has is read.

| series | unit, of | from | meaning |
|---|---|---|---|
"""

_ARROWS = {"higher": " ↑", "lower": " ↓", "none": ""}
# How definitions begin, by the statistic that they are of.
_BEGINNINGS = [(name, words) for name, words in STATISTICS.items()] + [("mean", "mean")]


def render() -> str:
    """The whole document as Markdown. Metrics that differ in their statistic alone share a row."""
    return _HEAD + "".join(_metrics()) + _SERIES + "".join(_series())


def _metrics() -> Iterator[str]:
    rows: dict[tuple[str, str], list[tuple[str, Metric]]] = {}
    for metric in METRICS.values():
        statistic, rest = _statistic(metric)
        stem = metric.name.replace(f"_{statistic}", "_{}", 1) if statistic else metric.name
        rows.setdefault((stem, rest), []).append((statistic, metric))
    for (stem, rest), alike in rows.items():
        metric = alike[0][1]
        several = len(alike) > 1
        name = stem.replace("{}", "{" + ",".join(statistic for statistic, _ in alike) + "}")
        yield _row(
            f"`{name if several else metric.name}`",
            f"{metric.unit}{_ARROWS[metric.better]} {', '.join(metric.scopes)}",
            f"{rest[:1].upper()}{rest[1:]}" if several else metric.definition,
        )


def _statistic(metric: Metric) -> tuple[str, str]:
    """Of which statistic a metric is, by its name and how its definition begins, and what it is of."""
    for name, words in _BEGINNINGS:
        beginning = f"The {words} of "
        if f"_{name}" in metric.name and metric.definition.startswith(beginning):
            return name, metric.definition.removeprefix(beginning)
    return "", metric.definition


def _series() -> Iterator[str]:
    for name, kind in SERIES.items():
        tables = ", ".join(f"`{table}`" for table in kind.sources)
        yield _row(f"`{name}`", f"{kind.unit or '1'}, {kind.scope}", tables, kind.meaning)


def names() -> str:
    """Every metric by name with the beginning of its definition, for `rushhour.cli.names`."""
    return "".join(f"{metric.name}\t{_beginning(metric.definition)}\n" for metric in METRICS.values())


def _beginning(definition: str) -> str:
    return shorten(definition.partition(". ")[0].removesuffix("."), 72, placeholder=" …")


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


if __name__ == "__main__":
    print(render(), end="")

"""docs/metrics.md is what the catalogue says."""

from __future__ import annotations

import re
from pathlib import Path

from rushhour.metrics.catalog import METRICS
from rushhour.metrics.document import render

DOCUMENT = Path(__file__).parents[2] / "docs" / "metrics.md"


def test_the_document_is_current() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == render(), (
        "run: python -m rushhour.metrics.document > docs/metrics.md"
    )


def test_every_metric_is_in_it_once() -> None:
    metrics = render().partition("## Metrics")[2].partition("## Series")[0]
    named = []
    for name in re.findall(r"^\| `([\w{},]+)` \|", metrics, re.MULTILINE):
        before, _, rest = name.partition("{")
        statistics, _, after = rest.partition("}")
        named += [f"{before}{one}{after}" for one in statistics.split(",")]
    assert sorted(named) == sorted(METRICS)


def test_metrics_share_a_row_only_where_their_statistic_alone_differs() -> None:
    text = render()
    assert "`slowdown_{min,mean,p50,p95,p99,max}`" in text
    assert "`cwnd_{min,max}_segments`" in text
    assert "`cwnd_mean_segments`" in text

"""docs/metrics.md is what the catalogue says."""

from __future__ import annotations

from pathlib import Path

from rushhour.metrics.catalog import METRICS
from rushhour.metrics.document import render

DOCUMENT = Path(__file__).parents[2] / "docs" / "metrics.md"


def test_the_document_is_current() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == render(), (
        "run: python -m rushhour.metrics.document > docs/metrics.md"
    )


def test_every_metric_is_in_it() -> None:
    text = render()

    for name in METRICS:
        stem = name.rsplit("_", 2)[0]
        assert f"`{name}`" in text or f"`{stem}_{{min," in text

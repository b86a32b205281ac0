"""The formats by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.export.github import github
from rushhour.export.junit import junit
from rushhour.export.kcidb import kcidb
from rushhour.export.nipa import nipa
from rushhour.export.openmetrics import openmetrics
from rushhour.export.tap import ktap, tap
from rushhour.export.tmt import tmt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rushhour.export.case import Report


@dataclass(frozen=True)
class Format:
    """An export: what reads it, the name of its file, and the function that writes it."""

    reader: str
    file: str
    write: Callable[[Report], str]


def _markdown(report: Report) -> str:
    if report.summary:
        return report.summary
    rows = [
        f"| {case.status} | {case.name} | {case.reason} |" for case in report.cases if case.status != "pass"
    ]
    table = ["", "| result | case | why |", "|---|---|---|", *rows] if rows else []
    return "\n".join([f"## {report.headline}", *table]) + "\n"


FORMATS: Mapping[str, Format] = {
    "junit": Format("Jenkins, GitLab, GitHub, Azure, tmt", "junit.xml", junit),
    "tap": Format("prove, kselftest's tools, netdev's CI", "results.tap", tap),
    "ktap": Format("the kernel's kunit.py", "results.ktap", ktap),
    "kcidb": Format("KernelCI's database (nothing is submitted)", "kcidb.json", kcidb),
    "tmt": Format("tmt, as custom results", "results.yaml", tmt),
    "nipa": Format("netdev's CI, as a remote executor", "nipa.json", nipa),
    "openmetrics": Format("GitLab's metrics report, Prometheus", "metrics.txt", openmetrics),
    "github": Format("GitHub's annotations, on a step's output", "annotations.txt", github),
    "markdown": Format("people: a pull request, a job's summary", "summary.md", _markdown),
}

"""OpenMetrics 1.0 text: the numbers as gauges, for GitLab's metrics report, a Pushgateway or a textfile."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rushhour.export.case import Case, Number, Report


def openmetrics(report: Report) -> str:
    """One gauge family for each metric, labelled by scenario, cell and scope, and the cells by status."""
    families: dict[str, list[tuple[Case, Number]]] = defaultdict(list)
    for case in report.cases:
        for one in case.numbers:
            families[one.metric].append((case, one))
    lines = ["# TYPE rushhour_cells gauge"]
    lines += [
        f'rushhour_cells{{status="{status}"}} {report.count(status)}'
        for status in ("pass", "fail", "error", "skip")
    ]
    for metric in sorted(families):
        name = "rushhour_" + re.sub(r"[^a-zA-Z0-9_]", "_", metric)
        lines.append(f"# TYPE {name} gauge")
        lines += [f"{name}{_labels(case, one)} {one.value!r}" for case, one in families[metric]]
    return "\n".join([*lines, "# EOF"]) + "\n"


def _labels(case: Case, one: Number) -> str:
    pairs = {"scenario": case.scenario, "cell": case.label, "scope": one.scope}
    return "{" + ",".join(f'{key}="{_quoted(value)}"' for key, value in pairs.items()) + "}"


def _quoted(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")

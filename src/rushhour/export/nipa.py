"""The `results` of a run as netdev's CI (NIPA) fetches them from remote executors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rushhour.export.case import plain

if TYPE_CHECKING:
    from rushhour.export.case import Report

_RESULT = {"pass": "pass", "fail": "fail", "error": "fail", "skip": "skip"}


def nipa(report: Report) -> str:
    """The file of one run; `branch` is the kernel's revision where it came from a repository.

    `link` is left empty: only who publishes the files knows their address.
    """
    source = report.kernel.get("source")
    revision = str(source.get("commit") or "") if isinstance(source, dict) else ""
    time = report.made.replace("T", " ").replace("Z", "+00:00")
    results = [
        {
            "test": plain(f"{case.words[-1]}" if case.label else case.scenario),
            "group": plain(case.scenario.replace("/", "-")),
            "result": _RESULT[case.status],
            "link": "",
            **({} if case.seconds is None else {"time": round(case.seconds, 3)}),
        }
        for case in report.cases
    ]
    document = {
        "executor": "rushhour",
        "branch": revision or str(report.kernel.get("release") or ""),
        "start": time,
        "end": time,
        "link": "",
        "results": results,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"

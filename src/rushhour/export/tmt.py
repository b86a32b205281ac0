"""tmt's custom results (`result: custom`): what a test leaves as `$TMT_TEST_DATA/results.yaml`.

Written as JSON, which is YAML: no quoting rules of ours. tmt's schema: tmt/schemas/results.yaml.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rushhour.export.case import one_line

if TYPE_CHECKING:
    from rushhour.export.case import Case, Report

_RESULT = {"pass": "pass", "fail": "fail", "error": "error", "skip": "skip"}


def tmt(report: Report) -> str:
    """The test itself (`/`) with the headline, then one result for each cell."""
    # A cell that was not judged says nothing against the whole.
    found = {case.status for case in report.cases}
    worst = next((status for status in ("fail", "error", "pass") if status in found), "skip")
    whole = {
        "name": "/",
        "result": worst,
        "note": [one_line(report.headline)],
        "duration": _time(report.seconds),
    }
    return json.dumps([whole, *(_result(case) for case in report.cases)], indent=1, ensure_ascii=False) + "\n"


def _result(case: Case) -> dict[str, object]:
    notes = [one_line(text) for text in (case.reason, case.command) if text]
    return {
        "name": "/" + "/".join(case.words),
        "result": _RESULT[case.status],
        "note": notes,
        "duration": _time(case.seconds or 0.0),
    }


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{rest:02d}"

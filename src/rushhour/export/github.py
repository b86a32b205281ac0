"""GitHub's workflow commands: one annotation for each cell that did not pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.export.case import one_line
from rushhour.quantities.words import plural

if TYPE_CHECKING:
    from rushhour.export.case import Case, Report

MOST = 10
"""Annotations of a kind that GitHub shows of one step."""
_LEVEL = {"fail": "error", "error": "error", "skip": "warning"}


def github(report: Report) -> str:
    """Lines for the standard output of a step; the worst first, the rest counted."""
    told = [case for status in ("fail", "error", "skip") for case in report.cases if case.status == status]
    lines = [_command(case) for case in told[:MOST]]
    if len(told) > MOST:
        lines.append(f"::notice title=Rush Hour::{plural(len(told) - MOST, 'more cell')} did not pass")
    lines.append(f"::notice title=Rush Hour::{_data(one_line(report.headline))}")
    return "\n".join(lines) + "\n"


def _command(case: Case) -> str:
    return f"::{_LEVEL[case.status]} title={_property(case.name)}::{_data(one_line(case.reason))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(one_line(text)).replace(":", "%3A").replace(",", "%2C")

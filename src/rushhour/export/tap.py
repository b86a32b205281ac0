"""TAP version 13, flat as kselftest prints it, and KTAP, nested as KUnit does.

Documentation/dev-tools/ktap.rst of the kernel; the flat form's header is what its own ktap_helpers.sh
writes and what netdev's CI looks for. No YAML blocks: the kernel's readers do not know them.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rushhour.export.case import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rushhour.export.case import Case, Report


def tap(report: Report) -> str:
    """One line for each cell, its numbers in a comment above it, totals at the end."""
    lines = ["TAP version 13", f"1..{len(report.cases)}"]
    lines += [f"# {one_line(key)}: {one_line(value)}" for key, value in report.properties.items()]
    for number, case in enumerate(report.cases, 1):
        lines += [f"# {text}" for text in _told(case)]
        lines.append(_result(number, case))
    lines.append(_totals(report))
    return "\n".join(lines) + "\n"


def ktap(report: Report) -> str:
    """A test for each scenario with its cells below it."""
    groups = [(name, [*cases]) for name, cases in groupby(report.cases, key=lambda case: case.scenario)]
    lines = ["KTAP version 1", f"1..{len(groups)}"]
    for number, (name, cases) in enumerate(groups, 1):
        lines += ["  KTAP version 1", f"  # Subtest: {_word(name)}", f"  1..{len(cases)}"]
        for below, case in enumerate(cases, 1):
            lines += [f"  # {text}" for text in _told(case)]
            lines.append(f"  {_result(below, case, case.label or 'run')}")
        lines.append(_outcome(number, name, cases))
    lines.append(_totals(report))
    return "\n".join(lines) + "\n"


def _result(number: int, case: Case, name: str | None = None) -> str:
    said = _word(name or case.name)
    if case.status == "skip":
        return f"ok {number} {said} # SKIP {one_line(case.reason).replace('#', '')}"
    word = "ok" if case.status == "pass" else "not ok"
    time = "" if case.seconds is None else f" # time={round(1000 * case.seconds)}ms"
    return f"{word} {number} {said}{time}"


def _outcome(number: int, name: str, cases: Sequence[Case]) -> str:
    states = {case.status for case in cases}
    word = "not ok" if states & {"fail", "error"} else "ok"
    only_skipped = " # SKIP all of its cells" if states == {"skip"} else ""
    return f"{word} {number} {_word(name)}{only_skipped}"


def _told(case: Case) -> Iterator[str]:
    if case.status in ("fail", "error"):
        yield from (one_line(line) for line in case.details or (case.reason,))
        if case.command:
            yield f"reproduce: {one_line(case.command)}"
    for one in case.numbers if case.status == "fail" else ():
        base = "" if one.base is None else f" base={one.base:.9g}"
        yield f"{one.metric} {one_line(one.scope)}={one.value:.9g}{base} {one.unit}"


def _totals(report: Report) -> str:
    passed, failed = report.count("pass"), report.count("fail")
    skipped, errors = report.count("skip"), report.count("error")
    return f"# Totals: pass:{passed} fail:{failed} xfail:0 xpass:0 skip:{skipped} error:{errors}"


def _word(name: str) -> str:
    # A number sign begins a directive.
    return one_line(name).replace("#", "")

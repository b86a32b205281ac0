"""JUnit XML: the subset that Jenkins, GitLab, GitHub's actions and tmt agree on.

There is no standard. Of what readers know, `properties` are allowed in a `testsuite` only, a case holds at
most one of skipped, error and failure, and times are plain seconds (jenkinsci's junit-10.xsd).
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

from rushhour.export.case import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushhour.export.case import Case, Report

_TAGS = {"fail": "failure", "error": "error", "skip": "skipped"}


def junit(report: Report) -> str:
    """One test suite for each scenario, one test case for each cell, its numbers in `system-out`."""
    root = ET.Element("testsuites", {"name": f"rushhour {printable(report.name)}", **_counts(report.cases)})
    root.set("time", f"{report.seconds:.3f}")
    # By scenario wherever its cases stand: those that were not run come after all others.
    suites: dict[str, list[Case]] = {}
    for case in report.cases:
        suites.setdefault(case.scenario, []).append(case)
    for scenario, cases in suites.items():
        root.append(_suite(report, scenario, cases))
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(report: Report, scenario: str, cases: Sequence[Case]) -> ET.Element:
    suite = ET.Element("testsuite", {"name": printable(scenario), **_counts(cases)})
    suite.set("skipped", str(sum(case.status == "skip" for case in cases)))
    suite.set("time", f"{sum(case.seconds or 0.0 for case in cases):.3f}")
    if report.made:
        suite.set("timestamp", report.made.removesuffix("Z"))
    properties = ET.SubElement(suite, "properties")
    release = {"kernel.release": str(report.kernel.get("release") or "")}
    for name, value in {**release, **report.properties}.items():
        ET.SubElement(properties, "property", {"name": name, "value": printable(value)})
    suite.extend(_case(case) for case in cases)
    return suite


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    return {
        "tests": str(len(cases)),
        "failures": str(sum(case.status == "fail" for case in cases)),
        "errors": str(sum(case.status == "error" for case in cases)),
    }


def _case(case: Case) -> ET.Element:
    about = {"classname": printable(case.scenario.replace("/", ".")), "name": printable(case.label or "run")}
    element = ET.Element("testcase", {**about, "time": f"{case.seconds or 0.0:.3f}"})
    if case.status in _TAGS:
        outcome = ET.SubElement(element, _TAGS[case.status], {"message": printable(case.reason)})
        if case.status != "skip":
            outcome.set("type", "regression" if case.status == "fail" else "invalid")
            lines = [*case.details]
            lines += [case.guards and f"guards: {case.guards}", case.command and f"reproduce: {case.command}"]
            outcome.text = printable("\n".join(filter(None, lines)))
    out = ET.SubElement(element, "system-out")
    out.text = printable("\n".join(_lines(case)))
    return element


def _lines(case: Case) -> list[str]:
    return [
        f"metric {one.metric} scope={one.scope} value={one.value:.9g} unit={one.unit}"
        + ("" if one.base is None else f" base={one.base:.9g}")
        for one in case.numbers
    ]

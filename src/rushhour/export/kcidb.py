"""KCIDB 5.3: what KernelCI's database takes. Nothing is submitted; the file is for whoever has the key.

A KCIDB test has one number, so a case becomes one test for its outcome and one for each of its numbers.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from rushhour.export.case import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rushhour.export.case import Case, Number, Report

ORIGIN = "rushhour"
_STATUS = {"pass": "PASS", "fail": "FAIL", "error": "ERROR", "skip": "SKIP"}


def kcidb(report: Report) -> str:
    """Checkout, build and tests as one JSON document."""
    kernel = report.kernel
    about = json.dumps(kernel, sort_keys=True, default=str)
    source = kernel.get("source")
    commit = str(source.get("commit", "")) if isinstance(source, dict) else ""
    checkout = f"{ORIGIN}:{_short(about)}"
    build = f"{ORIGIN}:{_short(about, 'build')}"
    tests = [test for case in report.cases for test in _tests(case, build, report)]
    known = {"git_commit_hash": commit} if re.fullmatch(r"[0-9a-f]{40}", commit) else {}
    document = {
        "version": {"major": 5, "minor": 3},
        "checkouts": [
            {"id": checkout, "origin": ORIGIN, "tree_name": str(kernel.get("name") or "unknown"),
             "valid": True, **known},
        ],
        "builds": [
            {"id": build, "origin": ORIGIN, "checkout_id": checkout, **_architecture(kernel),
             "compiler": str(kernel.get("compiler") or "unknown"), "status": "PASS",
             "misc": {"release": str(kernel.get("release") or "")}},
        ],
        "tests": tests,
    }  # fmt: skip
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _architecture(kernel: Mapping[str, object]) -> dict[str, str]:
    """What the kernel was built for: `um` in virtual time, else the machine's, as `uname -m` says it.

    Absent where nothing tells it, or machines of several architectures took part.
    """
    source = kernel.get("source")
    if isinstance(source, dict) and source.get("kind") == "running":
        machine = kernel.get("machine")
        return {"architecture": machine} if isinstance(machine, str) and machine else {}
    return {"architecture": "um"} if kernel else {}


def _tests(case: Case, build: str, report: Report) -> Iterator[dict[str, object]]:
    whole: dict[str, object] = {
        "id": f"{ORIGIN}:{_short(build, report.name, report.made, case.name)}",
        "origin": ORIGIN,
        "build_id": build,
        "path": _path(case),
        "status": _STATUS[case.status],
        "comment": one_line(case.reason or case.guards),
    }
    if case.seconds is not None:
        whole["duration"] = case.seconds
    if report.made:
        whole["start_time"] = report.made
    yield whole
    for one in case.numbers:
        yield _number(case, one, whole)


def _number(case: Case, one: Number, whole: dict[str, Any]) -> dict[str, Any]:
    """A test that says no more than a number: DONE, for the verdict is the case's."""
    path = f"{_path(case)}.{_part(one.metric)}.{_part(one.scope)}"
    return {
        **{key: whole[key] for key in ("origin", "build_id")},
        "id": f"{ORIGIN}:{_short(whole['id'], one.metric, one.scope)}",
        "path": path,
        "status": "DONE",
        "number": {"value": one.value, "unit": one.unit, "prefix": "metric"},
    }


def _path(case: Case) -> str:
    return ".".join(["rushhour", *(_part(word) for word in case.words)])


def _part(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "_", text).strip("_") or "_"


def _short(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]

"""Doctor's report for people and for programs; nothing but the standard library, so that it always works."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING

from rushhour.lab.doctor import LABS, State, examine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rushhour.lab.doctor import Check, Report

_COLOURS = {State.OK: "32", State.WARN: "33", State.BAD: "31", State.UNKNOWN: "35"}
_WORDS = {State.OK: "ok", State.WARN: "less", State.BAD: "no", State.UNKNOWN: "?"}
_LEFT = 14
_WIDEST = 100


def main(labs: Sequence[str] = (), *, as_json: bool = False) -> int:
    """Examine this machine and print what was found; 0 if the labs are ready, 1 if not."""
    report = examine()
    if as_json:
        print(json.dumps(report.document(), indent=1, ensure_ascii=False))
    else:
        width = min(shutil.get_terminal_size((80, 24)).columns, _WIDEST)
        print(text(report, width, colour=_coloured()))
    return 0 if all(report.ready(lab) for lab in labs or LABS[:1]) else 1


def text(report: Report, width: int, *, colour: bool = False) -> str:
    """The report in lines of at most this width, as far as words allow it."""
    lines = [*textwrap.wrap(f"rushhour {report.version} on {report.title}", width), ""]
    for one in report.checks:
        lines += _lines(one.name, one, width, colour=colour)
    lines.append("")
    for one in report.labs:
        lines += _lines(f"lab {one.name}", one, width, colour=colour)
    return "\n".join(lines)


def _lines(name: str, one: Check, width: int, *, colour: bool) -> Iterator[str]:
    word = f"{_WORDS[one.state]:<5}"
    mark = f"\033[{_COLOURS[one.state]}m{word}\033[0m" if colour else word
    said = [
        part for line in one.says.splitlines() for part in textwrap.wrap(line, max(width - _LEFT - 1, 20))
    ]
    yield f"{mark}{name:<{_LEFT - 5}} {said[0] if said else ''}".rstrip()
    yield from (f"{'':<{_LEFT}} {line}" for line in said[1:])
    if one.state is not State.OK:
        # A command stays on its line: it is there to be copied.
        yield from (f"{'':<{_LEFT}} > {command}" for command in one.mend)


def _coloured() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"

"""What kernels with sanitizers complain of: which cells, the kernel's words, how to see them again."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any

from rushhour.record.asked import command
from rushhour.spec.sweep import set_words
from rushhour.verdict.words import of_failure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rushhour.verdict.judging import Verdict
    from rushhour.verdict.side import SideCell

# Of a complaint's lines: where code lies, a call, and calls of what only says it.
_ADDRESS = re.compile(r"\[<[0-9a-f]+>\] ")
_CALL = re.compile(r"\s+(?:\? )?(\w[\w.]*)\+0x[0-9a-f]+/0x[0-9a-f]+")
_SAYING = re.compile(r"show_stack|dump_stack|print_report|_*k?asan_|save_stack|stack_trace_|warn_slowpath")
_MOST_CALLS = 6  # of one list
# What is told of the memory itself, byte by byte.
_MEMORY = re.compile(r"\s*(?:The buggy address belongs to the physical page|Memory state around)")


def complaining(made: Verdict, kernel: str, scenarios: Sequence[str], *, whole: bool) -> list[dict[str, Any]]:
    """The cells in which the candidate's kernel ended its runs and the base's did not, with its words.

    Args:
        made: The comparison.
        kernel: The candidate's name.
        scenarios: What was asked to run; none for the suite.
        whole: Whether it was no quick look.
    """
    quick = [] if whole else ["--quick"]
    return [
        {
            "scenario": one.cell.scenario, "label": one.cell.label, "reason": of_failure(failed.error),
            "lines": [line.rstrip() for line in (failed.error or "").splitlines()[1:]],
            "repeat": command(["run", *_what(one.cell, scenarios), *quick, "--kernel", kernel]),
            "debug": command(["debug", _set_of(made, one.cell), "--complaint", "--build"]),
        }
        for one in made.cells
        if (failed := one.failed)
    ]  # fmt: skip


def _set_of(made: Verdict, cell: SideCell) -> str:
    """The folder of the candidate's runs of a scenario: its `set.json` has the run that failed."""
    return f"{made.candidate.records}/{cell.scenario.rpartition('/')[2]}"


def _what(cell: SideCell, scenarios: Sequence[str]) -> list[str]:
    """The cell of a scenario of the catalogue; else all that was asked for, for a file may be anywhere."""
    if "/" not in cell.scenario and scenarios:
        return [*scenarios]
    return [cell.scenario, *set_words(cell.factors)]


def told(document: Mapping[str, Any]) -> list[str]:
    """Lines of a terminal about the first complaint of a check, and how to see it again."""
    for one in document["commits"]:
        watched = one.get("sanitizers", {})
        if watched.get("complaints") and watched["verdict"] in ("worse", "common"):
            first = watched["complaints"][0]
            again = ["The same again, at the same instant:", f"  {first['repeat']}"]
            line = "Under gdb, at the line that it complains of (compiles the kernel's symbols first, once):"
            return [*_shortened(first["lines"]), *again, line, f"  {first['debug']}"]
    return []


def _shortened(lines: Sequence[str]) -> Iterator[str]:
    """The lines of a complaint but its memory, and of each list of calls the few in which the fault is."""
    calls = 0
    for line in itertools.takewhile(lambda line: not _MEMORY.match(line), lines):
        text = _ADDRESS.sub("", line)
        call = _CALL.fullmatch(text)
        if call is None:
            calls = 0
            yield text
        elif not _SAYING.match(call[1]):
            calls += 1
            if calls <= _MOST_CALLS:
                yield text

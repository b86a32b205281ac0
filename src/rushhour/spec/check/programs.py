"""Checks of programs: where they are, whom they wait for, and that they end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rushhour.spec.check.problem import Path, Problem
from rushhour.spec.graph import nodes
from rushhour.spec.keys import nearest
from rushhour.spec.programs import MAX_PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rushhour.spec.programs import Program
    from rushhour.spec.scenario import Scenario

_PATH = "a name, found on this machine, its whole path, or ./FILE of `files`"


def check_programs(scenario: Scenario) -> Iterator[Problem]:
    """Check every program, then what they have together."""
    if len(scenario.program) > MAX_PROGRAMS:
        yield Problem(("program",), f"{len(scenario.program)} programs are more than {MAX_PROGRAMS}")
        return
    known = nodes(scenario)
    by_name: dict[str, int] = {}
    for index, program in enumerate(scenario.program):
        here = ("program", index)
        if program.label in by_name:
            message = f'"{program.label}" is already the name of a program'
            yield Problem((*here, "name"), message, "give each one of its own")
        by_name[program.label] = index
        if program.node not in known:
            yield Problem((*here, "node"), f'no node is named "{program.node}"', nearest(program.node, known))
        yield from _check_command(scenario, program, here)
        yield from _check_root(scenario, program, here)
        yield from _check_times(scenario, program, here)
    yield from _check_order(scenario, by_name)


def _check_command(scenario: Scenario, program: Program, here: Path) -> Iterator[Problem]:
    word = program.command[0]
    if not word or not word.isprintable():
        yield Problem((*here, "command"), "names no program", _PATH)
    elif word.startswith("./") and word[2:] not in program.files:
        message = f'"{word}" is none of its files'
        yield Problem((*here, "command"), message, f'bring it: files = ["{word[2:]}"]')
    elif "/" in word and not word.startswith(("/", "./")):
        yield Problem((*here, "command"), f'"{word}" is no name of a program', _PATH)
    for need in program.needs:
        if not need or not need.isprintable() or ("/" in need and not need.startswith("/")):
            yield Problem((*here, "needs"), f'"{need}" is neither a program nor a whole path', _PATH)
    for name in program.files:
        if name not in scenario.file:
            yield Problem((*here, "files"), f'there is no text of "{name}"', "give it in [file]")
    if program.ready == "":
        yield Problem((*here, "ready"), "every program prints that", "a port, or a text that it prints")


def _check_root(scenario: Scenario, program: Program, here: Path) -> Iterator[Problem]:
    if program.root is None:
        return
    if program.needs:
        hint = "put it into the root, or bring texts by `files`"
        yield Problem((*here, "needs"), "a program with a `root` has what it uses in that root", hint)
    if program.root not in scenario.root:
        yield Problem(
            (*here, "root"), f'the place of "{program.root}" is not known', "give its path in [root]"
        )


def _check_times(scenario: Scenario, program: Program, here: Path) -> Iterator[Problem]:
    span = scenario.span
    if span.ns > 0 and program.start.ns >= span.ns:
        yield Problem((*here, "start"), "begins after the end of the experiment", f"it lasts {span}")
    if program.stop is not None and program.stop.ns <= program.start.ns:
        yield Problem((*here, "stop"), f'"{program.stop}" is not after its start, "{program.start}"')


def _check_order(scenario: Scenario, by_name: Mapping[str, int]) -> Iterator[Problem]:
    """Nobody waits for who is not there, or for itself by way of others."""
    whole = True
    for index, program in enumerate(scenario.program):
        for other in program.after:
            if other not in by_name:
                whole = False
                path = ("program", index, "after")
                yield Problem(path, f'no program is named "{other}"', nearest(other, by_name))
    if not whole:
        return
    waiting = {one.label: set(one.after) for one in scenario.program}
    while free := [name for name, others in waiting.items() if not others & waiting.keys()]:
        for name in free:
            del waiting[name]
    if waiting:
        first = next(iter(waiting))
        path = ("program", by_name[first], "after")
        yield Problem(path, f"programs wait for each other: {', '.join(waiting)}", "one must begin first")

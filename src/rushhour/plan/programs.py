"""Programs of a scenario as the plan's entries, and as words."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rushhour.plan.layout import Layout
    from rushhour.record.plan_file import PlanProgram
    from rushhour.spec.programs import Program
    from rushhour.spec.scenario import Scenario

FOREIGN = "program:"
"""Begins the names, among a plan's tools, of programs and files that only the scenario knows of."""
ROOT = "root:"
"""Begins the names, among a plan's tools, of roots that programs see."""
_SHOWN = 60


def program_nodes(scenario: Scenario) -> list[str]:
    """Nodes with programs: any of them may talk to any other, and nobody says beforehand which do."""
    return list(dict.fromkeys(program.node for program in scenario.program))


def program_entries(layout: Layout) -> dict[str, object]:
    """The plan's `programs` and `names`; nothing where there are no programs."""
    scenario = layout.scenario
    if not scenario.program:
        return {}
    numbers = {program.label: number for number, program in enumerate(scenario.program)}
    identity = layout.addressing.identity
    return {
        "programs": [_entry(program, numbers, scenario) for program in scenario.program],
        "names": [[identity[node.name], node.name] for node in layout.graph.nodes if node.name in identity],
    }


def _entry(program: Program, numbers: dict[str, int], scenario: Scenario) -> dict[str, object]:
    entry: dict[str, object] = {
        "id": numbers[program.label],
        "name": program.label,
        "node": program.node,
        "command": list(program.command),
        "start_ns": program.start.ns,
    }
    port, text = (program.ready, None) if isinstance(program.ready, int) else (None, program.ready)
    more = {
        "stop_ns": program.stop.ns if program.stop else None,
        "after": [numbers[name] for name in program.after],
        "ready_port": port,
        "ready_text": text,
        "until_exit": program.until == "exit",
        "exit": program.exit,
        "input": program.input,
        "environment": dict(program.environment),
        "files": {name: scenario.file[name] for name in program.files},
        "root": program.root,
        "needs": list(program.needs),
    }
    return entry | {key: value for key, value in more.items() if value}


def foreign(program: PlanProgram) -> Iterator[str]:
    """What a program needs of this machine, as the plan's tools name it; a root has all."""
    if program.root is not None:
        yield f"{ROOT}{program.root}"
        return
    yield from (f"{FOREIGN}{need}" for need in _needed(program.command, program.needs, program.files))


def programs_needed(scenario: Scenario) -> list[str]:
    """What the programs of a scenario need of this machine: names and whole paths, sorted."""
    every = [program for program in scenario.program if program.root is None]
    texts = [{name: scenario.file[name] for name in program.files} for program in every]
    needed = (_needed(one.command, one.needs, files) for one, files in zip(every, texts, strict=True))
    return sorted({need for needs in needed for need in needs})


def _needed(command: Sequence[str], needs: Iterable[str], files: Mapping[str, str]) -> Iterator[str]:
    if not command[0].startswith("./"):
        yield command[0]
    yield from needs
    # A text of the scenario may say itself what reads it.
    for name, text in files.items():
        if f"./{name}" == command[0] and text.startswith("#!"):
            words = text[2:].partition("\n")[0].split()
            if words[:1] == ["/usr/bin/env"]:
                yield "/usr/bin/env"
                words = [word for word in words[1:] if not word.startswith("-")]
            yield from words[:1]


def root_places(scenario: Scenario) -> dict[str, str]:
    """Where on this machine the roots are that a plan's tools name."""
    return {f"{ROOT}{name}": f"{ROOT}{place}" for name, place in scenario.root.items()}


def program_row(program: Program) -> list[str]:
    """A program in words: name, place, command, when."""
    command = shlex.join(program.command)
    shown = command if len(command) <= _SHOWN else f"{command[: _SHOWN - 1]}…"
    begin = f"after {', '.join(program.after)}" if program.after else f"{program.start}"
    if program.after and program.start.ns:
        begin += f", from {program.start}"
    end = f" → {program.stop}" if program.stop else ""
    ready = f"ready: {program.ready}" if program.ready else ""
    until = "the experiment ends with it" if program.until else ""
    shown += f", in {program.root}" if program.root else ""
    return [f"program {program.label}", program.node, shown, f"{begin}{end}", ready or until]

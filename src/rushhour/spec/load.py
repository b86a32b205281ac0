"""Loading: a file, a text or a name of the catalogue becomes a `Scenario`, or an error with every fault.

Takes TOML and `--set KEY=VALUE` words, gives a `Scenario`.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushhour.errors import Fault, ScenarioError, UsageError
from rushhour.spec.attach import attach_traces
from rushhour.spec.bring import bring_files, bring_roots
from rushhour.spec.catalog import ScenarioFile, find_in_catalogue, published_beside, study_in
from rushhour.spec.document import parse_toml, read_text
from rushhour.spec.examine import examine, inside
from rushhour.spec.expected import read_expectations
from rushhour.spec.keys import UnknownKeyError, nearest, put
from rushhour.spec.lines import NO_LINE, find_line, key_lines
from rushhour.spec.programs import name_programs, with_program
from rushhour.spec.scenario import name_flows
from rushhour.spec.settle import fix_factor
from rushhour.spec.study import STUDY
from rushhour.spec.sweep import LABEL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rushhour.spec.check import Path as KeyPath
    from rushhour.spec.check import Problem
    from rushhour.spec.scenario import Scenario
    from rushhour.spec.vocabulary import Vocabulary

_SET = "--set"
_ADDED = "the program to run"


def find_scenarios(word: str | Path) -> list[ScenarioFile]:
    """Give the scenarios that a word on the command line means: a file, a study's folder, or names.

    Raises:
        ScenarioError: it looks like a file, but there is none.
        UsageError: it is no name of the catalogue either.
    """
    path, name = Path(word), str(word)
    if _is_file(path / STUDY):
        study = study_in(path, path.resolve().name)
        study.load()
        return list(study.scenarios)
    if isinstance(word, Path) or _is_file(path) or ("/" in name and _is_folder(path)):
        data = published_beside(path)
        return [ScenarioFile(path.stem, path, data if _is_file(data) else None)]
    try:
        return find_in_catalogue(name)
    except UsageError as error:
        if path.suffix != ".toml":
            raise
        beside = sorted(str(item) for item in path.parent.glob("*.toml"))
        odd = os.path.lexists(path)
        message = "is no regular file, or cannot be looked at" if odd else "there is no such file"
        fault = Fault(
            name, None, "", message, None if odd or not beside else nearest(name, beside, "there is")
        )
        raise ScenarioError([fault]) from error


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name too long, or with a zero byte: no file is called so
        return False


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def find_scenario(word: str | Path) -> ScenarioFile:
    """Give the one scenario that a word means.

    Raises:
        ScenarioError: there is none, or there are several.
        UsageError: it is no name of the catalogue.
    """
    found = find_scenarios(word)
    if len(found) > 1:
        hint = f"name one: {', '.join(item.name for item in found)}"
        raise ScenarioError([Fault(str(word), None, "", f"names {len(found)} scenarios", hint)])
    return found[0]


def load_scenario(
    source: str | Path | ScenarioFile,
    sets: Sequence[str] = (),
    words: Vocabulary | None = None,
    program: Mapping[str, Any] | None = None,
) -> Scenario:
    """Load one scenario from a file or from the catalogue.

    Args:
        source: A file, or a name of the catalogue.
        sets: `KEY=VALUE` words over the file's.
        words: What is measured and predicted; without it the names of metrics, series and models are not
            checked.
        program: Keys of one more program, which begins when the scenario's own are ready.

    Raises:
        ScenarioError: with every fault of the file, its line, and what is allowed.
        UsageError: a name that the catalogue does not have, or has more than once.
    """
    if not isinstance(source, ScenarioFile):
        source = find_scenario(source)
    folder = source.file.parent if isinstance(source.file, Path) else None
    return parse_scenario(read_text(source.file), str(source.file), sets, folder, words, program=program)


def parse_scenario(
    text: str,
    file: str = "scenario",
    sets: Sequence[str] = (),
    folder: Path | None = None,
    words: Vocabulary | None = None,
    *,
    program: Mapping[str, Any] | None = None,
) -> Scenario:
    """Give the scenario that a TOML text describes.

    `file` is its name in faults, `folder` holds its traces; the others are as of `load_scenario`.
    """
    document = name_programs(name_flows(parse_toml(text, file)))
    lines = key_lines(text)
    if program is not None:
        known = document.get("program", ())
        lines[f"program.{len(known) if isinstance(known, list) else 0}"] = NO_LINE
        document = with_program(document, program)
    return _made(document, sets, folder, words, lines=lines, file=file)


def scenario_of(
    document: Mapping[str, Any],
    file: str = "scenario",
    sets: Sequence[str] = (),
    folder: Path | None = None,
    words: Vocabulary | None = None,
) -> Scenario:
    """Give the scenario that a document describes, as TOML would be parsed; as of `parse_scenario`."""
    return _made(name_programs(name_flows(dict(document))), sets, folder, words, lines={}, file=file)


def _made(
    document: dict[str, Any],
    sets: Sequence[str],
    folder: Path | None,
    words: Vocabulary | None,
    *,
    lines: dict[str, int],
    file: str,
) -> Scenario:
    document, odd = read_expectations(document, words)
    document, faults = apply_sets(document, sets)
    document, missing = attach_traces(document, folder)
    missing += odd
    document, lacking = bring_files(bring_roots(document, folder), folder)
    missing += lacking
    scenario, found = examine(document, words)
    if scenario is not None and not faults and not missing:
        return scenario
    # What is said of a file that is not there need not be said of the trace that it would have been.
    found = [*missing, *(problem for problem in found if problem.path not in {p.path for p in missing})]
    given = {word.partition("=")[0].strip() for word in sets}
    faults += [_fault(problem, document, lines, file, given) for problem in found]
    raise ScenarioError(sorted(faults, key=lambda fault: fault.line or 0))


def apply_sets(document: dict[str, Any], sets: Sequence[str]) -> tuple[dict[str, Any], list[Fault]]:
    """Put `KEY=VALUE` words into the document; a factor that is set varies no longer."""
    faults = []
    for word in sets:
        key, equals, value = (part.strip() for part in word.partition("="))
        if not equals or not key:
            faults.append(
                Fault(_SET, None, word, "is not KEY=VALUE", f"for example {_SET} topology.rate=10mbit")
            )
            continue
        if key.startswith(LABEL):
            hint = "set what the label stands for; `rushhour show` lists the factors"
            faults.append(Fault(_SET, None, key, "a label sets nothing: it names cells of a sweep", hint))
            continue
        try:
            document = put(document, {key: value_of(value)})
        except UnknownKeyError as error:
            faults.append(Fault(_SET, None, key, str(error), error.hint))
        else:
            document = fix_factor(document, key, value_of(value))
    return document, faults


def value_of(word: str) -> object:
    """Read a value as TOML would; what is no TOML is a text, so that units need no quotes."""
    try:
        value = tomllib.loads(f"value = {word}")["value"]
    except (ValueError, RecursionError):  # ValueError: no TOML, or a number of thousands of digits
        return word
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return word
    return value if isinstance(value, str | bool | int | float | list) else word


def _fault(
    problem: Problem, document: Mapping[str, object], lines: dict[str, int], file: str, given: set[str]
) -> Fault:
    key = show_key(problem.path, document)
    if key in given or (key.endswith(".cc") and "cc" in given):
        return Fault(_SET, None, key, problem.message, problem.hint)
    # Where a factor gives the value, the factor is to blame.
    line = lines.get(f"sweep.{key}") or find_line(lines, problem.path)
    if line == NO_LINE:
        return Fault(_ADDED, None, show_key(problem.path[2:], {}), problem.message, problem.hint)
    return Fault(file, line, key, problem.message, problem.hint)


def show_key(path: KeyPath, document: Mapping[str, object]) -> str:
    """Write a path as `--set` would take it: tables of an array by their name, else by number from 1."""
    parts: list[str] = []
    value: object = document
    for part in path:
        value = inside(value, part)
        if isinstance(part, int):
            name = value.get("name") if isinstance(value, dict) else None
            parts.append(name if isinstance(name, str) and name else str(part + 1))
        else:
            parts.append(part)
    return ".".join(parts)

"""Pydantic's findings in this project's words: what was found, what is allowed, the nearest right word.

Takes a `ValidationError` of a `Scenario`, gives `Problem`s.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, get_args

from rushhour.spec.arrivals import Arrivals, SizeLaw, TimeLaw
from rushhour.spec.check.problem import Path, Problem
from rushhour.spec.control import Class, Later, Police
from rushhour.spec.figure import Figure
from rushhour.spec.judge import Judge
from rushhour.spec.keys import fields, nearest
from rushhour.spec.loads import Load
from rushhour.spec.pattern import SHAPES, Pattern
from rushhour.spec.programs import Program
from rushhour.spec.scenario import Expect, Readings, Scenario, Source
from rushhour.spec.topology import Bond, Direction, Link, Node, Topology
from rushhour.spec.workload import Flow

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

    from rushhour.spec.model import Model

Models = Mapping[tuple[str, ...], type["Model"]]

_DIRECTIONS = (("topology",), ("link",), ("link", "forward"), ("link", "reverse"))

MODELS: Models = {
    (): Scenario,
    ("topology",): Topology,
    ("node",): Node,
    ("link",): Link,
    ("link", "bond"): Bond,
    ("link", "forward"): Direction,
    ("link", "reverse"): Direction,
    ("flow",): Flow,
    ("flow", "arrivals"): Arrivals,
    ("flow", "arrivals", "on"): TimeLaw,
    ("flow", "arrivals", "off"): TimeLaw,
    ("flow", "size"): SizeLaw,
    ("flow", "on"): TimeLaw,
    ("flow", "off"): TimeLaw,
    ("pattern",): Pattern,
    ("load",): Load,
    ("program",): Program,
    **{("pattern", shape): model for shape, model in SHAPES.items()},
    ("readings",): Readings,
    ("source",): Source,
    ("expect",): Expect,
    ("judge",): Judge,
    ("figure",): Figure,
    **{(*direction, "class"): Class for direction in _DIRECTIONS},
    **{(*direction, "class", "then"): Later for direction in _DIRECTIONS},
    **{(*direction, "police"): Police for direction in _DIRECTIONS},
}
_TYPES = {
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "string_type": "a text in quotes",
    "tuple_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "finite_number": "a finite number",
}
_PATTERNS = {
    "cc": 'the name of a congestion control: lower-case letters, digits, "_" and "-", at most 15',
    "receiver_cc": 'the name of a congestion control: lower-case letters, digits, "_" and "-", at most 15',
    "queue": "a queue discipline in tc's words: letters, digits, spaces and . : % / , + = - _",
    "netem": "netem's words: letters, digits, spaces and . : % / , + = - _",
    "reverse_queue": "a queue discipline in tc's words: letters, digits, spaces and . : % / , + = - _",
    "reverse_netem": "netem's words: letters, digits, spaces and . : % / , + = - _",
}
_NAME = 'a name: letters, digits, ".", "_" and "-", beginning with a letter or digit, at most 64'


def explain(error: ValidationError, models: Models = MODELS) -> list[Problem]:
    """Give one problem for each of pydantic's errors; `models` are those of the document's tables."""
    found = error.errors(include_url=False)
    paths = [tuple(detail["loc"]) for detail in found]
    return [_problem(detail, models) for detail in found if not _follows(detail, paths)]


def _follows(detail: ErrorDetails, paths: Sequence[Path]) -> bool:
    """Whether a list is empty only because what stands in it is wrong, which is said for itself."""
    here = tuple(detail["loc"])
    inner = (path for path in paths if len(path) > len(here))
    return detail["type"] == "too_short" and any(path[: len(here)] == here for path in inner)


def _problem(detail: ErrorDetails, models: Models) -> Problem:
    path, kind, context = tuple(detail["loc"]), detail["type"], detail.get("ctx", {})
    match kind:
        case "factor":
            return Problem((*path, context["factor"]), context["message"])
        case "extra_forbidden":
            return _unknown_key(path, models)
        case "missing":
            return _missing(path, models)
        case "unit" | "sysctl" | "sweep" | "file":
            return Problem(path, detail["msg"])
    return _bad_value(path, kind, detail["input"], detail["msg"], models)


def _bad_value(path: Path, kind: str, found: object, message: str, models: Models) -> Problem:
    shown = _show(found)
    if kind == "literal_error":
        return Problem(path, f"{shown} is not allowed", nearest(str(found), _choices(path, models)))
    if kind == "string_pattern_mismatch":
        return Problem(path, f"{shown} is not {_PATTERNS.get(str(path[-1]), _NAME)}")
    if kind == "too_short":
        return Problem(path, "is empty", _example(path, models))
    if kind in _TYPES:
        return Problem(path, f"{shown} is not {_TYPES[kind]}", _example(path, models))
    return Problem(path, f"{shown}: {message[:1].lower()}{message[1:]}", _example(path, models))


def _unknown_key(path: Path, models: Models) -> Problem:
    model = _model(path[:-1], models)
    return Problem(path, "unknown key", nearest(str(path[-1]), fields(model)) if model else None)


def _missing(path: Path, models: Models) -> Problem:
    if path == ("topology", "preset"):
        hint = 'write preset = "dumbbell", "chain" or "star"; a graph is drawn with [[link]] tables instead'
        return Problem(path, "the topology has no preset", hint)
    return Problem(path, "is missing", _example(path, models))


def _model(path: Path, models: Models) -> type[Model] | None:
    return models.get(tuple(part for part in path if isinstance(part, str)))


def _example(path: Path, models: Models) -> str | None:
    """What the reference says of this key."""
    key = next((part for part in reversed(path) if isinstance(part, str)), None)
    model = _model(path[: path.index(key)], models) if key in path else None
    named = {f.alias or n: f for n, f in model.model_fields.items()} if model else {}
    return named[key].description if key in named else None


def _choices(path: Path, models: Models) -> list[str]:
    """The words that a Literal allows."""
    model = _model(path[:-1], models)
    field = model.model_fields.get(str(path[-1])) if model else None
    return _words(field.annotation) if field else []


def _words(annotation: object) -> list[str]:
    words: list[str] = []
    for part in get_args(annotation):
        words += [part] if isinstance(part, str) else _words(part)
    return words


def _show(value: object) -> str:
    """Show a value as TOML would write it, shortened."""
    text = {True: "true", False: "false"}.get(value) if isinstance(value, bool) else None
    text = text or (f'"{value}"' if isinstance(value, str) else repr(value))
    return text if len(text) <= 60 else f"{text[:57]}…"

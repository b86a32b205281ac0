"""All that is wrong with a document, at once.

Takes a document (parsed TOML), gives the `Scenario` it describes or every `Problem` in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from rushhour.spec.check import Problem, check_sweep, problems
from rushhour.spec.explain import explain
from rushhour.spec.keys import UnknownKeyError, copied, put
from rushhour.spec.quick import as_told
from rushhour.spec.scenario import Scenario, name_flows
from rushhour.spec.sweep import LABEL, Factor, Sweep
from rushhour.spec.topology import PRESET_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rushhour.spec.check import Path
    from rushhour.spec.vocabulary import Vocabulary


_ROUNDS = 3  # of cutting out what is malformed, to judge the rest
_SHAPE = {
    "link",
    "node",
    "topology",
    "between",
    "name",
    "role",
    "preset",
    "pairs",
    "hops",
    "leaves",
    "rtts",
    "access_rates",
}


def examine(
    document: Mapping[str, Any], words: Vocabulary | None = None
) -> tuple[Scenario | None, list[Problem]]:
    """Give the scenario and no problem, or all problems.

    Keys are judged first, then, with the malformed ones cut out, what the rest says together; problems that
    are only the consequence of the cut are left out. Factors are judged one value at a time beside the first
    cell; the cells of the cross product are judged when they are made. Names of metrics and the like are
    checked against `words` only.
    """
    sweep, found = _sweep(document)
    first = next(sweep.combinations(), {})
    # A sweep that makes no sense is left out, so that the rest can be judged.
    whole = {key: value for key, value in document.items() if key != "sweep" or not found}
    fixed, unknown = _put_known(name_flows(whole), first)
    scenario, more = _judge(fixed, words)
    found += unknown + more
    if scenario is not None and not found:
        fixed.pop("sweep", None)
        found += [*check_sweep(scenario, words), *_check_factors(fixed, sweep, first, words)]
        found += _check_quick(scenario, words)
    return (None if found else scenario), found


def _sweep(document: Mapping[str, object]) -> tuple[Sweep, list[Problem]]:
    try:
        return Sweep.model_validate(document.get("sweep", {})), []
    except ValidationError as error:
        found = explain(error)
        return Sweep(), [problem._replace(path=("sweep", *problem.path)) for problem in found]


def _put_known(
    document: Mapping[str, object], values: Mapping[str, object]
) -> tuple[dict[str, object], list[Problem]]:
    """Put the values of factors whose keys exist; give a problem for each that does not."""
    fixed, unknown = dict(document), []
    for key, value in values.items():
        try:
            fixed = put(fixed, {key: value})
        except UnknownKeyError as error:
            unknown.append(Problem(("sweep", key), str(error), error.hint))
    return fixed, unknown


def _judge(document: Mapping[str, object], words: Vocabulary | None) -> tuple[Scenario | None, list[Problem]]:
    """Judge keys, then contradictions; the sweep is left aside."""
    rest = {key: value for key, value in document.items() if key != "sweep"}
    found: list[Problem] = []
    for _ in range(_ROUNDS):
        try:
            scenario = Scenario.model_validate(rest)
        except ValidationError as error:
            new = explain(error)
            rest = rest if found else {key: copied(value) for key, value in rest.items()}
            gone = {problem.path for problem in found}
            found += [problem for problem in new if problem.path not in gone]
            done = [_cut(rest, problem.path) for problem in new]
            if not all(done):
                return None, found
        else:
            cut = [problem.path for problem in found]
            found += [problem for problem in problems(scenario, words) if not _consequence(problem.path, cut)]
            if found or "sweep" not in document:
                return (None if found else scenario), found
            return Scenario.model_validate(document), found
    return None, found


def _cut(document: object, path: Path) -> bool:
    """Remove the value at a path; False where there is none to remove."""
    table: object = document
    for part in path[:-1]:
        table = inside(table, part)
    if path == ("topology", "preset") and isinstance(table, dict):
        table["preset"] = "dumbbell"  # a topology without one is none; another is as good to judge the rest
        return True
    if isinstance(table, dict) and path and path[-1] in table:
        del table[path[-1]]
        return True
    return False


def inside(value: object, part: str | int) -> object:
    """Give what a table or an array holds under one part of a path; None where there is nothing."""
    if isinstance(value, dict):
        return value.get(part)
    if isinstance(value, list) and isinstance(part, int) and part < len(value):
        return value[part]
    return None


def _consequence(path: Path, cut: list[Path]) -> bool:
    """Whether a problem may only follow from what was cut out."""
    return any(_follows(path, gone) for gone in cut)


def _follows(path: Path, gone: Path) -> bool:
    if path == gone[: len(path)]:
        return True
    if gone[0] == "flow":
        return path[0] in ("expect", "duration") or (path[:2] == gone[:2] and gone[-1] == "kind")
    if gone == ("duration",):
        return path[0] in ("warmup", "sample")
    shape = gone[0] in ("topology", "link", "node") and gone[-1] in _SHAPE
    return shape and (path[0] in ("link", "node") or path[-1] in ("from", "to", "ecn", *PRESET_KEYS))


def _check_quick(scenario: Scenario, words: Vocabulary | None) -> Iterator[Problem]:
    """Judge what is left of the scenario in a quick look."""
    if not scenario.quick:
        return
    whole = scenario.model_dump(mode="json", by_alias=True, exclude_unset=True)
    for key in scenario.quick:
        try:
            put(whole, {key: scenario.quick[key]})
        except UnknownKeyError as error:
            yield Problem(("quick", key), str(error), error.hint)
            return
    left = as_told(whole, scenario.quick)
    for problem in examine(left, words)[1]:
        yield Problem(("quick",), f"{'.'.join(map(str, problem.path))}: {problem.message}", problem.hint)


def _check_factors(
    document: Mapping[str, object], sweep: Sweep, first: Mapping[str, object], words: Vocabulary | None
) -> Iterator[Problem]:
    """Judge each step of each factor beside the first values of the others with which it is not left out."""
    for factor in sweep.factors:
        known: list[dict[str, object]] = []
        for step in factor.steps[1:]:
            values = sweep.beside(first, dict(zip(factor.keys, step, strict=True)))
            if values is None:
                continue
            try:
                varied = put(document, values)
            except UnknownKeyError as error:
                yield Problem(("sweep", factor.keys[0]), str(error), error.hint)
                break
            known.append(varied)
            for problem in _judge(varied, words)[1]:
                pairs = zip(factor.keys, step, strict=True)
                shown = ", ".join(f"{key} = {value!r}" for key, value in pairs)
                yield Problem(("sweep", factor.keys[0]), f"with {shown}: {problem.message}", problem.hint)
        yield from _check_effect(document, factor, first, known)


def _check_effect(
    document: Mapping[str, object],
    factor: Factor,
    first: Mapping[str, object],
    varied: list[dict[str, object]],
) -> Iterator[Problem]:
    """Refuse a factor whose steps are all one experiment since the factors after it set the same keys."""
    if any(key.startswith(LABEL) for key in factor.keys) or len(set(map(str, factor.steps))) < 2:
        return
    if len(varied) == len(factor.steps) - 1 and all(one == put(document, first) for one in varied):
        message = "changes nothing: another factor sets all that it would set"
        yield Problem(("sweep", factor.keys[0]), message, "leave one of the two out")

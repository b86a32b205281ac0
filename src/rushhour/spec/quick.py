"""A quick look: the same question, shorter or with fewer cells.

Takes a scenario's document, gives one that runs in a fraction of the time. It shows the course of things, not
numbers to be held against anyone's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.quantities.factors import matches
from rushhour.quantities.units import Duration
from rushhour.spec.keys import put
from rushhour.spec.settle import ABOUT_CELLS, fix_factor
from rushhour.spec.sweep import SKIP, TOGETHER, Sweep

if TYPE_CHECKING:
    from collections.abc import Mapping

QUICK_LOOK = "shorter or with fewer cells than the experiment itself"
"""What a quick look is, in every report of one."""
VALUES = 3
"""Values of a factor that are left by rule: the first, the middle, the last."""
LONGEST = Duration(10 * 10**9)
"""Length by rule of an experiment in which all flows run from the beginning to the end."""


def as_told(document: Mapping[str, object], quick: Mapping[str, object]) -> dict[str, object]:
    """Give the document with what `[quick]` says: a list for a factor are its values, all else is as `--set`.

    Of coupled factors the values of one choose the steps of all. Factors that it does not name are thinned
    by rule. Expectations go if more changes than factors' values.

    Raises:
        UnknownKeyError: a key leads nowhere.
    """
    factors = Sweep.model_validate(document.get("sweep", {})).values
    lists = {key: value for key, value in quick.items() if key in factors and isinstance(value, list)}
    left = thinned = _thinned(document, lists)
    for key, value in quick.items():
        if key not in lists:
            left = fix_factor(put(left, {key: value}), key, value)
    return left if left == thinned else _without_expectations(left)


def by_rule(document: Mapping[str, object]) -> dict[str, object]:
    """Give the document with the first, middle and last value of each factor, and one run of each cell."""
    return _thinned(document, {})


def shorter(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Give the document of a shorter experiment; None where it is short, or where flows or links change.

    One that ends with its programs lasts as long as they do: its duration only bounds that.
    """
    flows, programs = document.get("flow") or (), document.get("program") or ()
    scheduled = any(key in flow for flow in flows for key in ("start", "duration"))
    scheduled |= any(key in program for program in programs for key in ("start", "stop", "until"))
    given = document.get("duration")
    if scheduled or document.get("pattern") or given is None or Duration.parse(given) <= LONGEST:
        return None
    return _without_expectations(dict(document) | {"duration": str(LONGEST)})


def _without_expectations(document: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in document.items() if key != "expect"}


def _thinned(document: Mapping[str, Any], given: Mapping[str, list[Any]]) -> dict[str, Any]:
    less = {key: value for key, value in document.items() if key not in ("quick", "repeat")}
    sweep = document.get("sweep")
    if not sweep:
        return less
    single = {
        key: given.get(key, _few(values)) for key, values in sweep.items() if key not in (TOGETHER, SKIP)
    }
    coupled = [_fewer_steps(table, given) for table in sweep.get(TOGETHER, [])]
    values = single | {key: steps for table in coupled for key, steps in table.items()}
    skip = [left for entry in sweep.get(SKIP, []) if (left := _still(entry, values))]
    thin = single | ({TOGETHER: coupled} if coupled else {}) | ({SKIP: skip} if skip else {})
    return _about(less | {"sweep": thin}, values)


def _about(document: dict[str, Any], values: Mapping[str, list[Any]]) -> dict[str, Any]:
    """The document without expectations, judges and figures whose cells are all gone."""
    left = document
    for name in ABOUT_CELLS:
        if name in document:
            tables = [_with_where(table, values) for table in document[name]]
            left = left | {name: [table for table in tables if table is not None]}
    return left


def _with_where(table: dict[str, Any], values: Mapping[str, list[Any]]) -> dict[str, Any] | None:
    where = table.get("where")
    if not where or not where.keys() <= values.keys():
        return table
    left = _still(where, values)
    return None if left is None else table | {"where": left}


def _fewer_steps(table: Mapping[str, list[Any]], given: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Coupled factors with the steps that the list of one of them names, else by rule."""
    chosen = next((key for key in table if key in given), None)
    if chosen is None:
        return {key: _few(values) for key, values in table.items()}
    steps = [
        place
        for place, value in enumerate(table[chosen])
        if any(matches({chosen: one}, {chosen: value}) for one in given[chosen])
    ]
    return {key: [values[place] for place in steps] for key, values in table.items()}


def _few(values: list[object]) -> list[object]:
    picked = {0, len(values) // 2, len(values) - 1} if len(values) > VALUES else range(len(values))
    return [values[place] for place in sorted(picked)]


def _still(entry: Mapping[str, Any], values: Mapping[str, list[Any]]) -> dict[str, Any] | None:
    """What an entry of `skip` leaves out of fewer values; None where it is nothing."""
    left = {}
    for key, wanted in entry.items():
        choices = wanted if isinstance(wanted, list) else [wanted]
        left[key] = [
            one for one in choices if any(matches({key: one}, {key: value}) for value in values[key])
        ]
    return left if all(left.values()) else None

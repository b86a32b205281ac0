"""A quick look: the same question, shorter and with fewer cells.

Takes a scenario's document, gives one that runs in a fraction of the time. It shows the course of things, not
numbers to be held against anyone's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.spec.keys import put
from rushhour.spec.settle import fix_factor
from rushhour.spec.sweep import SKIP, TOGETHER, Sweep, matches
from rushhour.units import Duration

if TYPE_CHECKING:
    from collections.abc import Mapping

VALUES = 3
"""Values of a factor that are left by rule: the first, the middle, the last."""
LONGEST = Duration(10 * 10**9)
"""Length by rule of an experiment in which all flows run from the beginning to the end."""


def as_told(document: Mapping[str, Any], quick: Mapping[str, Any]) -> dict[str, Any]:
    """Give the document with what `[quick]` says: a list for a factor are its values, all else is as `--set`.

    Factors that it does not name are thinned by rule. Expectations go if more changes than factors' values.

    Raises:
        UnknownKeyError: a key leads nowhere.
    """
    sweep = Sweep.model_validate(document.get("sweep", {}))
    alone = {factor.keys[0] for factor in sweep.factors if len(factor.keys) == 1}
    lists = {key: value for key, value in quick.items() if key in alone and isinstance(value, list)}
    left = _thinned(document, lists)
    for key, value in quick.items():
        if key not in lists:
            left = fix_factor(put(left, {key: value}), key, value)
    return _without_expectations(left) if quick.keys() - lists.keys() else left


def by_rule(document: Mapping[str, Any]) -> dict[str, Any]:
    """Give the document with the first, middle and last value of each factor, and one run of each cell."""
    return _thinned(document, {})


def shorter(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Give the document of a shorter experiment; None where it is short, or where flows or links change."""
    flows = document.get("flow") or ()
    scheduled = any(key in flow for flow in flows for key in ("start", "duration"))
    given = document.get("duration")
    if scheduled or document.get("pattern") or given is None or Duration.parse(given) <= LONGEST:
        return None
    return _without_expectations(dict(document) | {"duration": str(LONGEST)})


def _without_expectations(document: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != "expect"}


def _thinned(document: Mapping[str, Any], given: Mapping[str, list[Any]]) -> dict[str, Any]:
    less = {key: value for key, value in document.items() if key not in ("quick", "repeat")}
    sweep = document.get("sweep")
    if not sweep:
        return less
    single = {
        key: given.get(key, _few(values)) for key, values in sweep.items() if key not in (TOGETHER, SKIP)
    }
    coupled = [{key: _few(values) for key, values in table.items()} for table in sweep.get(TOGETHER, [])]
    values = single | {key: steps for table in coupled for key, steps in table.items()}
    skip = [left for entry in sweep.get(SKIP, []) if (left := _still(entry, values))]
    thin = single | ({TOGETHER: coupled} if coupled else {}) | ({SKIP: skip} if skip else {})
    return less | {"sweep": thin}


def _few(values: list[Any]) -> list[Any]:
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

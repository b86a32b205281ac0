"""Expectations as one says them: `goodput of client.1 > 1mbit` becomes the keys of an `[[expect]]` table.

    METRIC [of SCOPE] OPERATOR VALUE [± TOLERANCE]

An operator is one of `>`, `>=`, `<`, `<=`, `=`. The metric's unit may be left out of its name where the rest
means one metric only. A value with a unit is converted to the metric's; a bare number is in the metric's own.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from rushhour.quantities.measures import convert, kin
from rushhour.quantities.units import RATE_UNITS, UnitError

if TYPE_CHECKING:
    from rushhour.spec.vocabulary import Vocabulary

EXAMPLE = '"goodput of tcp1 > 1mbit"'
_KEYS = {">": "above", "<": "below", ">=": "min", "≥": "min", "<=": "max", "≤": "max"} | dict.fromkeys(
    ("=", "=="), "equals"
)
_NUMBER = r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*([^\s\d±+]*)"
_GRAMMAR = re.compile(
    rf"\s*(\w+)(?:\s+of\s+(\S.*?))?\s*(>=|<=|==|[≥≤><=])\s*{_NUMBER}(?:\s*(?:±|\+-|\+/-)\s*{_NUMBER})?\s*"
)
_LONGEST = 400
# By how its name ends; the vocabulary knows better.
_UNITS = {"bps": "bit/s", "us": "µs", "s": "s", "bytes": "B", "pct": "%"}


def table_of(text: str, words: Vocabulary | None = None) -> dict[str, Any]:
    """The keys of an `[[expect]]` table that a text means.

    Raises:
        UnitError: it is no expectation, or its value is of another kind than the metric.
    """
    match = _GRAMMAR.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        raise UnitError(f"is no expectation: write METRIC [of SCOPE] and >, >=, <, <= or =, as in {EXAMPLE}")
    name, scope, operator, number, unit, tolerance, its_unit = match.groups()
    metric, its = metric_named(name, words)
    table: dict[str, Any] = {"metric": metric, _KEYS[operator]: _value(number, unit, metric, its)}
    if scope is not None:
        table["scope"] = scope
    if tolerance is not None:
        table["tolerance"] = (
            _tidy(abs(table.get("equals", 0.0)) * float(tolerance) / 100)
            if its_unit == "%" and its != "%"
            else _value(tolerance, its_unit or unit, metric, its)
        )
    return table


def metric_named(name: str, words: Vocabulary | None) -> tuple[str, str]:
    """The metric's whole name, where its unit may have been left out, and its unit.

    Raises:
        UnitError: there is none, or several.
    """
    if words is None:
        return name, _UNITS.get(name.rpartition("_")[2], "1")
    known = words.metrics
    if name in known:
        return name, known[name].unit
    meant = [f"{name}_{suffix}" for suffix in _UNITS if f"{name}_{suffix}" in known]
    if len(meant) == 1:
        return meant[0], known[meant[0]].unit
    near = meant or [one for one in known if one.startswith(f"{name}_")] or get_close_matches(name, known, 3)
    hint = f"; there are {', '.join(near[:8])}" if near else ""
    raise UnitError(f'there is no metric "{name}"{hint}; docs/metrics.md has all')


def _value(number: str, unit: str, metric: str, to: str) -> float:
    if not unit:
        return float(number)
    bits = RATE_UNITS.get(unit.lower())
    try:
        value = convert(float(number) * (bits or 1), "bit/s" if bits else unit, to)
    except UnitError as error:
        raise UnitError(f"{error}, the unit of {metric}; it takes {', '.join(kin(to))}") from error
    return _tidy(value)


def _tidy(value: float) -> float:
    """Without the last digits, which conversion leaves: 95 % are 0.95."""
    return float(f"{value:.12g}")

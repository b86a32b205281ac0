"""What a scenario says of its cells, once factors have got their values.

Takes a document whose factors were fixed, by `--set` or because a cell was made of it, gives the document
whose expectations, judges and figures no longer name them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.quantities.factors import matches
from rushhour.spec.judge import filled
from rushhour.spec.model import flatten
from rushhour.spec.sweep import LABEL, SKIP, TOGETHER

if TYPE_CHECKING:
    from collections.abc import Mapping

ABOUT_CELLS = ("expect", "judge", "figure")
"""Tables that may hold for some cells only, by their `where`."""


def settle(document: Mapping[str, Any], fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Give the document with what holds for these values; what is about other cells is left out.

    A figure whose axis is fixed has nothing to compare and is left out too.
    """
    settled = dict(document)
    if isinstance(document.get("guards"), str):
        settled["guards"] = filled(document["guards"], fixed)
    for key in ABOUT_CELLS:
        tables = document.get(key)
        if isinstance(tables, list | tuple) and all(isinstance(table, dict) for table in tables):
            settled[key] = [kept for table in tables if (kept := _settled(table, fixed)) is not None]
    return settled


def fix_factor(document: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """Give the document in which a key varies no longer, because it was given this value."""
    sweep = document.get("sweep")
    if not isinstance(sweep, dict):
        return document
    left = _without(sweep, key)
    tables = left.get(TOGETHER, [])
    if isinstance(tables, list):
        coupled = [_without(table, key) if isinstance(table, dict) else table for table in tables]
        left |= {TOGETHER: [table for table in coupled if not _names_only(table)]} if TOGETHER in left else {}
    fixed = key in _factors(sweep)
    if fixed and isinstance(left.get(SKIP), list):
        left[SKIP] = [kept for entry in left[SKIP] if (kept := _still_skipped(entry, key, value))]
    gone = {key: value} | dict.fromkeys(_factors(sweep) - _factors(left) - {key})
    quick = document.get("quick")
    if fixed and isinstance(quick, dict):
        # Nothing is left to choose from.
        chosen = {
            name: of for name, of in flatten(quick).items() if name not in gone or not isinstance(of, list)
        }
        document = document | {"quick": chosen}
    # What was no factor is no condition of an expectation or figure either.
    return settle(document | {"sweep": left}, gone if fixed else {})


def _settled(table: Mapping[str, Any], fixed: Mapping[str, Any]) -> dict[str, Any] | None:
    where = table.get("where")
    where = where if isinstance(where, dict) else {}
    known = {key: wanted for key, wanted in where.items() if key in fixed}
    axes = [table.get("x"), table.get("y") if table.get("kind") == "matrix" else None]
    if not matches(known, fixed) or any(isinstance(axis, str) and axis in fixed for axis in axes):
        return None
    left = dict(table)
    if known:
        left["where"] = {key: wanted for key, wanted in where.items() if key not in fixed}
    for key in ("lines", "panels"):
        if isinstance(table.get(key), list | tuple):
            left[key] = [factor for factor in table[key] if factor not in fixed]
    return left


def _still_skipped(entry: Any, key: str, value: Any) -> Any:
    """What an entry of `skip` leaves out once a factor is fixed; nothing where that has another value."""
    if not isinstance(entry, dict):
        return entry
    flat = flatten(entry)
    if key in flat and not matches({key: flat[key]}, {key: value}):
        return None
    return {name: wanted for name, wanted in flat.items() if name != key}


def _factors(sweep: Mapping[str, Any]) -> set[str]:
    """Keys of the factors of a sweep that may not be well formed."""
    tables = sweep.get(TOGETHER, [])
    coupled = [table for table in tables if isinstance(table, dict)] if isinstance(tables, list) else []
    single = {key: value for key, value in sweep.items() if key not in (TOGETHER, SKIP)}
    return {key for table in (single, *coupled) for key in flatten(table)}


def _names_only(table: Any) -> bool:
    """Whether nothing is left in coupled factors that sets anything."""
    return isinstance(table, dict) and all(key.startswith(LABEL) for key in flatten(table))


def _without(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Give a table without a dotted key, quoted or as nested tables."""
    left: dict[str, Any] = {}
    for name, value in table.items():
        if name == key:
            continue
        inner = key.removeprefix(f"{name}.") if key.startswith(f"{name}.") else None
        left[name] = _without(value, inner) if inner and isinstance(value, dict) else value
    return left

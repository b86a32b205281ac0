"""What a scenario says of its cells, once factors have got their values.

Takes a document whose factors were fixed, by `--set` or because a cell was made of it, gives the document
whose expectations and figures no longer name them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def settle(document: Mapping[str, Any], fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Give the document with what holds for these values; what is about other cells is left out.

    A figure whose axis is fixed has nothing to compare and is left out too.
    """
    settled = dict(document)
    for key in ("expect", "figure"):
        tables = document.get(key)
        if isinstance(tables, list | tuple) and all(isinstance(table, dict) for table in tables):
            settled[key] = [kept for table in tables if (kept := _settled(table, fixed)) is not None]
    return settled


def matches(where: Mapping[str, Any], factors: Mapping[str, Any]) -> bool:
    """Whether a cell is one of those that `where` names: a value or a list of values for each factor."""
    return all(key in factors and _is(factors[key], wanted) for key, wanted in where.items())


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


def _is(value: Any, wanted: Any) -> bool:
    choices = wanted if isinstance(wanted, list | tuple) else [wanted]
    # A value of `--set` may be a number where the file has a text.
    return any(value == choice or str(value) == str(choice) for choice in choices)

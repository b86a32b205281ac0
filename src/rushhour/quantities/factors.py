"""Values of factors: one spelling may be a text, another a number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def matches(where: Mapping[str, Any], factors: Mapping[str, object]) -> bool:
    """Whether a cell is one of those that `where` names: a value or a list of values for each factor."""
    return all(key in factors and _is(factors[key], wanted) for key, wanted in where.items())


def named(asked: str | Sequence[str] | None) -> tuple[str, ...]:
    """The names that a key gives: one, several, or none."""
    return (asked,) if isinstance(asked, str) else tuple(asked or ())


def _is(value: object, wanted: object) -> bool:
    choices = wanted if isinstance(wanted, list | tuple) else [wanted]
    # A value of `--set` may be a number where the file has a text; a word of a command is always a text.
    return any(value == choice or bool(_texts(value) & _texts(choice)) for choice in choices)


def _texts(value: object) -> set[str]:
    """How a value may be written: a truth as TOML has it, too."""
    return {str(value), str(value).lower()} if isinstance(value, bool) else {str(value)}

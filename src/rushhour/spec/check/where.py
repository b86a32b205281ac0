"""Check of `where`: that the cells it names are there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rushhour.quantities.factors import matches
from rushhour.spec.check.problem import Problem
from rushhour.spec.keys import nearest
from rushhour.spec.toml import inline, plain_word

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def check_where(where: Mapping[str, Any], values: Mapping[str, Sequence[Any]]) -> Iterator[Problem]:
    """Check that a `where` names factors of the sweep, each with a value or a list of values it has."""
    for key, wanted in where.items():
        path = ("where", key)
        if key not in values:
            yield Problem(path, f'"{key}" is no factor of the sweep', nearest(key, values))
            continue
        choices = wanted if isinstance(wanted, list) else [wanted]
        if not choices:
            yield Problem(path, "is an empty list: no cell is left", "name a value, or leave it out")
        for value in choices:
            if not any(matches({key: value}, {key: level}) for level in values[key]):
                near = nearest(plain_word(value), map(plain_word, values[key]))
                yield Problem(path, f"{inline(value)} is no value of the factor", near)

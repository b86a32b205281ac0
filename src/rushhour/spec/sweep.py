"""What varies: factors and their values.

[sweep]
cc = ["cubic", "reno"]                     every combination …
"topology.rtt" = ["10ms", "100ms"]

[[sweep.together]]                         … of factors that vary as one
"topology.rate" = ["10mbit", "100mbit"]
"topology.buffer" = ["50kB", "500kB"]
"label.path" = ["slow", "fast"]            … and a label that sets nothing, but names the cells

skip = [{cc = "reno", "topology.rtt" = "10ms"}]   in [sweep]: combinations that are left out
"""

from __future__ import annotations

import re
from functools import cached_property
from itertools import product
from math import isfinite, prod
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ConfigDict, RootModel, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from rushhour.quantities.factors import matches
from rushhour.spec.model import NAME, flatten
from rushhour.spec.toml import inline, plain_word, value_word

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_CELLS = 10_000
TOGETHER = "together"
SKIP = "skip"
LABEL = "label."
_LABEL_NAME = re.compile(NAME)
_LABEL_LENGTH = 80


def set_words(factors: Mapping[str, object]) -> list[str]:
    """What chooses a cell in a command: `--set KEY=VALUE` of each factor; labels are no keys."""
    given = (f"{key}={value_word(value)}" for key, value in factors.items() if not key.startswith(LABEL))
    return [word for one in given for word in ("--set", one)]


class Factor(NamedTuple):
    """Keys that vary as one (most often a single key), and a tuple of their values for each step."""

    keys: tuple[str, ...]
    steps: tuple[tuple[Any, ...], ...]


class Sweep(RootModel[dict[str, Any]]):
    """Factors by key, each with its list of values; under `together` the tables of coupled factors.

    Under `skip` stand the combinations that are left out: a value or a list of values for some factors.
    """

    model_config = ConfigDict(frozen=True)
    root: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        tables, skipped = value.get(TOGETHER, []), value.get(SKIP, [])
        flat = flatten({key: values for key, values in value.items() if key not in (TOGETHER, SKIP)})
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise PydanticCustomError("sweep", "together is written as [[sweep.together]] tables")
        coupled = [flatten(table) for table in tables]
        _check_values(flat, coupled)
        if not isinstance(skipped, list) or not all(isinstance(entry, dict) for entry in skipped):
            raise PydanticCustomError(
                "sweep", 'skip is a list of tables: skip = [{{cc = "dctcp", ecn = false}}]'
            )
        skip = [flatten(entry) for entry in skipped]
        _check_skip(skip, {key: values for table in (flat, *coupled) for key, values in table.items()})
        return flat | ({TOGETHER: coupled} if coupled else {}) | ({SKIP: skip} if skip else {})

    @model_validator(mode="after")
    def _not_empty(self) -> Sweep:
        if self.skip and next(self.combinations(), None) is None:
            _refuse(SKIP, "every combination is left out: nothing would run")
        return self

    @cached_property
    def factors(self) -> tuple[Factor, ...]:
        """All factors in the order of the file, the single ones first."""
        single = [
            Factor((key,), tuple((value,) for value in values))
            for key, values in self.root.items()
            if key not in (TOGETHER, SKIP)
        ]
        coupled = [
            Factor(tuple(table), tuple(zip(*table.values(), strict=True)))
            for table in self.root.get(TOGETHER, [])
        ]
        return (*single, *coupled)

    @cached_property
    def unsaid(self) -> frozenset[str]:
        """The keys that a label speaks for, so that they are left out of a cell's name."""
        return frozenset(key for factor in self.factors for key in _unsaid(factor))

    @property
    def values(self) -> dict[str, list[Any]]:
        """Every factor's key with its values, as they are written."""
        return {
            key: [step[column] for step in factor.steps]
            for factor in self.factors
            for column, key in enumerate(factor.keys)
        }

    @property
    def size(self) -> int:
        """Number of cells; 1 where nothing varies. Of too many also those are counted that are left out."""
        whole = prod(len(factor.steps) for factor in self.factors)
        if not self.skip or whole > MAX_CELLS:
            return whole
        return sum(1 for _ in self.combinations())

    def beside(self, first: Mapping[str, object], step: Mapping[str, object]) -> dict[str, object] | None:
        """A combination with the values of a step that is not left out; else as in `first` if that goes."""
        values = dict(first) | dict(step)
        if not any(matches(entry, values) for entry in self.skip):
            return values
        found = (
            cell for cell in self.combinations() if all(cell[key] == value for key, value in step.items())
        )
        return next(found, None)

    @property
    def skip(self) -> list[dict[str, Any]]:
        """The combinations that are left out."""
        return list(self.root.get(SKIP, []))

    def combinations(self) -> Iterator[dict[str, Any]]:
        """Every combination that is not left out as `{key: value}`, the last factor varying fastest."""
        factors, skip = self.factors, self.skip
        for steps in product(*(factor.steps for factor in factors)):
            pairs = zip(factors, steps, strict=True)
            values = {k: v for factor, step in pairs for k, v in zip(factor.keys, step, strict=True)}
            if not any(matches(entry, values) for entry in skip):
                yield values


def _unsaid(factor: Factor) -> list[str]:
    """The other keys of a factor whose labels tell all its steps apart."""
    labels = [place for place, key in enumerate(factor.keys) if key.startswith(LABEL)]
    if len({tuple(str(step[place]) for place in labels) for step in factor.steps}) < len(factor.steps):
        return []
    return [key for place, key in enumerate(factor.keys) if labels and place not in labels]


def _check_skip(skip: list[dict[str, Any]], values: dict[str, list[Any]]) -> None:
    """Refuse what names no combination of the sweep, and a sweep of which nothing is left."""
    for entry in skip:
        if not entry:
            _refuse(SKIP, "an entry names no factor: it would leave out every cell")
        for key, wanted in entry.items():
            if key not in values:
                _refuse(SKIP, f'"{key}" is no factor of the sweep; there are: {", ".join(values)}')
            choices = wanted if isinstance(wanted, list) else [wanted]
            unknown = [
                choice
                for choice in choices
                if not any(matches({key: [choice]}, {key: value}) for value in values[key])
            ]
            if unknown or not choices:
                shown = ", ".join(map(inline, unknown)) or "[]"
                known = ", ".join(map(plain_word, values[key][:40]))
                _refuse(SKIP, f'{shown} is no value of "{key}"; there are: {known}')


def _check_values(single: dict[str, Any], coupled: list[dict[str, Any]]) -> None:
    """Refuse what is no list of distinct values, and coupled lists of unequal length."""
    seen: set[str] = set()
    for table in (single, *coupled):
        for key, values in table.items():
            if not isinstance(values, list) or not values:
                _refuse(key, f'a factor is a list of values, for example "{key}" = [1, 2]')
            if key.startswith(LABEL):
                _check_label(key, values)
            if table is single and _has_twice(values):
                _refuse(key, "a value stands twice: its cells would be the same")
            if key in seen:
                _refuse(key, "varies twice: a key can be a factor once")
            seen.add(key)
    for table in coupled:
        lengths = {key: len(values) for key, values in table.items()}
        if len(set(lengths.values())) != 1:
            found = ", ".join(f"{key}: {length}" for key, length in lengths.items()) or "no factor"
            _refuse(
                next(iter(table), TOGETHER),
                f"factors that vary together have lists of one length; found {found}",
            )


def _has_twice(values: list[Any]) -> bool:
    """Whether values are equal, as `==` says: lists are no keys of a set, so they are compared one by one."""
    plain = [value for value in values if not isinstance(value, list | dict)]
    others = [value for value in values if isinstance(value, list | dict)][:MAX_CELLS]
    return len(set(plain)) < len(plain) or any(one in others[:index] for index, one in enumerate(others))


def _check_label(key: str, values: list[object]) -> None:
    """Refuse labels that could not stand in a table."""
    if _LABEL_NAME.match(key.removeprefix(LABEL)) is None:
        _refuse(key, 'a label has a name of letters, digits, ".", "_" and "-": "label.over-subscription"')
    for value in values:
        text = isinstance(value, str) and value.isprintable() and 0 < len(value) <= _LABEL_LENGTH
        number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
        if not text and not number:
            _refuse(key, f"a label is a number or a text of at most {_LABEL_LENGTH} letters; found {value!r}")


def _refuse(key: str, message: str) -> None:
    raise PydanticCustomError("factor", "{message}", {"message": message, "factor": key})


def known_sweep(written: Mapping[str, object]) -> Sweep:
    """The sweep that a record or a set keeps; an empty one (every factor is said) if it makes no sense."""
    try:
        return Sweep.model_validate(written)
    except ValidationError:
        return Sweep()

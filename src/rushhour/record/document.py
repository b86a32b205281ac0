"""Documents of a record, typed: a class says what a document holds; `read` gives one or says what is wrong.

A document is the JSON object as it was written, with what is known of it as attributes:

    class Cell(Document):
        index: int = 0                       # missing or null: 0
        factors: Mapping[str, object] = EMPTY

Keys that the class does not name stay in the object. A field without a value in the class has to be there.
A key that is a word of Python has an underscore behind its name in the class (`from_`), one with a hyphen has
two underscores in its place (`rx__max`). What readers may meet is judged once, here, so that none of them has
to ask.

pydantic would do the same at the same speed (180 manifests in 7 ms), but its import takes 50 ms, more than
reading a record does.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from functools import cache
from inspect import get_annotations
from math import isfinite
from typing import Any, Final, NewType, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from rushhour.errors import RecordError

__all__ = ["EMPTY", "Amount", "Count", "Document", "Exact", "read", "write"]

Count = NewType("Count", int)
"""A whole number of at least 0 that has room in 63 bits."""
Exact = NewType("Exact", int)
"""A whole number of 64 bits with its sign, also where it is written with a point (`1e9`)."""
Amount = NewType("Amount", float)
"""A number of at least 0."""

EMPTY: Final[Mapping[str, Any]] = types.MappingProxyType({})
_LARGEST = 1 << 64
_SHOWN = 60
_Reader = Callable[[Any], object]


class Document(dict[str, Any]):
    """A JSON object with attributes. They cannot be set; make one with `read`."""

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: a document is what was read."""
        raise AttributeError(f"{type(self).__name__}.{name} cannot be set: documents are what was read")


D = TypeVar("D", bound=Document)


class _FaultError(Exception):
    # Keys from the innermost to the outermost.
    def __init__(self, value: object, wanted: str) -> None:
        super().__init__(wanted)
        self.value, self.wanted = value, wanted
        self.keys: list[str] = []


def read(kind: type[D], value: object, where: str, hint: str | None = None, key: str = "") -> D:
    """The document of this kind that a JSON value is; `key` is its place in a larger one.

    Raises:
        RecordError: names the key, what was found there, and what is expected.
    """
    try:
        made = _reader(kind)(value)
    except _FaultError as fault:
        place = ".".join([*([key] if key else []), *reversed(fault.keys)])
        raise _error(place, fault, where, hint) from None
    assert isinstance(made, kind)
    return made


def write(kind: type[D], /, **fields: object) -> D:
    """A document of this kind from its values, as it will be read; tuples become lists.

    Raises:
        TypeError: the class does not name a key: who reads it would not know of it.
        RecordError: a value is not what the class says.
    """
    known = {name for one in kind.__mro__ for name in get_annotations(one)}
    if unknown := fields.keys() - known:
        raise TypeError(f"{kind.__name__} has no {', '.join(sorted(unknown))}")
    value = {_key(name): list(one) if isinstance(one, tuple) else one for name, one in fields.items()}
    return read(kind, value, kind.__name__)


def _key(name: str) -> str:
    """The key of a field."""
    return name.removesuffix("_").replace("__", "-")


def _error(key: str, fault: _FaultError, where: str, hint: str | None) -> RecordError:
    try:
        shown = ascii(fault.value)[:_SHOWN]
    except ValueError:  # a whole number of thousands of digits
        shown = "a number beyond all bounds"
    return RecordError(
        f"{key[:200] or 'the document'} is {shown}; expected {fault.wanted}", where=where, hint=hint
    )


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise _FaultError(value, "a text")


def _whole(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST:
        return value
    raise _FaultError(value, "a whole number")


def _number(value: object) -> float:
    if isinstance(value, float) and isfinite(value):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST:
        return value
    raise _FaultError(value, "a number")


def _count(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63:
        return value
    raise _FaultError(value, "a whole number of at least 0")


def _exact(value: object) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63:
        return value
    raise _FaultError(value, "a whole number of 64 bits or null")


def _amount(value: object) -> float:
    number = _number(value)
    if number < 0:
        raise _FaultError(value, "a number of at least 0")
    return number


def _truth(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise _FaultError(value, "true or false")


def _anything(value: object) -> object:
    return value


_PLAIN: Mapping[object, _Reader] = {
    str: _text, int: _whole, float: _number, bool: _truth, object: _anything, Any: _anything,
    Count: _count, Exact: _exact, Amount: _amount,
}  # fmt: skip


@cache
def _reader(kind: Any) -> _Reader:
    if kind in _PLAIN:
        return _PLAIN[kind]
    if isinstance(kind, type) and issubclass(kind, Document):
        return _document(kind)
    of = [one for one in get_args(kind) if one not in (type(None), ...)]
    if get_origin(kind) in (Union, types.UnionType) and len(of) == 1:
        return _optional(_reader(of[0]))
    if get_origin(kind) is tuple:
        return _list(_reader(of[0]))
    if get_origin(kind) is Mapping:
        return _table(_reader(of[1]))
    raise TypeError(f"a document cannot hold {kind}")


def _has_value(kind: type[Document], name: str) -> bool:
    """Whether the class that says last what a field is gives it a value, too."""
    said = next(one for one in kind.__mro__ if name in get_annotations(one))
    return name in said.__dict__


def _missing() -> NoReturn:
    raise _FaultError(None, "something")


def _optional(one: _Reader) -> _Reader:
    """Of what stands in a list or a table; a field that is null is not read at all."""

    def reader(value: object) -> object:
        return None if value is None else one(value)

    return reader


def _list(one: _Reader) -> _Reader:
    def reader(value: object) -> object:
        if not isinstance(value, list):
            raise _FaultError(value, "a list")
        made: list[object] = []
        try:
            for item in value:
                made.append(one(item))  # noqa: PERF401 - its length tells which item is wrong
        except _FaultError as fault:
            fault.keys.append(str(len(made)))
            raise
        return tuple(made)

    return reader


def _table(one: _Reader) -> _Reader:
    def reader(value: object) -> object:
        if not isinstance(value, dict):
            raise _FaultError(value, "a table")
        if one is _anything:
            return value
        made: dict[str, object] = {}
        name = ""
        try:
            for name, item in value.items():
                made[name] = one(item)
        except _FaultError as fault:
            fault.keys.append(name)
            raise
        return made

    return reader


def _document(kind: type[Document]) -> _Reader:
    hints = get_type_hints(kind)
    # A class's own fields before those of its base.
    names = dict.fromkeys(name for one in kind.__mro__ for name in get_annotations(one))
    fields = [(_key(name), name, _reader(hints[name]), _has_value(kind, name)) for name in names]

    def reader(value: object) -> object:
        if type(value) is kind:  # read before; nobody changes it
            return value
        if not isinstance(value, dict):
            raise _FaultError(value, "a table")
        made = kind(value)
        attributes = made.__dict__
        key = ""
        try:
            for key, name, one, optional in fields:
                item = value.get(key)
                if one is _text and type(item) is str:  # most are, and a call costs more than this
                    attributes[name] = item
                elif item is not None:
                    attributes[name] = one(item)
                elif not optional:
                    _missing()
        except _FaultError as fault:
            fault.keys.append(key)
            raise
        return made

    return reader

"""Shapes of documents: what a value must be before anybody relies on it.

A shape is a type of this module (`TEXT`, `WHOLE`, `NUMBER`, `TRUTH`, `ANY`), `[shape]` for a list,
`Each(shape)` for a table with any keys, or a dict for a table with these keys among others. A key may be
missing or null, unless its shape is `Needed`. What readers of records may meet is judged once, here, so that
none of them has to ask.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from rushhour.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Callable

    Shape = Any

_LARGEST = 1 << 64
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Each:
    """A table whose values all have one shape."""

    of: Shape


@dataclass(frozen=True, slots=True)
class Needed:
    """What must be there."""

    of: Shape


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST


def _is_number(value: object) -> bool:
    return _is_whole(value) or (isinstance(value, float) and isfinite(value))


TEXT, WHOLE, NUMBER, TRUTH, ANY = "a text", "a whole number", "a number", "true or false", "anything"

_KINDS: dict[str, Callable[[object], bool]] = {
    TEXT: lambda value: isinstance(value, str),
    WHOLE: _is_whole,
    NUMBER: _is_number,
    TRUTH: lambda value: isinstance(value, bool),
    ANY: lambda _: True,
}


def check(value: object, shape: Shape, where: str, key: str = "", hint: str | None = None) -> None:
    """Refuse a value of another shape.

    Raises:
        RecordError: names the key, what was found there, and what is expected.
    """
    if isinstance(shape, Needed):
        shape = shape.of
    if isinstance(shape, str):
        if not _KINDS[shape](value):
            raise _fault(value, shape, where, key, hint)
    elif isinstance(shape, list):
        if not isinstance(value, list):
            raise _fault(value, "a list", where, key, hint)
        for number, item in enumerate(value):
            check(item, shape[0], where, f"{key}.{number}", hint)
    elif not isinstance(value, dict):
        raise _fault(value, "a table", where, key, hint)
    elif isinstance(shape, Each):
        for name, item in value.items():
            check(item, shape.of, where, f"{key}.{name}", hint)
    else:
        _check_table(value, shape, where, key, hint)


def _check_table(
    value: dict[str, Any], shape: dict[str, Shape], where: str, key: str, hint: str | None
) -> None:
    for name, inner in shape.items():
        found = value.get(name)
        if found is not None:
            check(found, inner, where, f"{key}.{name}".lstrip("."), hint)
        elif isinstance(inner, Needed):
            raise _fault(found, "something", where, f"{key}.{name}".lstrip("."), hint)


def _fault(value: object, wanted: str, where: str, key: str, hint: str | None) -> RecordError:
    try:
        shown = ascii(value)[:_SHOWN]
    except ValueError:  # a whole number of thousands of digits
        shown = "a number beyond all bounds"
    return RecordError(f"{key[:200] or 'the document'} is {shown}; expected {wanted}", where=where, hint=hint)


# Documents of a record and of a set, as far as anybody reads them (docs/record-format.md).

_END = {"node": Needed(TEXT), "dev": TEXT, "qdiscs": [TEXT], "filters": [TEXT], "end": WHOLE}
_PROBE = {"from": Needed(TEXT), "to": Needed(TEXT), "src": TEXT, "dst": TEXT, "size": WHOLE, "packets": WHOLE}

PLAN: Shape = {
    "nodes": [{"name": Needed(TEXT), "forward": TRUTH, "drop_input": NUMBER, "sysctl": [[TEXT]]}],
    "links": [{"name": TEXT, "ends": Needed([_END])}],
    "ingress": [_END], "egress": [{"end": WHOLE}], "devices": [{"node": Needed(TEXT)}],
    "flows": [
        {
            "id": Needed(WHOLE), "from": TEXT, "to": TEXT, "cc": TEXT, "kind": TEXT, "interval_ns": WHOLE,
            "response_bytes": WHOLE, "request_bytes": WHOLE, "bytes": WHOLE, "rate_bps": NUMBER,
            "packet_bytes": WHOLE, "count": WHOLE, "rcvbuf": NUMBER, "sndbuf": NUMBER, "pacing_bps": NUMBER,
            "read_bps": NUMBER, "message_bytes": NUMBER,
        }
    ],
    "changes": [{"t_ns": Needed(WHOLE), "end": Needed(WHOLE), "value": Needed(NUMBER)}],
    "calibration": {"paths": [_PROBE], "trains": [_PROBE]},
}  # fmt: skip

_MACHINE = {
    "sampling_error_ns": Each(NUMBER), "cpus": WHOLE, "cpu_share": Each(NUMBER), "steal": NUMBER,
    "others": [{"name": Needed(TEXT), "cpu": Needed(WHOLE), "share": Needed(NUMBER)}],
    "line": [
        {
            "end": Needed(WHOLE), "packets": WHOLE, "lost": WHOLE, "missed": Needed(WHOLE),
            "refused": Needed(WHOLE), "lateness_ns": Needed({"p99": Needed(NUMBER)}),
        }
    ],
}  # fmt: skip

RESULT: Shape = {
    "flows": [{"id": Needed(WHOLE)}],
    "kernel": {"release": TEXT, "version": TEXT, "congestion_controls": [TEXT]},
    "calibration": {
        "pings": [{"path": Needed(WHOLE), "rtt_ns": Needed([NUMBER])}],
        "trains": [{"train": Needed(WHOLE), "sent": WHOLE, "arrivals_ns": Needed([NUMBER])}],
        "qdiscs": [
            {"end": Needed(WHOLE), "kind": Needed(TEXT), "options": TEXT, "handle": WHOLE, "parent": WHOLE}
        ],
    },
    "counters": Each(Each(WHOLE)),
    "inputs": [{"node": Needed(TEXT), "packets": Needed(WHOLE), "dropped": Needed(WHOLE)}],
    "lost_events": Each(WHOLE),
    "warnings": [TEXT],
    "machine": Each(_MACHINE),
    "loads": [{"name": TEXT, "node": TEXT, "kind": TEXT, "report": {}}],
}

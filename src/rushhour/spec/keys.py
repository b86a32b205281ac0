"""Keys of a scenario as a person types them: `topology.rate`, `flow.short.start`, `sysctl.net.ipv4.tcp_sack`.

Takes a scenario's document (parsed TOML) and puts values at keys; the same syntax serves factors and `--set`.

    KEY of the top level, topology.KEY, readings.KEY, sysctl.NAME,
    flow.FLOW.KEY, flow.*.KEY (all flows), cc (short for the cc of all flows that have one),
    flow.FLOW.arrivals.KEY, flow.FLOW.size.KEY, flow.FLOW.on.KEY, flow.FLOW.off.KEY,
    link.LINK.KEY, link.LINK.forward.KEY, link.LINK.bond.KEY, link.*.KEY, node.NODE.sysctl.NAME,
    pattern.PATTERN.KEY, pattern.PATTERN.sine.KEY, load.LOAD.KEY,
    program.PROGRAM.KEY, program.PROGRAM.environment.NAME,
    label.NAME (a factor alone: sets nothing, names the cells),
    topology.class.CLASS.KEY, topology.police.KEY (and of links and their directions likewise)
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from rushhour.spec.arrivals import Arrivals, SizeLaw, TimeLaw
from rushhour.spec.control import Class, Police
from rushhour.spec.loads import Load
from rushhour.spec.model import flatten
from rushhour.spec.pattern import SHAPES, Pattern
from rushhour.spec.programs import Program
from rushhour.spec.scenario import Readings, Scenario
from rushhour.spec.sweep import LABEL
from rushhour.spec.topology import Bond, Direction, Link, Node, Topology
from rushhour.spec.workload import Flow
from rushhour.traffic.kinds import KINDS, KINDS_OF_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rushhour.spec.model import Model

_TABLES = {
    *(
        "topology",
        "readings",
        "sysctl",
        "flow",
        "link",
        "node",
        "pattern",
        "load",
        "trace",
        "program",
        "file",
    ),
    *("source", "sweep", "quick", "expect", "judge", "figure"),
}
_NAMED: dict[str, type[Model]] = {
    "flow": Flow,
    "link": Link,
    "node": Node,
    "pattern": Pattern,
    "load": Load,
    "program": Program,
}
# Tables within a flow, a link, a pattern: kind → key → what it holds.
_WITHIN: dict[str, dict[str, type[Model]]] = {
    "flow": {"arrivals": Arrivals, "size": SizeLaw, "on": TimeLaw, "off": TimeLaw},
    "link": {"forward": Direction, "reverse": Direction, "bond": Bond},
    "pattern": SHAPES,
}


class UnknownKeyError(ValueError):
    """A key that does not exist; `hint` names those that do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def fields(model: type[Model]) -> list[str]:
    """Names of a model's keys as they are written in a file."""
    return [field.alias or name for name, field in model.model_fields.items()]


def nearest(word: str, allowed: Iterable[str], said: str = "allowed") -> str:
    """`did you mean "x"? ` where something is near, then the allowed words, or what they are said to be."""
    words = [str(item) for item in allowed]
    near = get_close_matches(word, words, n=1, cutoff=0.6)
    guess = f'did you mean "{near[0]}"? ' if near else ""
    shown = ", ".join(words[:40]) + (", …" if len(words) > 40 else "")
    return f"{guess}{said}: {shown}" if shown else f"{guess}there is none"


def copied(value: object) -> object:
    """A document of its own: what it holds besides tables and arrays cannot change."""
    if isinstance(value, dict):
        return {key: copied(one) for key, one in value.items()}
    if isinstance(value, list):
        return [copied(one) for one in value]
    return value


def put(document: Mapping[str, object], values: Mapping[str, object]) -> dict[str, object]:
    """Give a copy of the document with each value at its key.

    Raises:
        UnknownKeyError: a key leads nowhere.
    """
    result = {key: copied(value) for key, value in document.items()}
    for key, value in values.items():
        _put(result, key, value)
    return result


def _put(document: dict[str, object], key: str, value: object) -> None:
    head, _, rest = key.partition(".")
    if key.startswith(LABEL):
        return  # it names the cell and is nothing of the experiment
    top = [name for name in fields(Scenario) if name not in _TABLES]
    if head == "cc" and not rest:
        _put_named(document, "flow.*.cc", value)
    elif not rest and head in top:
        document[head] = value
    elif rest and head == "topology":
        _put_field(_inner(document, head, key), rest, value, Topology, key)
    elif rest and head == "readings":
        _put_field(_inner(document, head, key), rest, value, Readings, key)
    elif rest and head == "sysctl":
        _put_sysctl(document, rest, value, key)
    elif rest and head in _NAMED:
        _put_named(document, key, value)
    else:
        raise UnknownKeyError(
            f'no key "{key}" in a scenario', nearest(key, [*top, "cc", *known_keys(document)])
        )


def _put_named(document: dict[str, object], key: str, value: object) -> None:
    """Put into the tables of flows, links or nodes that a key names."""
    kind, _, rest = key.partition(".")
    tables = {_name(kind, table, index): table for index, table in enumerate(_tables(document, kind))}
    # Names may hold dots: the longest that fits is meant.
    fitting = [name for name in tables if rest.startswith(f"{name}.")]
    name = "*" if rest.startswith("*.") else max(fitting, key=len, default=None)
    if name is None and kind == "node":
        name = rest.partition(".")[0]
        tables[name] = _new_table(document, kind, name)
    if name is None or not tables:
        raise UnknownKeyError(
            f'"{key}" names no {kind} of this scenario', nearest(rest.split(".", maxsplit=1)[0], tables)
        )
    field = rest[len(name) + 1 :]
    meant = list(tables.values()) if name == "*" else [tables[name]]
    if name == "*" and kind == "flow":
        # All flows means all that have such a key: a ping has no congestion control.
        kinds: tuple[str, ...] = KINDS_OF_KEY.get(field.partition(".")[0], KINDS)
        meant = [table for table in meant if table.get("kind", "tcp") in kinds]
        if not meant:
            raise UnknownKeyError(
                f"no flow of this scenario has a {field}", f"it belongs to {', '.join(kinds)}"
            )
    for table in meant:
        _put_table(table, field, value, kind, key)


def _put_table(table: dict[str, object], rest: str, value: object, kind: str, key: str) -> None:
    side, _, inner = rest.partition(".")
    if inner and side in _WITHIN.get(kind, {}):
        _put_field(_inner(table, side, key), inner, value, _WITHIN[kind][side], key)
    elif kind == "node" and side == "sysctl" and inner:
        _put_sysctl(table, inner, value, key)
    elif kind == "program" and side == "environment" and inner:
        _inner(table, side, key)[inner] = value
    else:
        _put_field(table, rest, value, _NAMED[kind], key)


def _put_field(table: dict[str, object], name: str, value: object, model: type[Model], key: str) -> None:
    allowed = [field for field in fields(model) if field != "name"]
    head, _, inner = name.partition(".")
    if inner and head == "police" and head in allowed:
        _put_field(_inner(table, head, key), inner, value, Police, key)
        return
    if inner and head == "class" and head in allowed:
        _put_class(table, inner, value, key)
        return
    if name not in allowed:
        raise UnknownKeyError(f'no key "{key}" in a scenario', nearest(name, allowed))
    table[name] = value


def _put_class(table: dict[str, object], name: str, value: object, key: str) -> None:
    """Put into the table of the class that `CLASS.KEY` names."""
    classes = {str(entry.get("name")): entry for entry in _tables(table, "class")}
    # Names may hold dots: the longest that fits is meant.
    which = max((known for known in classes if name.startswith(f"{known}.")), key=len, default=None)
    if which is None:
        hint = nearest(name.split(".", maxsplit=1)[0], classes)
        raise UnknownKeyError(f'"{key}" names no class of this scenario', hint)
    _put_field(classes[which], name[len(which) + 1 :], value, Class, key)


def _put_sysctl(table: dict[str, object], name: str, value: object, key: str) -> None:
    table["sysctl"] = flatten(_inner(table, "sysctl", key)) | {name: value}


def _inner(table: dict[str, object], name: str, key: str) -> dict[str, object]:
    """Give the table of a name within a table, made where it is missing."""
    inner = table.setdefault(name, {})
    if not isinstance(inner, dict):
        raise UnknownKeyError(f'no key "{key}" in this scenario', f"{name} is not a table")
    return inner


def _tables(document: dict[str, object], kind: str) -> list[dict[str, object]]:
    tables = document.get(kind, [])
    return [table for table in tables if isinstance(table, dict)] if isinstance(tables, list | tuple) else []


def _new_table(document: dict[str, object], kind: str, name: str) -> dict[str, object]:
    """Add a table for a node that had none to say; whether there is such a node, the checks say."""
    table: dict[str, object] = {"name": name}
    document[kind] = [*_tables(document, kind), table]
    return table


def _name(kind: str, table: dict[str, object], index: int) -> str:
    between = table.get("between")
    if kind == "link" and "name" not in table and isinstance(between, list | tuple):
        return "-".join(str(node) for node in between)
    called = {"pattern": table.get("key", index), "load": table.get("kind", "cpu")}.get(kind, index)
    return str(table.get("name", called))


def known_keys(document: dict[str, object]) -> list[str]:
    """Keys with a table in front that this document's topology and flows offer, for suggestions."""
    keys = [f"topology.{name}" for name in fields(Topology)]
    for kind, model in _NAMED.items():
        for index, table in enumerate(_tables(document, kind)[:20]):
            keys += [f"{kind}.{_name(kind, table, index)}.{name}" for name in fields(model) if name != "name"]
    return keys

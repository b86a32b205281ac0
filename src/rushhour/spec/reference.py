"""The scenario reference and the JSON Schema, both rendered from the models so that neither can lag behind.

Takes nothing, gives text; `docs/generate.py` writes it to its files, a test checks that they are current.
"""

from __future__ import annotations

import inspect
import json
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

from pydantic_core import PydanticUndefined

from rushhour.quantities import units
from rushhour.quantities.measures import Tolerance
from rushhour.spec.check.experiment import MAX_SAMPLES
from rushhour.spec.explain import MODELS
from rushhour.spec.notes import NOTES
from rushhour.spec.pattern import SHAPES
from rushhour.spec.scenario import Scenario
from rushhour.spec.sweep import MAX_CELLS, Sweep
from rushhour.spec.topology import MAX_NODES, PRESET_KEYS, Direction, Link, Topology
from rushhour.spec.workload import MAX_FLOWS, Flow
from rushhour.traffic.kinds import KINDS_OF_KEY

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from pydantic.fields import FieldInfo

    from rushhour.spec.model import Model

_UNITS = (units.Rate, units.Duration, units.Size, units.Buffer, units.Probability, units.Frequency)
_TITLES: dict[tuple[str, ...], str] = {
    (): "The top level",
    ("topology",): "`[topology]`: a preset",
    ("node",): "`[[node]]`: a node of a free graph",
    ("link",): "`[[link]]`: a link of a free graph",
    ("link", "bond"): "`bond`: parallel cables as one link",
    ("link", "class"): "`[[topology.class]]`, `[[link.class]]`: classes that divide a rate",
    ("link", "class", "then"): "`then` of a class: what becomes of it while packets pass",
    ("link", "police"): "`[topology.police]`, `[link.police]`: a policer",
    ("flow",): "`[[flow]]`: a conversation",
    ("flow", "arrivals"): "`arrivals` of a flow: many short ones",
    ("flow", "size"): "`size` of arriving flows: a law",
    ("flow", "on"): "`on` and `off`: a law of times",
    ("pattern",): "`[[pattern]]`: what changes over time",
    **{("pattern", shape): f"`pattern.{shape}`" for shape in SHAPES},
    ("load",): "`[[load]]`: what else a computer does",
    ("program",): "`[[program]]`: a program on a node",
    ("readings",): "`[readings]`: what is recorded",
    ("expect",): "`[[expect]]`: what must hold",
    ("judge",): "`[[judge]]`: what decides a comparison",
    ("figure",): "`[[figure]]`: a figure that compares cells",
    ("source",): "`[source]`: where a catalogue scenario comes from",
}

_INTRO = """\
# The scenario file

*Rendered from the models that read the file by `docs/generate.py`; do not edit.*

One question in TOML. Editors take the [JSON Schema](../schema/scenario.schema.json) by
`#:schema ./scenario.schema.json` on the first line. A whole scenario:

```toml
duration = "30s"

[topology]
preset = "dumbbell"
rate = "100mbit"
rtt = "20ms"

[[flow]]
cc = "cubic"
```

All faults (unknown keys, units, references, contradictions) are reported at once, each with its line. In the
tables `= VALUE` is a key's default.
"""

_UNITS_INTRO = """\
## Units

Numbers that measure something are texts with a unit. Bare numbers are refused, and words that mean one thing
in tc and another elsewhere (`100mbps`, `64kb`, `10m`).

| type | for example | units |
|---|---|---|
"""

_SWEEP = """\
## `[sweep]`: what varies

Any key can be a factor: a list of values. The cells are all combinations, the last factor varying fastest.
Factors in one `[[sweep.together]]` table have lists of one length and vary as one.

```toml
[sweep]
cc = ["cubic", "reno", "bbr"]
"topology.rtt" = ["10ms", "100ms"]

[[sweep.together]]
"topology.rate" = ["10mbit", "100mbit"]
"topology.buffer" = ["50kB", "500kB"]
```

Keys, as `--set KEY=VALUE` takes them:

| key | is |
|---|---|
| `duration`, `seed`, … | a key of the top level |
| `topology.KEY`, `readings.KEY` | a key of that table |
| `sysctl.NAME`, `node.NODE.sysctl.NAME` | a sysctl of all nodes (`sysctl.net.ipv4.tcp_sack`), of one |
| `flow.FLOW.KEY`, `flow.*.KEY` | a key of a flow (`flow.short.start`), of all flows whose kind has it |
| `flow.FLOW.arrivals.KEY`, `.size.KEY`, `.on.KEY`, `.off.KEY` | a key of that table of a flow |
| `cc` | short for `flow.*.cc` |
| `link.LINK.KEY`, `link.*.KEY` | a key of a link, of all links |
| `link.LINK.bond.KEY`, `.forward.KEY`, `.reverse.KEY` | of its bond, of one direction |
| `pattern.PATTERN.KEY`, `pattern.PATTERN.sine.KEY` | a key of a pattern, of what it follows |
| `load.LOAD.KEY` | a key of a load |
| `program.PROGRAM.KEY`, `program.PROGRAM.environment.NAME` | a key of a program |
| `label.NAME` | nothing: a number or text that names the cells in tables, figures and `where` |

A factor that `--set` gives a value varies no longer. `skip` leaves out combinations that make no sense:
each entry names a value, or a list of values, for some factors. Contradictions that remain are all named.

```toml
skip = [{ cc = "dctcp", ecn = false }, { cc = ["reno", "vegas"], "topology.rtt" = "100ms" }]
```

A label says what a step means where its keys do not:

```toml
[[sweep.together]]
"label.over-subscription" = [0.8, 1.2, 2.0]
"flow.*.rate" = ["40mbit", "60mbit", "100mbit"]
```
"""

_QUICK = """\
## `[quick]`: what `--quick` changes

A quick look keeps the first, the middle and the last value of each factor and one run of each cell, and lasts
ten seconds at most where nothing has a schedule and no program ends it. `[quick]` may say otherwise: a list
for a factor are its values (of coupled factors the list of one chooses the steps of all), all else is as
`--set KEY=VALUE`. Expectations are left out where more than values of factors changes; published numbers are
not compared.

```toml
[quick]
duration = "5s"
cc = ["cubic", "bbr"]
```
"""

_PATTERNS = """\
A pattern changes one key of a link while packets pass, by `steps`, `sine`, `square`, `ramp`, `walk` or
`trace`:

```toml
[[pattern]]
key = "rate"
direction = "forward"
steps = [["0s", "100mbit"], ["5s", "20mbit"], ["15s", "100mbit"]]

[[pattern]]
key = "delay"
sine = { mean = "20ms", amplitude = "10ms", period = "10s" }

[[pattern]]
key = "loss"
trace = "measured.csv"           # time_s,loss_%
at_end = "repeat"
```

What waits in a queue stays there. A rate changes at the shaper (htb unless the scenario says tbf): a frame
that has begun to leave is done at its old rate. `0bit` is an outage of at most a minute: a last frame leaves,
then nothing until the next instant. Delay, jitter and loss hold for packets that come to the wire from then
on; none overtakes unless `reorder` says so, so after a step down the first ones wait for the last of the
longer way. The link is calibrated as at the start. At most 20000 changes a pattern, 1 ms or more apart.

"""

_GRAPHS = """\
## Presets

```
dumbbell   s1 ─┐                   ┌─ r1     pairs; flow k goes from s(k) to r(k)
           s2 ─┴─ left ══ right ───┴─ r2

chain      s0 ── n1 ══ n2 ══ n3 ── r0        hops; s0 → r0 crosses all of them (parking lot),
                 │s1  s2│r1  │r2             s(k) → r(k) enters at n(k) and leaves at n(k+1)

star       s1 ─┐                             leaves; all of them send to r1 (incast)
           s2 ─┴─ hub ══ r1
```

The keys of `[topology]` describe the common links (`══`). A flow without `from` and `to` takes the next pair
in turn, copy after copy; one with either takes the partner for the other (`from = "r1"` in a star: the leaves
in turn). `[[node]]` tables may give a preset's nodes settings. A free graph is drawn with `[[link]]` tables;
nodes named there need no table.
"""


_DIRECTION = "## A direction: keys of `[topology]` and `[[link]]`\n\n"
_OF_DIRECTION = "[a direction](#a-direction-keys-of-topology-and-link)"


def schema() -> str:
    """Give the JSON Schema of a scenario file as text."""
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Scenario.model_json_schema(by_alias=True),
        "title": "Rush Hour scenario",
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def reference() -> str:
    """Give the scenario reference as Markdown."""
    sections = [_INTRO, _UNITS_INTRO + "".join(_unit_row(unit) for unit in _UNITS)]
    for path, title in _TITLES.items():
        if path == ("topology",):
            sections.append(_GRAPHS)
        sections.append(f"## {title}\n\n{_note(path)}{_table(MODELS[path])}")
        if path == ("link",):
            sections.append(_DIRECTION + _rows(Direction, _shared()))
    limits = f"""\
At most {MAX_FLOWS} flows with all their copies, {MAX_NODES} nodes, {MAX_CELLS} cells, {MAX_SAMPLES} samples,
1 MiB of file."""
    return "\n".join([*sections, _SWEEP, _QUICK, f"## Limits\n\n{limits}\n"])


def _unit_row(
    unit: type[units.Rate | units.Duration | units.Size | units.Buffer | units.Probability | units.Frequency],
) -> str:
    name = unit.__name__.lower()
    return f"| {name} | `{unit.example}` | {unit.description} |\n"


def _note(path: tuple[str, ...]) -> str:
    if path == ("topology",):
        return f"With the keys of {_OF_DIRECTION}, for the common links.\n\n"
    if path == ("link",):
        return (
            f"With the keys of {_OF_DIRECTION}, which can also be given for\n"
            "one direction alone, in `[link.forward]` (first → second node) and `[link.reverse]`.\n\n"
        )
    if path == ("pattern",):
        return _PATTERNS
    if path[:1] == ("pattern",):
        return f"{inspect.cleandoc(MODELS[path].__doc__ or '')}\n\n"
    return NOTES.get(path, "")


def _table(model: type[Model]) -> str:
    shared = _shared() if issubclass(model, Topology | Link) else frozenset()
    return _rows(model, {name for name, _ in _ordered(model)} - shared)


def _shared() -> frozenset[str]:
    """The keys that a preset's common link and a link of a graph have alike, told once."""
    return frozenset(
        name
        for name, field in Direction.model_fields.items()
        if all(_said(one.model_fields[name]) == _said(field) for one in (Topology, Link))
    )


def _said(field: FieldInfo) -> tuple[object, ...]:
    return field.alias, field.description, field.annotation, field.default


def _rows(model: type[Model], names: AbstractSet[str]) -> str:
    rows = ["| key | type | meaning |", "|---|---|---|"]
    for name, field in _ordered(model):
        if name in names:
            key = field.alias or name
            rows.append(
                f"| `{key}` | {_type(field.annotation)}{_default(field)} | {_meaning(model, key, field)} |"
            )
    return "\n".join(rows) + "\n"


def _ordered(model: type[Model]) -> list[tuple[str, FieldInfo]]:
    """A model's own keys before those it inherits."""
    inherited = Direction.model_fields if issubclass(model, Direction) else {}
    items = model.model_fields.items()
    first = ("preset", "rtt", "rtts") if model is Topology else ("between", "name") if model is Link else ()
    ranked = sorted(items, key=lambda item: (item[0] not in first, item[0] not in inherited))
    return ranked if first else list(items)


def _meaning(model: type[Model], key: str, field: FieldInfo) -> str:
    text = field.description or ""
    kinds = (
        KINDS_OF_KEY.get(key, ()) if model is Flow else PRESET_KEYS.get(key, ()) if model is Topology else ()
    )
    return f"{text} *({', '.join(kinds)})*" if kinds else text


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return ", required"
    value = field.default
    if value is None or value is PydanticUndefined or value in ("", ()) or hasattr(value, "model_fields"):
        return ""
    return f" = `{json.dumps(value) if isinstance(value, bool | int | str) else json.dumps(str(value))}`"


_NAMES: dict[Any, str] = {
    bool: "true or false",
    int: "integer",
    float: "number",
    str: "text",
    dict: "table",
    Tolerance: "text",
    Sweep: "table",
}


def _type(annotation: Any) -> str:
    """Name a type as a person who writes TOML would."""
    if annotation in _NAMES:
        return _NAMES[annotation]
    args = [arg for arg in get_args(annotation) if arg is not NoneType]
    if args:
        return _made_of(get_origin(annotation), args)
    name = annotation.__name__.lower()
    return f"[{name}](#units)" if annotation in _UNITS else "table"


def _made_of(origin: Any, args: list[Any]) -> str:
    if origin is Literal:
        return " or ".join(f"`{json.dumps(word)}`" for word in args)
    if origin is dict:
        return "table"
    if origin is tuple:
        return f"list of {_type(args[0])}"
    if origin in (Union, UnionType):
        kinds = dict.fromkeys(map(_type, args))
        return " or ".join(kind for kind in kinds if kind != "integer" or "number" not in kinds)
    return _type(args[0])

"""Published data: what a document says came out, to be held against what is measured.

Takes `NAME.published.toml` beside a scenario `NAME.toml`, gives its tables. Each names the metric that it is
about and the cells whose numbers it holds.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field, ValidationError

from rushhour.quantities.factors import matches
from rushhour.quantities.measures import Tolerance, convert, kin
from rushhour.quantities.units import Duration, UnitError
from rushhour.spec.check.problem import Problem
from rushhour.spec.document import faults_in, parse_toml, read_text
from rushhour.spec.explain import explain
from rushhour.spec.keys import nearest
from rushhour.spec.model import Model, flatten
from rushhour.spec.scenario import Text
from rushhour.spec.sweep import LABEL

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from importlib.resources.abc import Traversable

    from rushhour.spec.scenario import Scenario
    from rushhour.spec.sweep import Sweep

Kind = Literal["point", "below", "above", "derived", "configured"]
"""What a number is: measured, a bound that was stated, computed, set."""
ELSEWHERE = ("kernel", "arithmetic")
"""What tries a cause beside factors and scenarios: another kernel, a sum that anybody can do again."""
SEED = "seed"
"""Cells that differ in nothing else are repetitions."""
_BEGIN = "begin with a [[published]] table: source, title, metric, unit and values"
Where = Annotated[
    dict[str, object], BeforeValidator(lambda found: flatten(found) if isinstance(found, dict) else found)
]


class Value(Model):
    """One published number."""

    where: Where = Field(default_factory=dict, description="factors of the cells it is of; absent: all cells")
    value: float = Field(allow_inf_nan=False, description="the number, in `unit`")
    kind: Kind | None = Field(None, description="what this number is, where it is not what the table's are")
    spread: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="what the document prints behind ±, in `unit`"
    )


class Published(Model):
    """A table, a figure or a sentence of the document, as numbers."""

    source: Text = Field(min_length=1, description='where in the document: "Table 4.3"')
    read: Literal["table", "text", "figure"] = Field(
        "table", description='how the numbers were got: from a "table", the "text", or by eye off a "figure"'
    )
    kind: Kind = Field(
        "point",
        description='what the numbers are: a measured "point"; a bound that is stated, "below" or "above"; '
        '"derived" from other numbers; "configured", not measured',
    )
    how: Text = Field(
        "", description="what a derived number was computed from, or where a configured one was set"
    )
    title: Text = Field(min_length=1, description="what the numbers are")
    metric: str = Field(min_length=1, max_length=200, description="metric that measures the same")
    flow: str | None = Field(None, description="of this flow only")
    scope: str | None = Field(None, description="of this scope of the metric only")
    unit: str = Field(max_length=40, description='unit of the numbers: "%", "ms", "Mbit/s", …')
    begin: Duration | None = Field(None, alias="from", description="measure from this instant on")
    to: Duration | None = Field(None, description="measure up to this instant")
    agrees: Tolerance = Field(
        Tolerance(10, "%"),
        description='difference that is agreement still: "5%" of the value, or an amount, "2ms", "1 %-point"',
    )
    over: tuple[str, ...] = Field(
        (),
        description="factors that the document does not tell apart: each of their cells is compared",
    )
    values: tuple[Value, ...] = Field(min_length=1, description="the numbers")
    cause: Text = Field("", description="why it differs where it does, as something showed that tried it")
    tried: tuple[str, ...] = Field(
        (),
        description='what tried it: factors of the sweep, scenarios of the folder, "kernel", "arithmetic"',
    )
    guess: Text = Field("", description="why it may differ; nothing tried it")

    def kind_of(self, value: Value) -> Kind:
        """What a number of the table is."""
        return value.kind or self.kind


class _File(Model):
    """The whole file."""

    published: tuple[Published, ...] = Field(min_length=1, description="the tables")


_MODELS: dict[tuple[str, ...], type[Model]] = {
    (): _File,
    ("published",): Published,
    ("published", "values"): Value,
}


def load_published(
    file: Traversable, scenario: Scenario | None = None, units: Mapping[str, str] | None = None
) -> tuple[Published, ...]:
    """Load the published data of a file.

    Args:
        file: `NAME.published.toml`.
        scenario: The scenario it belongs to; with it, flows, instants and `where` are checked.
        units: The units of all metrics by name; with it, metrics and units are checked.

    Raises:
        ScenarioError: with every fault, its line, and what is allowed.
    """
    text, name = read_text(file), str(file)
    document = parse_toml(text, name, _BEGIN)
    found: list[Problem] = []
    tables: tuple[Published, ...] = ()
    try:
        tables = _File.model_validate(document).published
    except ValidationError as error:
        found = explain(error, _MODELS)
    for index, table in enumerate(tables):
        problems = [
            *_check(table),
            *_check_metric(table, units),
            *_check_cells(table, scenario),
            *_check_tried(table, scenario, file),
        ]
        found += [problem._replace(path=("published", index, *problem.path)) for problem in problems]
    if found:
        raise faults_in(text, name, found)
    return tables


def _check(table: Published) -> Iterator[Problem]:
    if table.begin is not None and table.to is not None and table.begin >= table.to:
        yield Problem(("from",), f'"{table.begin}" is not before to = "{table.to}"')
    if table.flow is not None and table.scope is not None:
        yield Problem(("scope",), "stands beside flow", "keep one of flow and scope")
    if table.cause and not table.tried:
        hint = "name in tried = [...] what tried it: a factor, a scenario; or write guess instead of cause"
        yield Problem(("cause",), "names no experiment that tried it", hint)
    if not table.how:
        for index, value in enumerate(table.values):
            if (kind := table.kind_of(value)) in ("derived", "configured"):
                path = ("kind",) if value.kind is None else ("values", index, "kind")
                yield Problem(
                    path, f'"{kind}" needs how', 'write what it was made of: how = "1 - 35779/36000"'
                )
                break


def _check_metric(table: Published, units: Mapping[str, str] | None) -> Iterator[Problem]:
    if units is None:
        return
    if table.metric not in units:
        near = nearest(table.metric, units)
        yield Problem(("metric",), f'there is no metric "{table.metric}"', f"{near}; docs/metrics.md has all")
        return
    unit = units[table.metric]
    try:
        convert(1.0, table.unit, unit)
    except UnitError as error:
        yield Problem(("unit",), f"{error}, the unit of {table.metric}", nearest(table.unit, kin(unit)))
        return
    try:
        table.agrees.around(1.0, unit)
    except UnitError as error:
        yield Problem(
            ("agrees",), f"{error}, the unit of {table.metric}", nearest(table.agrees.unit, kin(unit))
        )


def _check_cells(table: Published, scenario: Scenario | None) -> Iterator[Problem]:
    if scenario is None:
        return
    flows = _flows(scenario)
    if table.flow is not None and table.flow not in flows:
        yield Problem(("flow",), f'no flow is named "{table.flow}"', nearest(table.flow, flows))
    for key, instant in (("from", table.begin), ("to", table.to)):
        if instant is not None and instant > scenario.span:
            yield Problem((key,), f'"{instant}" is after the end of the experiment, "{scenario.span}"')
    factors = scenario.sweep.values
    for place, key in enumerate(table.over):
        if key not in factors:
            yield Problem(("over", place), f'"{key}" is no factor of the sweep', nearest(key, factors))
    for index, value in enumerate(table.values):
        for problem in _check_where(value.where, table.over, scenario.sweep):
            yield problem._replace(path=("values", index, "where", *problem.path))


def _flows(scenario: Scenario) -> list[str]:
    """The flows by name, and their copies by number, as many as any cell has."""
    names = [flow.label for flow in scenario.flow]
    varied = scenario.sweep.values
    for flow in scenario.flow:
        most = max([flow.count, *map(int, varied.get(f"flow.{flow.label}.count", []))])
        names += [f"{flow.label}.{k + 1}" for k in range(most)] if most > 1 else []
    return names


def _check_where(where: Mapping[str, object], over: Collection[str], sweep: Sweep) -> Iterator[Problem]:
    factors = sweep.values
    for key, wanted in where.items():
        if key not in factors:
            yield Problem((key,), f'"{key}" is no factor of the sweep', nearest(key, factors))
        elif not any(matches({key: wanted}, {key: level}) for level in factors[key]):
            hint = nearest(str(wanted), dict.fromkeys(map(str, factors[key])))
            yield Problem((key,), f"{wanted!r} is no value of the factor", hint)
    if left := unnamed(where, sweep, over):
        yield Problem(
            (),
            f"leaves open {', '.join(left)}: cells that differ are never averaged",
            "name a value of it; or over = [...] where the document does not tell them apart",
        )


def _check_tried(table: Published, scenario: Scenario | None, file: Traversable) -> Iterator[Problem]:
    if scenario is None:
        return
    folder = file.parent if isinstance(file, Path) else None
    beside = (
        [one.name.removesuffix(".toml") for one in folder.glob("*.toml")] if folder else list(table.tried)
    )
    known = [*scenario.sweep.values, *beside, *ELSEWHERE]
    for place, name in enumerate(table.tried):
        if name not in known:
            yield Problem(
                ("tried", place),
                f'"{name}" is no factor, and no scenario of this folder',
                nearest(name, known),
            )


def unnamed(where: Mapping[str, object], sweep: Sweep, over: Collection[str] = ()) -> list[str]:
    """The varying factors that neither `where` nor `over` settles; of coupled factors one."""
    found = []
    for factor in sweep.factors:
        named = {key: where[key] for key in factor.keys if key in where}
        cells = [dict(zip(factor.keys, step, strict=True)) for step in factor.steps]
        left: dict[tuple[object, ...], list[dict[str, object]]] = {}
        for cell in cells:
            if matches(named, cell):
                left.setdefault(tuple(str(cell[key]) for key in factor.keys if key in over), []).append(cell)
        several = [same for same in left.values() if len(same) > 1]
        if several and factor.keys != (SEED,):
            open_ = [key for key in factor.keys if len({str(cell[key]) for cell in several[0]}) > 1]
            found.append((*(key for key in open_ if key.startswith(LABEL)), *open_, *factor.keys)[0])
    return found


def settled(
    tables: Iterable[Published], fixed: Mapping[str, object], factors: Iterable[str]
) -> list[Published]:
    """The published tables for the cells that remain when factors are fixed at these values.

    `factors` are the keys that vary still.
    """
    left, kept = set(factors), []
    for table in tables:
        values = [
            value.model_copy(update={"where": {k: w for k, w in value.where.items() if k not in fixed}})
            for value in table.values
            if matches({k: w for k, w in value.where.items() if k in fixed}, fixed)
        ]
        values = [value for value in values if left.issuperset(value.where)]
        if values:
            over = tuple(key for key in table.over if key not in fixed)
            kept.append(table.model_copy(update={"values": tuple(values), "over": over}))
    return kept

"""Published data: what a document says came out, to be held against what is measured.

Takes `NAME.published.toml` beside a scenario `NAME.toml`, gives its tables. Each names the metric that it is
about and the cells whose numbers it holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError

from rushhour.measures import Tolerance, convert, kin
from rushhour.spec.check.problem import Problem
from rushhour.spec.document import faults_in, parse_toml, read_text
from rushhour.spec.explain import explain
from rushhour.spec.keys import nearest
from rushhour.spec.model import Model, flatten
from rushhour.spec.scenario import Text
from rushhour.spec.sweep import matches
from rushhour.units import Duration, UnitError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from importlib.resources.abc import Traversable

    from rushhour.spec.scenario import Scenario

_BEGIN = "begin with a [[published]] table: source, title, metric, unit and values"
Where = Annotated[
    dict[str, Any], BeforeValidator(lambda found: flatten(found) if isinstance(found, dict) else found)
]


class Value(Model):
    """One published number."""

    where: Where = Field(default_factory=dict, description="factors of the cells it is of; absent: all cells")
    value: float = Field(allow_inf_nan=False, description="the number, in `unit`")
    spread: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="what the document prints behind ±, in `unit`"
    )


class Published(Model):
    """A table, a figure or a sentence of the document, as numbers."""

    source: Text = Field(min_length=1, description='where in the document: "Table 4.3"')
    read: Literal["table", "text", "figure"] = Field(
        "table", description='how the numbers were got: from a "table", the "text", or by eye off a "figure"'
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
    values: tuple[Value, ...] = Field(min_length=1, description="the numbers")
    cause: Text = Field("", description="why it differs where it does")


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
        problems = [*_check(table), *_check_metric(table, units), *_check_cells(table, scenario)]
        found += [problem._replace(path=("published", index, *problem.path)) for problem in problems]
    if found:
        raise faults_in(text, name, found)
    return tables


def _check(table: Published) -> Iterator[Problem]:
    if table.begin is not None and table.to is not None and table.begin >= table.to:
        yield Problem(("from",), f'"{table.begin}" is not before to = "{table.to}"')
    if table.flow is not None and table.scope is not None:
        yield Problem(("scope",), "stands beside flow", "keep one of flow and scope")


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
    flows = [flow.label for flow in scenario.flow]
    flows += [f"{flow.label}.{k + 1}" for flow in scenario.flow if flow.count > 1 for k in range(flow.count)]
    if table.flow is not None and table.flow not in flows:
        yield Problem(("flow",), f'no flow is named "{table.flow}"', nearest(table.flow, flows))
    for key, instant in (("from", table.begin), ("to", table.to)):
        if instant is not None and instant > scenario.span:
            yield Problem((key,), f'"{instant}" is after the end of the experiment, "{scenario.span}"')
    factors = scenario.sweep.values
    for index, value in enumerate(table.values):
        for key, wanted in value.where.items():
            path = ("values", index, "where", key)
            if key not in factors:
                yield Problem(path, f'"{key}" is no factor of the sweep', nearest(key, factors))
            elif not any(matches({key: wanted}, {key: level}) for level in factors[key]):
                hint = nearest(str(wanted), dict.fromkeys(map(str, factors[key])))
                yield Problem(path, f"{wanted!r} is no value of the factor", hint)


def settled(tables: Iterable[Published], fixed: Mapping[str, Any], factors: Iterable[str]) -> list[Published]:
    """Give what the tables say of the cells that are left when factors are fixed at these values.

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
            kept.append(table.model_copy(update={"values": tuple(values)}))
    return kept

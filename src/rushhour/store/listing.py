"""Short lists of what there is: scenarios, metrics, kernels' names, baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select

from rushhour.store import schema
from rushhour.store.filters import named
from rushhour.store.rows import BaselineRow, QuantityRow, ScenarioRow

if TYPE_CHECKING:
    from sqlalchemy import Connection


def scenarios(connection: Connection, *, limit: int = 1000, offset: int = 0) -> list[ScenarioRow]:
    """Every scenario there are runs of, by name."""
    cells, runs = schema.cells, schema.runs
    asked = (
        select(
            cells.c.scenario, func.max(cells.c.title).label("title"),
            func.count(cells.c.id.distinct()).label("cells"), func.count(runs.c.id).label("runs"),
            func.count(runs.c.kernel_id.distinct()).label("kernels"), func.max(runs.c.made).label("made"),
        )
        .join(runs, runs.c.cell_id == cells.c.id)
        .group_by(cells.c.scenario)
        .order_by(cells.c.scenario)
        .limit(limit)
        .offset(offset)
    )  # fmt: skip
    return [ScenarioRow(**row) for row in connection.execute(asked).mappings()]


def quantities(connection: Connection, *, scenario: str | None = None) -> list[QuantityRow]:
    """The metrics and scopes there are values of, by name."""
    table, values = schema.quantities, schema.measurements
    asked = (
        select(table.c.metric, table.c.scope, table.c.unit, func.count().label("runs"))
        .join(values, values.c.quantity_id == table.c.id)
        .where(values.c.value.is_not(None))
        .group_by(table.c.metric, table.c.scope, table.c.unit)
        .order_by(table.c.metric, table.c.scope)
    )
    if scenario:
        of_scenario = (
            select(schema.runs.c.id)
            .join(schema.cells, schema.cells.c.id == schema.runs.c.cell_id)
            .where(named(scenario))
        )
        asked = asked.where(values.c.run_id.in_(of_scenario))
    return [QuantityRow(**row) for row in connection.execute(asked).mappings()]


def baselines(connection: Connection) -> list[BaselineRow]:
    """Every version of every baseline, the newest version of a name first."""
    table, kernels = schema.baselines, schema.kernels
    mine = [table.c[name] for name in BaselineRow.__slots__ if name not in ("kernel", "release")]
    asked = (
        select(*mine, kernels.c.name.label("kernel"), kernels.c.release)
        .join(kernels, kernels.c.id == table.c.kernel_id)
        .order_by(table.c.name, table.c.version.desc(), table.c.id.desc())
    )
    return [BaselineRow(**row) for row in connection.execute(asked).mappings()]


def choices(connection: Connection) -> dict[str, list[str]]:
    """The values that lists can be filtered by: names of scenarios, kernels, labs, tags, metrics."""
    asked = {
        "scenarios": select(schema.cells.c.scenario).distinct(),
        "kernels": select(schema.kernels.c.name).distinct(),
        "labs": select(schema.runs.c.lab).distinct(),
        "tags": select(schema.tags.c.tag).distinct(),
        "metrics": select(schema.quantities.c.metric).distinct(),
    }
    return {name: sorted(row[0] for row in connection.execute(one)) for name, one in asked.items()}

"""The tables of the results database, their version, and how an older one becomes the present one.

    sets ─< set_runs >─ runs >─ cells, kernels, agents        what ran, and in which folder it lies
                        runs ─< measurements >─ quantities    every metric of every run
    comparisons ─< verdict_cells ─< verdict_metrics           what was judged
    baselines >─ sets,  tags                                  names

Times are UTC in ISO 8601; lists and tables are JSON text. Numbers of rows are given by the writer, of whom
there is one at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    select,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection
    from sqlalchemy.types import TypeEngine

FORMAT = "rushhour-store"
metadata = MetaData()


def _id() -> Column[int]:
    return Column("id", Integer, primary_key=True, autoincrement=False)


def _text(name: str, *, null: bool = False) -> Column[str]:
    return Column(name, Text, nullable=null)


def _json(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default="[]")


def _of(name: str, table: str, *, null: bool = False, key: bool = False) -> Column[int]:
    target = ForeignKey(f"{table}.id", ondelete="CASCADE")
    return Column(name, Integer, target, nullable=null, primary_key=key, autoincrement=False)


def _plain(name: str, kind: type[TypeEngine[Any]], *, null: bool = False) -> Column[object]:
    return Column(name, kind, nullable=null)


about = Table("rushhour", metadata, Column("key", Text, primary_key=True), _text("value"))

kernels = Table(
    "kernels",
    metadata,
    _id(),
    Column("digest", Text, unique=True, nullable=False),
    _text("name"),
    _text("release"),
    _text("image_sha256", null=True),
    _json("identity"),
)
agents = Table(
    "agents", metadata, _id(), Column("sha256", Text, unique=True, nullable=False), _text("version")
)
cells = Table(
    "cells",
    metadata,
    _id(),
    Column("digest", Text, unique=True, nullable=False),
    _text("scenario"),
    _text("scenario_sha256"),
    _text("title"),
    _plain("quick", Boolean),
    _plain("number", Integer),
    _json("factors"),
    _text("label"),
    Index("cells_scenario", "scenario", "number"),
)
runs = Table(
    "runs",
    metadata,
    _id(),
    Column("digest", Text, unique=True, nullable=False),
    _text("key"),
    _of("cell_id", "cells"),
    _of("kernel_id", "kernels"),
    _of("agent_id", "agents"),
    _plain("repetition", Integer),
    _plain("seed", BigInteger),
    _text("lab"),
    _text("rushhour", null=True),
    _plain("valid", Boolean),
    _json("invalid_reasons"),
    _json("warnings"),
    _plain("virtual_s", Double, null=True),
    _plain("elapsed_s", Double, null=True),
    _text("raw_sha256"),
    _text("values_sha256"),
    # The newest set it is in and when that was made: what comes first when runs are asked for.
    _plain("set_id", Integer),
    _text("made"),
    Index("runs_made", "made"),
    Index("runs_cell", "cell_id", "kernel_id"),
    Index("runs_kernel", "kernel_id"),
    Index("runs_key", "key"),
)
sets = Table(
    "sets",
    metadata,
    _id(),
    Column("digest", Text, unique=True, nullable=False),
    _text("kind"),
    _text("scenario"),
    _text("scenario_sha256"),
    _text("made"),
    _text("imported"),
    _text("folder"),
    _plain("quick", Boolean),
    _plain("complete", Boolean),
    _json("failures"),
    _json("skipped"),
    Index("sets_scenario", "scenario", "made"),
    Index("sets_made", "made"),
)
set_runs = Table(
    "set_runs",
    metadata,
    _of("set_id", "sets", key=True),
    _of("run_id", "runs", key=True),
    _text("folder"),
    Index("set_runs_run", "run_id"),
)
quantities = Table(
    "quantities",
    metadata,
    _id(),
    _text("metric"),
    _text("scope"),
    _text("unit"),
    UniqueConstraint("metric", "scope", "unit"),
)
measurements = Table(
    "measurements",
    metadata,
    _of("run_id", "runs", key=True),
    _of("quantity_id", "quantities", key=True),
    _plain("value", Double, null=True),
    _text("note", null=True),
    sqlite_with_rowid=False,
)
comparisons = Table(
    "comparisons",
    metadata,
    _id(),
    Column("digest", Text, unique=True, nullable=False),
    _text("made"),
    _text("imported"),
    _text("folder"),
    _text("variable"),
    _text("verdict"),
    _text("base"),
    _text("candidate"),
    _of("base_kernel_id", "kernels", null=True),
    _of("candidate_kernel_id", "kernels", null=True),
    _json("rule"),
    _json("counts"),
    _plain("elapsed_s", Double, null=True),
    Index("comparisons_made", "made"),
)
verdict_cells = Table(
    "verdict_cells",
    metadata,
    _id(),
    _of("comparison_id", "comparisons"),
    _text("scenario"),
    _text("title"),
    _plain("number", Integer),
    _json("factors"),
    _text("label"),
    _text("guards"),
    _text("verdict"),
    _text("reason"),
    _plain("identical", Boolean),
    _json("seeds"),
    Index("verdict_cells_comparison", "comparison_id"),
    Index("verdict_cells_scenario", "scenario", "number"),
)
verdict_metrics = Table(
    "verdict_metrics",
    metadata,
    _id(),
    _of("verdict_cell_id", "verdict_cells"),
    _text("metric"),
    _text("scope"),
    _text("unit"),
    _text("better"),
    _plain("base", Double, null=True),
    _plain("candidate", Double, null=True),
    _plain("change", Double, null=True),
    _plain("low", Double, null=True),
    _plain("high", Double, null=True),
    _text("verdict"),
    _text("reason"),
    Index("verdict_metrics_cell", "verdict_cell_id"),
)
baselines = Table(
    "baselines",
    metadata,
    _id(),
    Column("digest", Text, unique=True, nullable=False),
    _text("name"),
    _plain("version", Integer),
    _text("reason"),
    _text("folder"),
    _plain("slim", Boolean),
    _of("kernel_id", "kernels"),
    _text("imported"),
)
tags = Table(
    "tags",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("owner_id", Integer, primary_key=True, autoincrement=False),
    Column("tag", Text, primary_key=True),
)


def _create(connection: Connection) -> None:
    metadata.create_all(connection)


# Each makes the next version out of the one before, in the transaction it is given; the first makes it out of
# nothing. A database of version n has had the first n. What is here is never changed again, only added to.
MIGRATIONS: Sequence[Callable[[Connection], None]] = (_create,)


def version(connection: Connection) -> int:
    """The version that a database of ours says it has."""
    found = connection.execute(select(about.c.value).where(about.c.key == "version")).scalar()
    return int(found or 0)


def set_version(connection: Connection, number: int) -> None:
    """Write the version down."""
    connection.execute(about.delete().where(about.c.key.in_(("format", "version"))))
    connection.execute(
        about.insert(), [{"key": "format", "value": FORMAT}, {"key": "version", "value": str(number)}]
    )

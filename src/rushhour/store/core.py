"""The store: one results database, opened."""

from __future__ import annotations

import shlex
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import func, select

from rushhour.errors import RecordError, RushHourError, StoreError
from rushhour.files import places
from rushhour.lab import clock
from rushhour.metrics.value import MetricValue
from rushhour.quantities.release import release_order
from rushhour.quantities.words import plural
from rushhour.store import connect, listing, query, schema
from rushhour.store.parcel import BaselineParcel, ComparisonParcel, SetParcel, parcels
from rushhour.store.put import put
from rushhour.store.rows import Imported, SetRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Self

    from sqlalchemy import Connection, Engine
    from sqlalchemy.engine import URL

    from rushhour.store.parcel import Parcel
    from rushhour.store.rows import (
        BaselineRow,
        CellVerdict,
        ComparisonRow,
        KernelRow,
        MetricVerdict,
        Pair,
        QuantityRow,
        RunRow,
        ScenarioRow,
    )

T = TypeVar("T")


@dataclass(frozen=True)
class Store:
    """A results database; make it with `Store.open`. Every method raises `StoreError` if it cannot answer."""

    engine: Engine
    url: URL

    @classmethod
    def open(
        cls, where: str | Path | None = None, *, create: bool = True, wait_s: float = connect.WAIT_S
    ) -> Self:
        """Open a database: a path (SQLite) or `postgresql://…`; by default `RUSHHOUR_DB`, or the user's own.

        Args:
            where: Which.
            create: Make it, or its tables, if they are not there; a database that may not be written to can
                be read without.
            wait_s: How long to wait for another writer.

        Raises:
            UsageError: this is no path or URL of a database.
            StoreError: it is not there, cannot be opened, is not ours, or is of a newer version.
        """
        url = connect.parse(where if where is not None else places.database())
        with connect.translated(url):
            engine = connect.engine(url, wait_s, create=create)
            try:
                connect.prepare(engine, url, create=create)
            except BaseException:
                engine.dispose()
                raise
        return cls(engine, url)

    @property
    def where(self) -> str:
        """Its path or URL as it may be shown."""
        return connect.shown(self.url)

    def close(self) -> None:
        """Close its connections."""
        self.engine.dispose()

    def __enter__(self) -> Self:
        """Enter a block at whose end it is closed."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def import_folder(
        self, folder: str | Path, *, tags: Sequence[str] = (), tell: Callable[[str], None] = lambda _: None
    ) -> Imported:
        """Store what is in a folder: a result set, a study, a comparison, a baseline.

        Each set and each comparison is one transaction: interrupted, what was begun is not there and what
        went before is; the same command goes on. What is known is not stored again.

        Args:
            folder: The folder.
            tags: Marks of what is imported.
            tell: Hears what is read and stored.

        Raises:
            RecordError: the folder holds nothing that we know, or is damaged.
        """
        counts = dict.fromkeys(("sets", "runs", "comparisons", "baselines", "new"), 0)
        for parcel in parcels(Path(folder), tell):
            if isinstance(parcel, SetParcel):
                tell(f"storing {parcel.scenario}: {plural(len(parcel.runs), 'run')}")
            counts["new"] += self._put(parcel, tags)
            counts["runs"] += len(parcel.runs) if isinstance(parcel, SetParcel) else 0
            for kind, name in _KINDS.items():
                counts[name] += isinstance(parcel, kind)
        return Imported(**counts)

    def _put(self, parcel: Parcel, tags: Sequence[str]) -> int:
        now = clock.stamped()
        try:
            with self._writing() as connection:
                new = put(connection, parcel, now)
                if not isinstance(parcel, BaselineParcel):
                    _tag(connection, parcel, tags)
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            # What a stranger wrote has values where lists should be, and the like.
            where = parcel.baseline.path if isinstance(parcel, BaselineParcel) else parcel.folder
            raise RecordError(
                f"what is in this folder makes no sense ({error!r})",
                where=str(where),
                hint="it was damaged, or not written by rushhour; nothing of it was stored",
            ) from error
        return new

    def runs(self, **filters: Any) -> list[RunRow]:
        """Runs, the newest first, or by `sort` (`rushhour.store.filters.SORTS`).

        Filters: `scenario`, `cell`, `where`, `kernel`, `kernel_id`, `key`, `lab`, `valid`, `since`, `until`,
        `set_id`, `tag` (of a set), `verdict` (of a comparison on the cell, the run's kernel as candidate),
        `limit`, `offset`.
        """
        return self._ask(partial(query.runs, **filters))

    def sets(self, **filters: Any) -> list[SetRow]:
        """Result sets, the newest first: `scenario`, `tag`, `since`, `digest`, `kind`, `limit`, `offset`."""
        return self._ask(partial(query.sets, **filters))

    def comparisons(self, **filters: Any) -> list[ComparisonRow]:
        """Comparisons, the newest first: `verdict`, `name`, `tag`, `since`, `digest`, `limit`, `offset`."""
        return self._ask(partial(query.comparisons, **filters))

    def verdicts(self, **filters: Any) -> list[CellVerdict]:
        """Judged cells: `comparison` (its id), `scenario`, `verdict`, `limit`, `offset`."""
        return self._ask(partial(query.verdicts, **filters))

    def verdict_metrics(self, cell: int) -> list[MetricVerdict]:
        """The judged metrics of a cell (`CellVerdict.id`)."""
        return self._ask(partial(query.verdict_metrics, cell=cell))

    def compare_pairs(self, base: str, candidate: str, **filters: Any) -> list[Pair]:
        """Runs of the same cell and seed on two kernels (by name, release or image).

        Filters: `scenario`, `limit`, `offset`.
        """
        return self._ask(partial(query.pairs, base=base, candidate=candidate, **filters))

    def scenarios(self, **filters: Any) -> list[ScenarioRow]:
        """The scenarios there are runs of, by name: `limit`, `offset`."""
        return self._ask(partial(listing.scenarios, **filters))

    def quantities(self, scenario: str | None = None) -> list[QuantityRow]:
        """The metrics and scopes there are values of, of a scenario, a study, or all."""
        return self._ask(partial(listing.quantities, scenario=scenario))

    def kernels(self) -> list[KernelRow]:
        """Every kernel that ran, in their order (docs/history.md)."""
        found = self._ask(query.kernels)
        return sorted(found, key=lambda one: (release_order(one.release), one.first or "", one.name, one.id))

    def baselines(self) -> list[BaselineRow]:
        """Every version of every baseline, by name, the newest version first."""
        return self._ask(listing.baselines)

    def choices(self) -> dict[str, list[str]]:
        """The values that runs can be filtered by: `scenarios`, `kernels`, `labs`, `tags`, `metrics`."""
        return self._ask(listing.choices)

    def tag(self, thing: SetRow | ComparisonRow, tag: str) -> None:
        """Give a set or comparison a tag; giving it twice changes nothing."""
        with self._writing() as connection:
            _add_tags(connection, _kind(thing), thing.id, [tag])

    def untag(self, thing: SetRow | ComparisonRow, tag: str) -> None:
        """Remove a tag from a set or comparison, if it has it."""
        table = schema.tags.c
        mine = (table.kind == _kind(thing)) & (table.owner_id == thing.id) & (table.tag == tag)
        with self._writing() as connection:
            connection.execute(schema.tags.delete().where(mine))

    def metrics(self, run: int) -> list[MetricValue]:
        """The metric values of a run (`RunRow.id`)."""
        table, names = schema.measurements, schema.quantities
        asked = (
            select(names.c.metric, names.c.scope, table.c.value, names.c.unit, table.c.note)
            .join(names, names.c.id == table.c.quantity_id)
            .where(table.c.run_id == run)
            .order_by(names.c.id)
        )

        def values(connection: Connection) -> list[MetricValue]:
            return [MetricValue(*row) for row in connection.execute(asked)]

        return self._ask(values)

    def values(self, runs: Sequence[int], metrics: Sequence[str]) -> dict[int, list[MetricValue]]:
        """The values of some metrics of several runs (`RunRow.id`) at once; runs without any are left out."""
        table, names = schema.measurements, schema.quantities
        asked = (
            select(table.c.run_id, names.c.metric, names.c.scope, table.c.value, names.c.unit, table.c.note)
            .join(names, names.c.id == table.c.quantity_id)
            .where(table.c.run_id.in_(runs), names.c.metric.in_(metrics))
            .order_by(table.c.run_id, names.c.id)
        )

        def found(connection: Connection) -> dict[int, list[MetricValue]]:
            made: dict[int, list[MetricValue]] = {}
            for run, *value in connection.execute(asked):
                made.setdefault(run, []).append(MetricValue(*value))
            return made

        return self._ask(found)

    def record_folder(self, key: str) -> Path | None:
        """Where on this machine the record of a run lies: in a folder that was imported, or in the cache."""
        from rushhour.record import kept  # noqa: PLC0415 - only here

        links = schema.set_runs
        asked = (
            select(links.c.folder)
            .join(schema.runs, schema.runs.c.id == links.c.run_id)
            .where(schema.runs.c.key == key)
            .order_by(links.c.set_id.desc())
        )
        folders = self._ask(lambda connection: [Path(row[0]) for row in connection.execute(asked)])
        there = (folder for folder in folders if (folder / "manifest.json").is_file())
        return next(there, None) or kept.find(key)

    def info(self) -> dict[str, object]:
        """What the database is and how much is in it."""
        tables = ("kernels", "cells", "runs", "sets", "measurements", "comparisons", "baselines")

        def count(connection: Connection) -> dict[str, int]:
            counted = (select(func.count()).select_from(schema.metadata.tables[name]) for name in tables)
            return dict(
                zip(tables, (int(connection.execute(one).scalar_one()) for one in counted), strict=True)
            )

        kind = "SQLite" if self.url.drivername == "sqlite" else "PostgreSQL"
        return {"where": self.where, "kind": kind, "version": len(schema.MIGRATIONS), **self._ask(count)}

    def _ask(self, question: Callable[[Connection], T]) -> T:
        with connect.translated(self.url), self.engine.begin() as connection:
            return question(connection)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection to read with, all of whose answers are of one moment."""
        with connect.translated(self.url), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with (
            connect.translated(self.url),
            self.engine.connect().execution_options(writes=True) as connection,
            connection.begin(),
        ):
            yield connection


_KINDS = {SetParcel: "sets", ComparisonParcel: "comparisons", BaselineParcel: "baselines"}


def keep(folders: Iterable[Path], where: str, *, tags: Sequence[str] = ()) -> str | None:
    """Store what a command has just written; the words of the error if that fails, for the results are kept.

    The exit code of a run is about the run: what is not stored today can be imported tomorrow.
    """
    folders = list(folders)
    try:
        with Store.open(where) as store:
            for folder in folders:
                store.import_folder(folder, tags=tags)
    except RushHourError as error:
        place = f"{error.where}: " if error.where else ""
        again = "; ".join(f"rushhour db import {shlex.quote(str(folder))}" for folder in folders[:3])
        hint = f" ({error.hint})" if error.hint and isinstance(error, StoreError) else ""
        return f"not stored: {place}{error.message}{hint}. The results are whole; to store them: {again}"
    return None


def _tag(connection: Connection, parcel: SetParcel | ComparisonParcel, tags: Sequence[str]) -> None:
    kind = "set" if isinstance(parcel, SetParcel) else "comparison"
    table = schema.sets if kind == "set" else schema.comparisons
    place = connection.execute(select(table.c.id).where(table.c.digest == parcel.digest)).scalar_one()
    _add_tags(connection, kind, place, tags)


def _add_tags(connection: Connection, kind: str, place: int, tags: Sequence[str]) -> None:
    known = query.tags_of(connection, kind, [place]).get(place, [])
    new = [{"kind": kind, "owner_id": place, "tag": tag} for tag in sorted(set(tags) - set(known))]
    if new:
        connection.execute(schema.tags.insert(), new)


def _kind(thing: SetRow | ComparisonRow) -> str:
    return "set" if isinstance(thing, SetRow) else "comparison"

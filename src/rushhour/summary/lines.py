"""Metric values of a run by columns: of very many runs few values are looked at one by one."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import fields
from itertools import chain
from sys import intern
from typing import TYPE_CHECKING, Any, overload

from rushhour.metrics.catalog import METRICS
from rushhour.metrics.value import MetricValue

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    Column = Sequence[Any]

COLUMNS = tuple(field.name for field in fields(MetricValue))
_METRIC = COLUMNS.index("metric")
_UNITS = frozenset((metric.name, metric.unit) for metric in METRICS.values())


class Lines(Sequence[MetricValue]):
    """Metric values, each made when it is looked at; `columns` are as `COLUMNS` names them."""

    __slots__ = ("columns",)

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = columns

    def of(self, metrics: Collection[str]) -> list[MetricValue]:
        """The values of these metrics."""
        places = [place for place, name in enumerate(self.columns[_METRIC]) if name in metrics]
        return [*map(self.__getitem__, places)]

    def __len__(self) -> int:
        """How many values there are."""
        return len(self.columns[0])

    @overload
    def __getitem__(self, which: int) -> MetricValue: ...

    @overload
    def __getitem__(self, which: slice) -> Lines: ...

    def __getitem__(self, which: int | slice) -> MetricValue | Lines:
        """A value, or some."""
        cells: list[Any] = [column[which] for column in self.columns]
        return Lines(cells) if isinstance(which, slice) else MetricValue(*cells)

    def __iter__(self) -> Iterator[MetricValue]:
        """The values, made anew each time."""
        return map(MetricValue, *self.columns)

    def __eq__(self, other: object) -> bool:
        """As a list of the values would be."""
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    def __repr__(self) -> str:
        """As a list of the values would be."""
        return repr(list(self))

    __hash__ = None  # type: ignore[assignment]


def chosen(values: Iterable[MetricValue], metrics: Collection[str]) -> list[MetricValue]:
    """Of values those of these metrics."""
    if isinstance(values, Lines):
        return values.of(metrics)
    return [value for value in values if value.metric in metrics]


def joined(runs: Iterable[Sequence[MetricValue]], name: str) -> list[Any]:
    """A column of the values of several runs."""
    place = COLUMNS.index(name)
    return [*chain.from_iterable(_column(values, place, name) for values in runs)]


def _column(values: Sequence[MetricValue], place: int, name: str) -> Column:
    return values.columns[place] if isinstance(values, Lines) else [getattr(one, name) for one in values]


def read(value: bytes | None) -> Lines | None:
    """What `rushhour.summary.measured.written` wrote, checked as `measured.read` does."""
    if value is None:
        return None
    try:
        columns = [*zip(*json.loads(zlib.decompress(value)), strict=True)]
        # Few words in very many rows: each is kept once.
        metric, scope, numbers, unit, note = columns
        words = [tuple(map(intern, column)) for column in (metric, scope, unit)]
        notes = tuple(None if one is None else intern(one) for one in note)
    except (ValueError, TypeError, zlib.error):
        return None
    if not _UNITS.issuperset(zip(words[0], words[2], strict=True)):
        return None
    return Lines((*words[:2], numbers, words[2], notes))

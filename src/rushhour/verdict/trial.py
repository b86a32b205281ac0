"""A run on one side of a comparison: what it was made with, and its values when they are asked for."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rushhour.errors import RecordError
from rushhour.metrics.catalog import METRICS
from rushhour.metrics.value import MetricValue
from rushhour.record.record import Record
from rushhour.record.seal import SEALED, raw_digests
from rushhour.record.told import told
from rushhour.summary.measured import known_lines_of, metrics_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Trial:
    """One run of a cell, or the error that came instead.

    `digests` are the SHA-256 of the raw tables by name, `plan` that of the plan, `beside` that of everything
    else in the record that a metric can read: where it is the same, so is `told`. `facts` are what else must
    be equal on both sides (`rushhour.verdict.refusal`). `kind` is the class of the error. `known` gives the
    values of a run whose record is not there (of a slim baseline), `kept_told` its `told`.
    """

    seed: int
    repetition: int = 0
    folder: Path | None = None
    key: str = ""
    digests: Mapping[str, str] = field(default_factory=dict, repr=False)
    plan: str | None = None
    valid: bool = True
    reasons: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict, repr=False)
    error: str | None = None
    kind: str | None = None
    known: Callable[[], Sequence[MetricValue]] | None = field(default=None, repr=False)
    kept_told: str | None = field(default=None, repr=False)
    beside: str | None = field(default=None, repr=False)
    _measured: dict[str, list[MetricValue]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def ran(self) -> bool:
        """Whether there is something to measure."""
        return self.error is None

    @property
    def usable(self) -> bool:
        """Whether it ran, and on links that were as asked."""
        return self.ran and self.valid

    def record(self) -> Record | None:
        """The record, if it is there.

        Raises:
            RecordError: it is not the run that was compared.
        """
        if self.folder is None:
            return None
        record = Record.open(self.folder)
        kept = raw_digests(self.digests)
        if kept and kept != raw_digests(record.manifest.files):
            raise RecordError(
                "this is not the run whose checksums were kept",
                where=str(self.folder),
                hint="take it from a copy, or run it again",
            )
        return record

    def equals(self, other: Trial) -> bool:
        """Whether both are equal to the byte in all that a metric can read (`rushhour.record.told`)."""
        if not self.digests or self.digests != other.digests:
            return False
        if self is other or (self.beside is not None and self.beside == other.beside):
            return True
        return self.told is not None and self.told == other.told

    @cached_property
    def told(self) -> str | None:
        """The digest of the record's data beside its tables; None where it is unknown."""
        if self.kept_told is not None or self.folder is None:
            return self.kept_told
        record = self.record()
        return None if record is None else told(record)

    @property
    def info_length(self) -> int:
        """Bytes of this kernel's `struct tcp_info`; 0 where none was read."""
        record = self.record()
        if record is None or not record.is_whole or not record.has("tcp_info"):
            return 0
        return int(record.raw("tcp_info").rows.dtype["info"].itemsize)

    def values(self, names: Iterable[str]) -> list[MetricValue]:
        """The values of these metrics at every scope; each metric is measured once."""
        names = list(names)
        if self.known is not None:
            wanted = set(names)
            return [value for value in self.known() if value.metric in wanted]
        missing = [name for name in names if name not in self._measured and name in METRICS]
        record = self.record() if missing else None
        if record is not None:
            found = _remembered(record) or {name: _measure(record, name) for name in missing}
            self._measured.update(found)
        return [value for name in names for value in self._measured.get(name, [])]

    def forget(self) -> None:
        """Let go of the values: what is asked for again is read again."""
        self._measured.clear()


def _remembered(record: Record) -> dict[str, list[MetricValue]]:
    """Every metric of a record: known, or measured now and known from then on; empty where one fails."""
    known = known_lines_of(record)
    if known is None and SEALED in record.manifest:
        with suppress(Exception):  # what is wrong with a record is told by the metric that is asked for
            known = metrics_of(record, fresh=True)
    if known is None:
        return {}
    found: dict[str, list[MetricValue]] = {name: [] for name in METRICS}
    for value in known:
        found[value.metric].append(value)
    return found


def _measure(record: Record, name: str) -> list[MetricValue]:
    metric = METRICS[name]
    return [
        MetricValue(name, found.scope, found.value, metric.unit, found.note)
        for found in metric.function(record)
    ]

"""Metrics of a record that were measured before: kept in the cache, and found again by all that they are of.

The key is a hash of what the record is (its manifest with the checksums of its files, without the labels that
no metric reads) and of the code that measures. So what is found is what measuring would give: another record,
other code or a changed file has another key, and a record is never written to.
"""

from __future__ import annotations

import hashlib
import json
import platform
import zlib
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from rushhour.files import remembered
from rushhour.metrics import catalog
from rushhour.record.record import Record
from rushhour.record.seal import SEALED
from rushhour.summary import lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from rushhour.metrics.value import MetricValue

_Read = TypeVar("_Read")
UNREAD = frozenset({"scenario", "cell", "repetition", "host", "elapsed_s", SEALED})
"""What of a manifest no metric reads: a known run that serves another cell differs in these alone."""
_CODE = ("metrics", "models", "quantities", "record", "series", "tc", "traffic")


def metrics_of(record: Record, *, fresh: bool = False) -> list[MetricValue]:
    """The metrics of a record: those that are known, else measured now, and known from then on.

    With `fresh` they are measured again. Records that are not sealed are always measured; slim ones have
    their metrics, and nothing to measure.

    Raises:
        RecordError: a file of the record was changed: what is known would be of another one.
    """
    known = None if fresh and record.is_whole else known_of(record)
    if known is None:
        known = record.metrics()
        if SEALED in record.manifest:
            remembered.keep(key_of(record), written(known))
    return known


def measure_new(folder: Path) -> None:
    """Measure a new record, so that its metrics are known when they are asked for.

    Nobody knows them yet: to look for them would read every file of the record once more. What is wrong with
    it is told where its metrics are asked for.
    """
    with suppress(Exception):
        metrics_of(Record.open(folder), fresh=True)


def lines_of(record: Record) -> Sequence[MetricValue]:
    """As `metrics_of`, for who looks at columns: values that are known are not made one by one.

    Raises:
        RecordError: as `metrics_of`.
    """
    found = known_lines_of(record)
    return metrics_of(record, fresh=True) if found is None else found


def known_lines_of(record: Record) -> Sequence[MetricValue] | None:
    """As `known_of`, for who looks at columns.

    Raises:
        RecordError: as `metrics_of`.
    """
    return _known(record, lines.read)


def known_of(record: Record) -> list[MetricValue] | None:
    """The metrics of a record, if they are known; nothing is measured.

    Raises:
        RecordError: as `metrics_of`.
    """
    return _known(record, read)


def _known(
    record: Record, spelled: Callable[[bytes | None], _Read | None]
) -> _Read | list[MetricValue] | None:
    """What is remembered of a record, by who reads it; of a slim one its metrics."""
    if SEALED not in record.manifest:
        return None
    record.verify()
    return spelled(remembered.recall(key_of(record))) if record.is_whole else record.metrics()


def key_of(record: Record) -> str:
    """The hash of all that a record's metrics are of."""
    return key_of_manifest(record.manifest)


def key_of_manifest(manifest: Mapping[str, object]) -> str:
    """The same of a sealed record, by its manifest."""
    told = {name: value for name, value in manifest.items() if name not in UNREAD}
    return hashlib.sha256(f"{code()}\n{json.dumps(told, sort_keys=True)}".encode()).hexdigest()


def written(values: Sequence[MetricValue]) -> bytes:
    """Metric values as they are kept."""
    return zlib.compress(_text(values).encode(), 1)


def rows_of(values: Sequence[MetricValue]) -> list[list[object]]:
    """Metric values as JSON has them."""
    plain: list[list[object]] = json.loads(_text(values))
    return plain


def _text(values: Sequence[MetricValue]) -> str:
    rows = [[one.metric, one.scope, one.value, one.unit, one.note] for one in values]
    # numpy's numbers are none of JSON's.
    return json.dumps(rows, default=float, separators=(",", ":"))


def read(value: bytes | None) -> list[MetricValue] | None:
    """The values that were written, if they make sense: every metric is one of the catalogue, in its unit."""
    if value is None:
        return None
    try:
        return catalog.known(json.loads(zlib.decompress(value)))
    except (ValueError, TypeError, zlib.error):
        return None


@cache
def code() -> str:
    """The hash of all that could change a metric beside the record: our code, numpy, Python."""
    whole = hashlib.sha256(f"{platform.python_version()} {np.__version__}".encode())
    for room in _CODE:
        for name, item in _sources(files("rushhour").joinpath(room), room):
            content = item.read_bytes()
            whole.update(f"\n{name} {len(content)}\n".encode() + content)
    return whole.hexdigest()


def _sources(folder: Traversable, prefix: str) -> Iterator[tuple[str, Any]]:
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.name.endswith((".py", ".json")):
            yield f"{prefix}/{item.name}", item
        elif item.is_dir() and item.name != "__pycache__":
            yield from _sources(item, f"{prefix}/{item.name}")

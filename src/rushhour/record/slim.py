"""Slim records: what a run measured is kept, the tables that it was measured of are not.

    manifest.json, plan.json, result.json, console.log     as of the whole record, with its checksums
    metrics.json                                            instead of raw/: the metric values

Who asks for a table is told which command makes it again, or gets it from the storage that has it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rushhour.errors import RecordError
from rushhour.record import afar
from rushhour.record.asked import command_of
from rushhour.record.document import Document, read
from rushhour.record.json_file import read_json, read_set
from rushhour.record.seal import METRICS, SET_FILE, sealed
from rushhour.record.sound import check_slim

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rushhour.record.manifest import Manifest
    from rushhour.record.record import Record

FORMAT = "rushhour-metrics/1"
# What the metrics of a record are of; the rest of a manifest names it, or says where and how it was made.
_OF = ("key", "files", "context")


class Slim(Document):
    """What a slim record has instead of its tables.

    `of` is the hash of the run that it belongs to, `code` that of the code that measured it, `metrics` has
    rows of metric, scope, value, unit and note. `storage` is the URL of a folder that has the whole record,
    `archive` its name there.
    """

    format: str = ""
    of: str = ""
    code: str = ""
    metrics: tuple[object, ...] = ()
    storage: str | None = None
    archive: str | None = None


@dataclass(frozen=True)
class Wanted:
    """What is to be kept of runs: whole records, or slim ones.

    Attributes:
        tables: Whether records are whole.
        code: Of slim ones: the hash of the code that measures.
        storage: Of slim ones: the URL of the folder that has the whole ones, if any.
    """

    tables: bool = True
    code: str = ""
    storage: str | None = None

    def is_served_by(self, record: Record) -> bool:
        """Whether a record that is there already is as good as a new one; a whole one always is."""
        slim = record.slim
        if slim is None:
            return True
        return not self.tables and slim.code == self.code and self.storage in (None, slim.storage)


WHOLE = Wanted()
"""Whole records."""


def content(manifest: Mapping[str, object], wanted: Wanted, rows: Sequence[Sequence[object]]) -> bytes:
    """The file `metrics.json` of a record.

    Args:
        manifest: Of the record.
        wanted: Who measured, and where the whole record is.
        rows: Metric, scope, value, unit and note of each value.
    """
    about: dict[str, object] = {"format": FORMAT, "of": _of(manifest), "code": wanted.code}
    if wanted.storage is not None:
        about |= {"storage": wanted.storage, "archive": archive_of(manifest)}
    whole = sealed({**about, "metrics": [list(row) for row in rows]})
    return (json.dumps(whole, separators=(",", ":"), ensure_ascii=False) + "\n").encode()


def read_slim(folder: Path, manifest: Manifest) -> Slim:
    """What the slim record in this folder has instead of its tables.

    Raises:
        RecordError: it cannot be read, was changed, or belongs to another run.
    """
    path = folder / METRICS
    found = read(Slim, read_json(path), str(path))
    if found.format != FORMAT:
        raise RecordError(f"its format is {found.format[:60]!r}, not {FORMAT!r}", where=str(path))
    check_slim(path, found, fits=found.of == _of(manifest))
    return found


def archive_of(manifest: Mapping[str, object]) -> str:
    """The name of a whole record in a storage: equal for runs that are equal to the byte."""
    key = str(manifest["key"])
    files = hashlib.sha256(_spelled(manifest["files"])).hexdigest()
    return f"{key[:2]}/{key}-{files[:16]}.tar.gz"


def place_of(name: str, folder: Path, manifest: Manifest, slim: Slim) -> Path:
    """Where a table of a slim record is: fetched from its storage, if it has one.

    Raises:
        RecordError: nobody has it, or the storage does not give it.
    """
    if slim.storage is None or slim.archive is None:
        raise RecordError(
            "the tables of this run were not kept (--keep metrics)",
            where=str(folder),
            hint=again(folder, manifest),
        )
    return afar.fetched(slim.storage, slim.archive, manifest.files) / name


def again(folder: Path, manifest: Manifest) -> str:
    """The command that makes the tables of a slim record again, in words."""
    about = folder.parent.parent / SET_FILE
    try:
        asked = read_set(about).asked if about.is_file() else None
    except RecordError:
        asked = None
    if asked is None or asked.scenario is None:
        return "the command that made it, with --keep records, makes them again"
    place = ["--keep", "records", "--out", str(about.parent)]
    return f"to make them again: {command_of(asked, [manifest.kernel], place)}"


def _of(manifest: Mapping[str, object]) -> str:
    return hashlib.sha256(_spelled({name: manifest.get(name) for name in _OF})).hexdigest()


def _spelled(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()

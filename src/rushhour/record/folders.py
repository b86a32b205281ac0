"""Folders of results: which result sets a folder holds, be it a set, a study, a comparison or a baseline."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from rushhour.errors import RecordError
from rushhour.quantities.words import plural
from rushhour.record.json_file import read_json
from rushhour.record.result_set import ResultSet
from rushhour.record.seal import write_json

if TYPE_CHECKING:
    from collections.abc import Iterable

STUDY, VERDICT, BASELINE = "study.json", "verdict.json", "baseline.json"
FORMAT = "rushhour-study/1"


def result_sets(folder: Path | str) -> list[ResultSet]:
    """The result sets of a folder; a single run is a set of one.

    A study gives its sets in its order, a comparison those of its candidate.

    Raises:
        RecordError: there are no records in it, or a set that it names is gone.
    """
    folder = Path(folder)
    if (folder / VERDICT).is_file():
        return result_sets(_candidate(folder))
    sets = read_sets(folder)
    return [ResultSet.open(folder)] if sets is None else sets


def read_sets(folder: Path) -> list[ResultSet] | None:
    """The sets of a study's folder; None where the folder is of no study.

    Raises:
        RecordError: its index makes no sense, or a set is gone.
    """
    path = folder / STUDY
    if not path.is_file():
        return None
    names = read_json(path).get("sets")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise RecordError("the study names no sets", where=str(path), hint="run the study again")
    sets = [ResultSet(Path(os.path.normpath(folder / name))) for name in names]
    gone = [str(one.path) for one in sets if not (one.path / "set.json").is_file()]
    if gone:
        raise RecordError(
            f"the study lacks {plural(len(gone), 'set')} now: {', '.join(gone[:3])}",
            where=str(path),
            hint="run it again",
        )
    return sets


def write_sets(sets: Iterable[ResultSet], folder: Path) -> Path:
    """Write which sets belong together, so that the report can be made again.

    Raises:
        RecordError: the file cannot be written.
    """
    document = {"format": FORMAT, "sets": [os.path.relpath(one.path, folder) for one in sets]}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / STUDY, document)
    except OSError as error:
        raise RecordError(
            f"the study cannot be written: {error.strerror}", where=str(folder), hint="choose --out elsewhere"
        ) from error
    return folder / STUDY


def _candidate(folder: Path) -> Path:
    side = read_json(folder / VERDICT).get("candidate")
    records = side.get("records") if isinstance(side, dict) else None
    if not isinstance(records, str) or not (folder / records).is_dir():
        raise RecordError(
            "this comparison keeps no records of its candidate",
            where=str(folder),
            hint="give the folder of results that was compared",
        )
    return Path(os.path.normpath(folder / records))

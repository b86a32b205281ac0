"""Keeping: a new version is put together beside its place and renamed when whole; nothing is overwritten."""

from __future__ import annotations

import json
import os
import shlex
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushhour.baseline import shelf
from rushhour.baseline.gather import gather
from rushhour.baseline.read import FORMAT, Baseline
from rushhour.baseline.shelf import Promotion
from rushhour.errors import RecordError, UsageError
from rushhour.files import rooms
from rushhour.record.folders import BASELINE
from rushhour.summary import index
from rushhour.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rushhour.baseline.gather import Material
    from rushhour.record.baseline_file import KeptRun


def save(
    name: str,
    records: Path | str,
    *,
    time: str,
    slim: bool = False,
    kernel: str | None = None,
    reason: str = "",
) -> Baseline:
    """Keep records under a new name; a name with a `/` is a folder to be made.

    Args:
        name: A name for the shelf, or a folder.
        records: A folder of results, or a baseline by name or folder.
        time: When (ISO 8601); it stands on the shelf, not in the baseline.
        slim: Keep values and checksums only.
        kernel: Only the runs of this kernel.
        reason: Why these.

    Raises:
        UsageError: the name is taken, or the records are of several kernels.
        RecordError: a record cannot be read, or the baseline cannot be written.
    """
    target = _folder(name)
    promote = f"rushhour baseline promote {shlex.quote(str(name))} RECORDS --reason …"
    if target is not None:
        if target.exists():
            raise UsageError(
                f"{target} exists; a baseline is never overwritten",
                hint=f"to put another in its place: {promote}",
            )
        material = _material(records, kernel)
        with _writing(target):
            return _write(target, material, target.name, 1, reason, slim=slim)
    shelf.check_name(name)
    material = _material(records, kernel)
    with _writing(shelf.place(name)), shelf.locked(shelf.place(name)):
        if (shelf.place(name) / "name.json").is_file():
            raise UsageError(
                f"there is a baseline {name!r} already",
                hint=f"to make these its new version: {promote}",
            )
        return _promoted(name, (), material, reason, time, slim=slim)


def promote(
    name: str,
    origin: Path | str,
    *,
    reason: str,
    time: str,
    slim: bool | None = None,
    kernel: str | None = None,
) -> Baseline:
    """Make records the new current version of a baseline, or an older version of it again; the others stay.

    A baseline in a folder of its own is replaced instead: its history is whatever keeps that folder.

    Args:
        name: A name on the shelf, or the folder of a baseline.
        origin: A folder of results, a baseline, or the number of a version.
        reason: Why.
        time: When (ISO 8601).
        slim: Keep values and checksums only; by default as the version before.
        kernel: Only the runs of this kernel.

    Raises:
        UsageError, RecordError: as `save`; and if there is no such baseline or version.
    """
    target = _folder(name)
    if target is not None:
        return _replace(target, _material(origin, kernel), reason, slim=slim)
    shelf.check_name(name)
    before = shelf.kept(name)
    older = int(origin) if isinstance(origin, str) and origin.isdecimal() else None
    if older is not None and not Path(origin).exists():
        with _writing(before.folder), shelf.locked(before.folder):
            chosen = shelf.kept(name).open(older)
            shelf.point(name, [*shelf.kept(name).promotions, Promotion(older, time, reason)])
        return chosen
    material = _material(origin, kernel)
    with _writing(before.folder), shelf.locked(before.folder):
        before = shelf.kept(name)
        thin = before.open().slim if slim is None else slim
        return _promoted(name, before.promotions, material, reason, time, slim=thin)


def _promoted(
    name: str, before: Sequence[Promotion], material: Material, reason: str, time: str, *, slim: bool
) -> Baseline:
    """Write the next version of a name and make it the current one: both, or neither."""
    number = _next(shelf.place(name))
    version = shelf.place(name) / str(number)
    try:
        made = _write(version, material, name, number, reason, slim=slim)
        shelf.point(name, [*before, Promotion(number, time, reason)])
    except BaseException:  # an interrupt, too
        if shelf.current(name) != number:
            rooms.remove(version)
        raise
    return made


def _folder(name: str) -> Path | None:
    return Path(name) if "/" in name or name in (".", "..") else None


def _next(folder: Path) -> int:
    return max((int(path.name) for path in folder.iterdir() if path.name.isdigit()), default=0) + 1


def _material(records: Path | str, kernel: str | None) -> Material:
    path = Path(records)
    return gather(path if path.exists() else shelf.find(str(records)), kernel)


def _replace(target: Path, material: Material, reason: str, *, slim: bool | None) -> Baseline:
    before = Baseline.open(target)
    foreign = sorted({path.name for path in target.iterdir()} - {BASELINE, index.INDEX, "runs"})
    if foreign:
        raise UsageError(f"{target} holds more than a baseline: {foreign[0]}", hint="move it elsewhere first")
    thin = before.slim if slim is None else slim
    with _writing(target):
        where = target.resolve()
        with rooms.room(where.parent) as room:
            _write(room / where.name, material, before.name, before.version + 1, reason, slim=thin)
            rooms.take_place(room / where.name, where)
    return Baseline.open(target)


def _write(target: Path, material: Material, name: str, version: int, reason: str, *, slim: bool) -> Baseline:
    """Write a version to `target`, whole or not at all."""
    from rushhour.files.regular import checksum  # noqa: PLC0415
    from rushhour.record.kept import share  # noqa: PLC0415

    lacking = [run.folder for run, record in material.runs if record is None]
    if lacking and not slim:
        raise UsageError(
            f"only metrics are known of {len(lacking)} of {len(material.runs)} runs: no tables to keep",
            hint="add --slim",
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with rooms.room(target.parent) as room:
        folder = room / "whole"
        folder.mkdir()
        index.put(material.index, folder / index.INDEX)
        for run, record in () if slim else material.runs:
            assert record is not None
            (folder / "runs" / run.folder).mkdir(parents=True)
            share(record, folder / "runs" / run.folder, with_manifest=True)
        about = {
            "format": FORMAT,
            "name": name,
            "version": version,
            "reason": reason,
            "rushhour": __version__,
            "slim": slim,
            **material.common,
            "scenarios": material.scenarios,
            "index_sha256": checksum(folder / index.INDEX),
        }
        text = _document(about, [run for run, _ in material.runs])
        (folder / BASELINE).write_text(text, encoding="utf-8")
        _sync(folder)
        folder.rename(target)
    return Baseline.open(target)


def _document(about: Mapping[str, Any], runs: Sequence[KeptRun]) -> str:
    """`baseline.json`: a line for each fact and each run, so that a version control shows what changed."""

    def line(value: object) -> str:
        return json.dumps(value, sort_keys=True, ensure_ascii=False)

    facts = [f" {line(name)}: {line(value)},\n" for name, value in about.items() if name != "scenarios"]
    scenarios = ",\n  ".join(line(one) for one in about["scenarios"])
    entries = ",\n  ".join(line(run) for run in runs)
    return "{\n" + "".join(facts) + f' "scenarios": [\n  {scenarios}\n ],\n "runs": [\n  {entries}\n ]\n}}\n'


def _sync(folder: Path) -> None:
    for path in (*folder.glob("*.*"), folder):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def _writing(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RecordError(
            f"the baseline cannot be written: {error.strerror or error}",
            where=str(error.filename2 or error.filename or target),
            hint="check that the folder is writable and that there is space left; nothing was changed",
        ) from error

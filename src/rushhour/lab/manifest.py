"""Manifests: what a record says of itself, for a new run and for a known one that serves again.

A run is determined by its key; scenario, cell and repetition only name it. So a known run is given to another
cell by sharing its files and writing the manifest anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushhour.files import remembered, rooms
from rushhour.record import kept
from rushhour.record.document import read
from rushhour.record.found import completed
from rushhour.record.json_file import read_json
from rushhour.record.manifest import REAL_TIME
from rushhour.record.result_file import ResultFile
from rushhour.record.seal import FORMAT, MANIFEST, seal, sealed, sums_of, unwritten, write_unseen
from rushhour.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rushhour.lab.base import Job
    from rushhour.record.record import Record


@dataclass(frozen=True)
class Facts:
    """What only running could tell; the same for everyone who has this record."""

    key: str
    lab: str
    agent: Mapping[str, object]
    tools: Mapping[str, object]
    host: Mapping[str, object]
    elapsed_s: float
    warnings: tuple[str, ...]


def seal_run(folder: Path, destination: Path, job: Job, facts: Facts, *, durable: bool = True) -> Path:
    """Make the folder of a finished run a record at `destination`; `durable` as of `seal`."""
    manifest = _manifest(job, facts, _result(folder / "result.json"))
    sums = sums_of(folder)
    # In real time no two are equal.
    known = facts.lab not in REAL_TIME
    manifest = _judged_once(folder, manifest, sums) if known else _judged(folder, manifest)
    mask = rooms.umask()
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.chmod(0o444 & ~mask)
    return seal(folder, manifest, destination, sums, durable=durable)


def may_serve(known: Path, job: Job) -> bool:
    """Whether a known run can be given to `job`: a slim one only where it means the same.

    Calibration judges links by what a job says that they mean, and needs the tables for it.
    """
    from rushhour.record.record import Record  # noqa: PLC0415 - as below

    record = Record.open(known)
    return record.is_whole or _plain(record.manifest.context) == _plain(_completed(job, record))


def _open(job: Job) -> bool:
    """Whether something of its context is known only when it has run."""
    return bool(job.context.pairs or job.plan.programs)


def _completed(job: Job, known: Record) -> Mapping[str, object]:
    """What the job's context is with what the known run found; only then is the result read."""
    return dict(completed(job.context, known.result) if _open(job) else job.context)


def _plain(value: Mapping[str, object]) -> object:
    # JSON knows no tuples.
    return json.loads(json.dumps(value))


def relabel(known: Path, destination: Path, job: Job) -> Path:
    """Give a known run to `job`: the same files at `destination`, a manifest that says what it is for here.

    Raises:
        LabError: it cannot be written.
    """
    from rushhour.record.record import Record  # noqa: PLC0415 - as below

    record = Record.open(known)
    old = record.manifest
    about = (old.key, old.lab or "", old.agent, old.tools, old.host)
    facts = Facts(*about, old.elapsed_s or 0, old.warnings)
    manifest = _manifest(job, facts, ResultFile())
    manifest |= {"virtual_s": old.virtual_s, "files": old.files}
    manifest |= {"context": _completed(job, record)}
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        with rooms.room(destination.parent) as room:
            folder = room / "record"
            folder.mkdir()
            kept.share(known, folder, with_manifest=False)
            same = {name: old[name] for name in _JUDGED}
            judged = _judged_once(folder, manifest, old.files) if record.is_whole else manifest | same
            write_unseen(folder / MANIFEST, sealed(judged))
            rooms.take_place(folder, destination)
    except OSError as error:
        raise unwritten(error, destination) from error
    return destination


_JUDGED = ("warnings", "valid", "invalid_reasons")


# What of a manifest decides no judgement: how the run is called, and what the files show that it did.
_NAMES = frozenset({"key", "cell", "repetition", "kernel", "agent", "host", "elapsed_s"})


def _judged_once(folder: Path, manifest: dict[str, object], files: Mapping[str, str]) -> dict[str, object]:
    """As `_judged`; what the same files gave for the same job before, on any kernel, is remembered."""
    from rushhour.summary.measured import code  # noqa: PLC0415 - numpy

    told = {name: value for name, value in manifest.items() if name not in _NAMES} | {"files": dict(files)}
    whole = f"judged\n{code()}\n{json.dumps(told, sort_keys=True)}"
    key = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
    if (known := remembered.recall(key)) is not None:
        return manifest | dict(zip(_JUDGED, json.loads(known), strict=True))
    judged = _judged(folder, manifest)
    remembered.keep(key, json.dumps([judged[name] for name in _JUDGED]).encode())
    return judged


def _judged(folder: Path, manifest: dict[str, object]) -> dict[str, object]:
    """The manifest with calibration's judgement: what the links were against what this job asked."""
    # Here: numpy is imported after the first kernel was started, not before.
    from rushhour.metrics.calibration import invalid_reasons  # noqa: PLC0415 - as said
    from rushhour.metrics.doubts import doubts  # noqa: PLC0415 - as said
    from rushhour.record.record import Record  # noqa: PLC0415 - as said

    record = Record.being_made(folder, manifest)
    reasons = invalid_reasons(record)
    warnings = list(dict.fromkeys([*record.manifest.warnings, *doubts(record)]))
    return manifest | {"warnings": warnings, "valid": not reasons, "invalid_reasons": reasons}


def _manifest(job: Job, facts: Facts, result: ResultFile) -> dict[str, object]:
    return {
        "format": FORMAT,
        "key": facts.key,
        **job.labels,
        "seed": job.plan.seed,
        "kernel": dict(job.kernel.identity),
        "agent": dict(facts.agent),
        **({"tools": dict(facts.tools)} if facts.tools else {}),
        "lab": facts.lab,
        "rushhour": __version__,
        "host": dict(facts.host),
        "elapsed_s": round(facts.elapsed_s, 3),
        "virtual_s": None if facts.lab in REAL_TIME else _virtual_s(job, result),
        **({"machine": result.machine} if result.machine else {}),
        "warnings": [*facts.warnings, *result.warnings],
        "context": dict(completed(job.context, result)),
    }


def _result(path: Path) -> ResultFile:
    return read(ResultFile, read_json(path), str(path))


def _virtual_s(job: Job, result: ResultFile) -> float:
    return (result.start_clock_ns + job.plan.duration_ns) / 1e9


@cache
def host() -> Mapping[str, Any]:
    """Model and features of this machine's CPU, number of CPUs, kernel."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []

    def first(*names: str) -> str | None:
        known = (line.partition(":") for line in lines)
        return next((value.strip() for name, _, value in known if name.strip() in names), None)

    return {
        "cpu_model": first("model name") or platform.machine(),
        "cpu_features": (first("flags", "Features") or "").split(),
        "cpus": os.cpu_count(),
        "kernel": platform.release(),
    }

"""Parcels: what one transaction puts into the database, read from a folder beforehand.

A set of runs and a comparison each are one parcel. Its `digest` says what it is, so that it is stored once.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import zlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rushhour.baseline.read import Baseline
from rushhour.errors import RecordError
from rushhour.metrics.value import MetricValue
from rushhour.plan.cells import label_of
from rushhour.record.document import read
from rushhour.record.folders import BASELINE, VERDICT, result_sets
from rushhour.record.json_file import read_json
from rushhour.record.seal import raw_digests
from rushhour.record.told import told
from rushhour.record.verdict_file import AGAIN, FORMAT, VerdictFile
from rushhour.spec.sweep import Sweep, known_sweep
from rushhour.summary import index
from rushhour.summary.measured import metrics_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from rushhour.record.baseline_file import KeptRun, KeptScenario
    from rushhour.record.record import Record
    from rushhour.record.result_set import ResultSet

_STAMP = re.compile(r"(\d{4})(\d\d)(\d\d)-(\d\d)(\d\d)(\d\d)(-\d+)?")
# What tells kernels apart: the name they are called by, and what they are made of.
_KERNEL = ("name", "release", "image_sha256")


@dataclass(frozen=True)
class RunParcel:
    """One run. `packed` has its metrics (`values`); what a slim baseline does not know is None."""

    key: str
    scenario: str
    scenario_sha256: str
    title: str
    quick: bool
    cell: int
    factors: Mapping[str, object]
    label: str
    repetition: int
    seed: int
    kernel: Mapping[str, object]
    agent: Mapping[str, object]
    lab: str
    rushhour: str | None
    valid: bool
    invalid_reasons: Sequence[str]
    warnings: Sequence[str]
    virtual_s: float | None
    elapsed_s: float | None
    folder: str
    raw_sha256: str
    packed: bytes

    @property
    def values(self) -> list[MetricValue]:
        """What was measured. Packed it takes a twentieth: a set may have 100 000 runs."""
        return [MetricValue(*row) for row in json.loads(zlib.decompress(self.packed))]

    @property
    def digest(self) -> str:
        """What makes it this run: its key, and what it is called."""
        return digest(self.key, self.cell_digest, self.repetition)

    @property
    def cell_digest(self) -> str:
        """What makes its cell: the scenario with all its words, and the factors."""
        return digest(self.scenario, self.scenario_sha256, self.cell, dict(self.factors))

    @property
    def values_sha256(self) -> str:
        """A checksum of all that was measured: if it changes, values are stored anew."""
        return digest(*((one.metric, one.scope, one.unit, one.value, one.note) for one in self.values))


@dataclass(frozen=True)
class SetParcel:
    """A result set, or the runs of one scenario of a baseline."""

    digest: str
    kind: str
    scenario: str
    scenario_sha256: str
    made: str
    folder: Path
    quick: bool
    complete: bool
    failures: Sequence[object]
    skipped: Sequence[object]
    runs: Sequence[RunParcel]


@dataclass(frozen=True)
class ComparisonParcel:
    """A verdict document, and the folder it lies in."""

    digest: str
    folder: Path
    document: VerdictFile


@dataclass(frozen=True)
class BaselineParcel:
    """A version of a baseline; its runs come as sets."""

    digest: str
    baseline: Baseline


Parcel = SetParcel | ComparisonParcel | BaselineParcel


def spelled(path: Path) -> str:
    """A path as text; bytes of it that are none are written as escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def digest(*what: object) -> str:
    """A hash of values that JSON can write."""
    text = json.dumps(what, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def kernel_digest(identity: Mapping[str, object]) -> str:
    """What tells a kernel from others."""
    return digest(*(identity.get(name) for name in _KERNEL))


def parcels(folder: Path, tell: Callable[[str], None] = lambda _: None) -> Iterator[Parcel]:
    """Everything that a folder holds, one transaction after the other; `tell` hears what is read.

    Raises:
        RecordError: there is nothing in it that we know, or a part of it cannot be read.
    """
    if (folder / BASELINE).is_file():
        yield from _baseline(Baseline.open(folder))
    elif (folder / VERDICT).is_file():
        yield from _comparison(folder)
    else:
        for results in result_sets(folder):
            if results.folders():
                yield _set(results.heard(tell, f"{results.name}: "))


def _set(results: ResultSet) -> SetParcel:
    about, folder = results.about, results.path.resolve()
    quick = about.quick
    sweep = known_sweep(about.scenario.resolved.sweep)
    runs: list[RunParcel] = []
    for record, values in _measured(results):
        runs.append(_run(record, sweep, values, quick=quick, like=runs[-1] if runs else None))
    first = runs[0]
    kernels = sorted({str(run.kernel.get("name")) for run in runs})
    made, stamped = _made(folder)
    which = [first.scenario, first.scenario_sha256, kernels, made if stamped else str(folder)]
    return SetParcel(
        digest=digest("set", *which),
        kind="set",
        scenario=first.scenario,
        scenario_sha256=first.scenario_sha256,
        made=made,
        folder=folder,
        quick=quick,
        complete=about.complete,
        failures=list(about.failures),
        skipped=list(about.skipped),
        runs=runs,
    )


def _measured(results: ResultSet) -> Iterator[tuple[Record, Sequence[MetricValue]]]:
    known = index.values(results) if index.is_written(results) else {}
    for record in results:
        values = known.get(record.path.name)
        yield record, metrics_of(record) if values is None else [_sound(value) for value in values]


def _packed(values: Sequence[MetricValue]) -> bytes:
    rows = [[one.metric, one.scope, one.value, one.unit, one.note] for one in values]
    return zlib.compress(json.dumps(rows, default=float).encode("utf-8", "surrogatepass"), 1)


def _run(
    record: Record, sweep: Sweep, values: Sequence[MetricValue], *, quick: bool, like: RunParcel | None
) -> RunParcel:
    """A run; what it has in common with the one before it is in memory once."""
    manifest = record.manifest
    kernel: Mapping[str, object] = dict(manifest.kernel)
    agent: Mapping[str, object] = dict(manifest.agent)
    if like is not None:
        kernel = like.kernel if like.kernel == kernel else kernel
        agent = like.agent if like.agent == agent else agent
    scenario, cell = manifest.scenario, manifest.cell
    try:
        return RunParcel(
            key=record.key,
            scenario=scenario.name,
            scenario_sha256=scenario.sha256 or "",
            title=scenario.title,
            quick=quick,
            cell=cell.index,
            factors=dict(record.factors),
            label=label_of(record.factors, sweep),
            repetition=manifest.repetition,
            seed=manifest.seed or 0,
            kernel=kernel,
            agent=agent,
            lab=str(manifest.lab),
            rushhour=manifest.rushhour,
            valid=record.valid,
            invalid_reasons=list(manifest.invalid_reasons),
            warnings=list(manifest.warnings),
            virtual_s=manifest.virtual_s,
            elapsed_s=manifest.elapsed_s,
            folder=spelled(record.path.resolve()),
            raw_sha256=digest(raw_digests(manifest.files), told(record)),
            packed=_packed(values),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RecordError(
            f"the manifest makes no sense ({error!r})",
            where=str(record.path),
            hint="run it again with --fresh",
        ) from error


def _baseline(found: Baseline) -> Iterator[Parcel]:
    values = found.values()
    made, _ = _made(found.path / BASELINE)
    whole = digest("baseline", read_json(found.path / BASELINE))
    for scenario in found.scenarios:
        name, sweep = scenario.name, known_sweep(scenario.resolved.sweep)
        yield SetParcel(
            digest=digest(whole, name),
            kind="baseline",
            scenario=name,
            scenario_sha256=scenario.sha256 or "",
            made=made,
            folder=found.path.resolve(),
            quick=scenario.quick,
            complete=True,
            failures=scenario.failures,
            skipped=scenario.skipped,
            runs=[
                _kept(found, scenario, sweep, run, values[run.folder])
                for run in found.runs
                if run.scenario == name
            ],
        )
    yield BaselineParcel(whole, found)


def _kept(
    found: Baseline, scenario: KeptScenario, sweep: Sweep, run: KeptRun, values: Sequence[MetricValue]
) -> RunParcel:
    return RunParcel(
        key=run.key,
        scenario=run.scenario,
        scenario_sha256=scenario.sha256 or "",
        title=scenario.title,
        quick=scenario.quick,
        cell=run.cell,
        factors=run.factors,
        label=label_of(run.factors, sweep),
        repetition=run.repetition,
        seed=run.seed,
        kernel=found.kernel,
        agent=found.about.agent,
        lab=found.about.lab,
        rushhour=found.about.rushhour,
        valid=run.valid,
        invalid_reasons=run.invalid_reasons,
        warnings=(),
        virtual_s=None,
        elapsed_s=None,
        folder=spelled((found.path / "runs" / run.folder).resolve()),
        raw_sha256=digest(dict(run.raw), run.told) if run.told else digest(dict(run.raw)),
        packed=_packed([_sound(value) for value in values]),
    )


def _sound(value: MetricValue) -> MetricValue:
    finite = value.value is None or math.isfinite(value.value)
    return value if finite else replace(value, value=None)


def _comparison(folder: Path) -> Iterator[Parcel]:
    document = read_json(folder / VERDICT, AGAIN)
    if document.get("format") != FORMAT:
        raise RecordError(
            f"the verdict has the format {str(document.get('format'))[:60]!r}; this program reads {FORMAT!r}",
            where=str(folder / VERDICT),
            hint="compare again, or read it with the rushhour that wrote it",
        )
    whole = read(VerdictFile, document, str(folder / VERDICT), AGAIN)
    for side, facts in (("base", whole.base), ("candidate", whole.candidate)):
        # Records that lie elsewhere are somebody else's folder: they are imported by their own name.
        if facts.records == side and (folder / side).is_dir():
            yield from parcels(folder / side)
    yield ComparisonParcel(digest("comparison", document), folder.resolve(), whole)


def _made(path: Path) -> tuple[str, bool]:
    """When a folder was made: the stamp in its name or above it, or else when it was last written."""
    for part in reversed(path.parts[-6:]):
        found = _STAMP.fullmatch(part)
        if found:
            year, month, day, hour, minute, second = found.groups()[:6]
            return f"{year}-{month}-{day}T{hour}:{minute}:{second}Z", True
    file = path / "set.json" if (path / "set.json").is_file() else path
    stamp = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    return stamp.strftime("%Y-%m-%dT%H:%M:%SZ"), False

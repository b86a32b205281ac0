"""What a baseline is made of: the runs of one kernel out of folders of results, in a fixed order."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rushhour.baseline.read import Baseline
from rushhour.errors import UsageError
from rushhour.record.baseline_file import KeptRun
from rushhour.record.document import read
from rushhour.record.folders import BASELINE, result_sets
from rushhour.record.record import Record
from rushhour.record.seal import METRICS, raw_digests
from rushhour.record.told import told
from rushhour.summary import index

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rushhour.record.manifest import Scenario
    from rushhour.record.result_set import ResultSet
    from rushhour.record.set_file import SetFile, Unrun
    from rushhour.summary.index import Part

# What all runs of a baseline have in common; otherwise it would be several.
_COMMON = ("kernel", "agent", "lab")


@dataclass(frozen=True)
class Material:
    """What is to be kept: facts in common, scenarios, runs with their records, and the index."""

    common: Mapping[str, object]
    scenarios: Sequence[Mapping[str, Any]]
    runs: Sequence[tuple[KeptRun, Path | None]]
    index: Sequence[Part]


@dataclass(frozen=True)
class _Taken:
    run: KeptRun
    record: Path
    common: Mapping[str, object]
    tools: Mapping[str, Any]
    rows: Part

    def numbered(self, number: int) -> tuple[KeptRun, Part]:
        """The run and its rows of the index, with the folder that they have in the baseline."""
        folder = {"folder": f"{number:05d}-{self.run.key[:12]}"}
        return read(KeptRun, self.run | folder, str(self.record)), replace(
            self.rows, about={**self.rows.about, **folder}
        )


def gather(source: Path | Baseline, kernel: str | None = None) -> Material:
    """The material of a folder of results (only what ran on `kernel`, if one is named) or of a baseline.

    Raises:
        UsageError: there are several kernels, agents or labs in it, or nothing of this kernel.
        RecordError: a record cannot be read.
    """
    if isinstance(source, Path) and (source / BASELINE).is_file():
        source = Baseline.open(source)
    if isinstance(source, Baseline):
        return _of_baseline(source)
    taken: list[_Taken] = []
    scenarios: dict[str, Mapping[str, object]] = {}
    for results in result_sets(source):
        mine = _runs(results, kernel)
        taken += mine
        about = results.about
        for run in mine:
            if run.run.scenario not in scenarios:
                known = about.scenario or Record.open(run.record).manifest.scenario
                scenarios[run.run.scenario] = _scenario(about, run.run.scenario, known, kernel)
        # That a kernel cannot carry out a scenario is known of it as well.
        if not mine and about.scenario and _on(kernel, about.skipped):
            scenarios.setdefault(
                about.scenario.name, _scenario(about, about.scenario.name, about.scenario, kernel)
            )
    if not taken:
        raise UsageError(
            f"there are no runs of the kernel {kernel!r} in {source}", hint="its kernels: " + _kernels(source)
        )
    common = _common(taken, source)
    taken.sort(
        key=lambda one: (one.run.scenario, one.run.cell, one.run.repetition, one.run.seed, one.run.key)
    )
    runs: list[tuple[KeptRun, Path | None]] = []
    rows = []
    for number, one in enumerate(taken):
        kept, its = one.numbered(number)
        runs.append((kept, None if (one.record / METRICS).is_file() else one.record))
        rows.append(its)
    return Material(common, [scenarios[name] for name in sorted(scenarios)], runs, rows)


def _of_baseline(source: Baseline) -> Material:
    source.values()
    common = {name: getattr(source.about, name) for name in (*_COMMON, "tools")}
    folders = [None if source.slim else source.path / "runs" / run.folder for run in source.runs]
    rows = index.parts_of(index.read(source.path / index.INDEX))
    return Material(common, source.scenarios, list(zip(source.runs, folders, strict=True)), rows)


def _runs(results: ResultSet, kernel: str | None) -> list[_Taken]:
    measured = _measured(results)
    taken = []
    for record in results:
        manifest = record.manifest
        if kernel is not None and manifest.kernel.name != kernel:
            continue
        common = {name: getattr(manifest, name) for name in _COMMON}
        rows = measured.get(record.path.name)
        rows = index.of_run(record) if rows is None else rows
        taken.append(_Taken(_run(record), record.path, common, manifest.tools, rows))
    return taken


def _measured(results: ResultSet) -> dict[str, Part]:
    """The rows of the index by folder; of no run that the index was not made with."""
    if not index.is_written(results):
        return {}
    return {part.folder: part for part in index.parts(results)}


def _run(record: Record) -> KeptRun:
    manifest = record.manifest
    document = {
        "folder": record.path.name,
        "scenario": manifest.scenario.name,
        "cell": manifest.cell.index,
        "factors": dict(manifest.cell.factors),
        "repetition": manifest.repetition,
        "seed": manifest.seed or 0,
        "key": record.key,
        "valid": record.valid,
        "invalid_reasons": list(manifest.invalid_reasons),
        "raw": raw_digests(manifest.files),
        "told": told(record),
    }
    return read(KeptRun, document, str(record.path))


def _on(kernel: str | None, unrun: Sequence[Unrun]) -> list[Unrun]:
    """Those of a kernel, if one is named."""
    return [one for one in unrun if kernel in (None, one.kernel)]


def _scenario(about: SetFile, name: str, known: Scenario, kernel: str | None) -> dict[str, object]:
    return {
        "name": name,
        "title": known.title,
        "sha256": known.sha256,
        "quick": about.quick,
        **({"sets": [*about.asked.sets]} if about.asked.sets else {}),
        "resolved": known.resolved,
        "failures": _on(kernel, about.failures),
        "skipped": _on(kernel, about.skipped),
    }


def _common(taken: Sequence[_Taken], source: Path) -> Mapping[str, object]:
    """What all runs share; of the host's programs what any run had, for not every scenario needs them."""
    for name in _COMMON:
        count = len({json.dumps(one.common[name], sort_keys=True) for one in taken})
        if count > 1:
            raise _several(name, count, source)
    tools: dict[str, object] = {}
    for one in taken:
        for tool, facts in one.tools.items():
            if tools.setdefault(tool, facts) != facts:
                raise _several(f"version of {tool}", 2, source)
    return {**taken[0].common, "tools": tools}


def _several(what: str, count: int, source: Path) -> UsageError:
    hint = "save the runs of one of them"
    if what == "kernel":
        hint = f"choose one with --kernel: {_kernels(source)}"
    return UsageError(
        f"the runs in {source} are of more than one {what} ({count}); a baseline is of one", hint=hint
    )


def _kernels(source: Path) -> str:
    found = {one.manifest.kernel.name for results in result_sets(source) for one in results}
    return ", ".join(sorted(found))
